//! Room for commands at a place: how many may run at once, and who is next.
//!
//! Projects take turns, and within a project it is first come, first served: a project with five hundred batches delays
//! another's one step by one command, and not by five hundred.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::actor::board::StepOf;
use crate::store::layout::RunHome;

/// One place's room. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    capacity: usize,
    free: Arc<Semaphore>,
    line: Arc<Mutex<Line>>,
}

/// What became of an order.
#[derive(Debug)]
pub(crate) enum Entry {
    /// There was room.
    In(OwnedSemaphorePermit),
    /// It waits its turn.
    Waiting(Ticket),
}

/// A place in the line. Dropping it leaves the line.
#[derive(Debug)]
pub(crate) struct Ticket {
    turn: oneshot::Receiver<OwnedSemaphorePermit>,
    /// How many may run at once; as many do.
    pub(crate) capacity: usize,
    /// How many have their turn before it, unless more projects join the line.
    pub(crate) before: usize,
}

/// Who waits. Whose turn is next stands first.
#[derive(Debug, Default)]
struct Line {
    projects: VecDeque<Waiting>,
    /// Somebody is waiting for room on behalf of the line.
    ushered: bool,
}

#[derive(Debug)]
struct Waiting {
    project: PathBuf,
    orders: VecDeque<Order>,
}

/// Somebody in the line.
#[derive(Debug)]
struct Order {
    home: RunHome,
    turn: oneshot::Sender<OwnedSemaphorePermit>,
}

impl Room {
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        let capacity = capacity.get();
        Self { capacity, free: Arc::new(Semaphore::new(capacity)), line: Arc::default() }
    }

    /// Takes room if there is some, whoever waits: for what runs already.
    pub(crate) fn occupy(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// Says how much is used, and how much is free.
    pub(crate) fn used_and_free(&self) -> (u64, u64) {
        let free = self.free.available_permits().min(self.capacity);
        ((self.capacity - free) as u64, free as u64)
    }

    /// Takes room, or a place in the line.
    pub(crate) fn enter(&self, of: &StepOf) -> Entry {
        let mut line = self.line();
        if line.is_empty()
            && let Some(slot) = self.occupy()
        {
            return Entry::In(slot);
        }
        let before = line.before(&of.root);
        let (order, turn) = oneshot::channel();
        line.join(&of.root, Order { home: of.home.clone(), turn: order });
        if !std::mem::replace(&mut line.ushered, true) {
            tokio::spawn(self.clone().usher());
        }
        Entry::Waiting(Ticket { turn, capacity: self.capacity, before })
    }

    /// Lists who waits, in the order of their turns.
    pub(crate) fn waiting(&self) -> Vec<StepOf> {
        self.line().in_turn()
    }

    /// Gives room to one after the other, until nobody waits.
    async fn usher(self) {
        loop {
            let free = Arc::clone(&self.free).acquire_owned().await;
            let mut slot = free.expect("the semaphore is never closed");
            loop {
                let mut line = self.line();
                let Some(order) = line.next() else {
                    line.ushered = false;
                    return;
                };
                // Whoever left the line meanwhile takes no room.
                match order.turn.send(slot) {
                    Ok(()) => break,
                    Err(back) => slot = back,
                }
            }
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Waits for the turn.
    pub(crate) async fn turn(self) -> OwnedSemaphorePermit {
        self.turn.await.expect("the line never throws anybody out")
    }
}

impl Line {
    /// Says whether nobody waits; forgets those who have left.
    fn is_empty(&mut self) -> bool {
        for waiting in &mut self.projects {
            waiting.orders.retain(|order| !order.turn.is_closed());
        }
        self.projects.retain(|waiting| !waiting.orders.is_empty());
        self.projects.is_empty()
    }

    /// Counts who has a turn before the next order of a project.
    fn before(&self, project: &Path) -> usize {
        let at = self.projects.iter().position(|waiting| waiting.project == project);
        let own = at.map_or(0, |at| self.projects[at].orders.len());
        let place = at.unwrap_or(self.projects.len());
        let others = self.projects.iter().enumerate().filter(|(index, _)| Some(*index) != at);
        let turns = others.map(|(index, waiting)| {
            // One turn for each of the project's own, and one more if theirs comes first in a round.
            waiting.orders.len().min(own + usize::from(index < place))
        });
        own + turns.sum::<usize>()
    }

    /// Lists who waits: in each round every project has one turn.
    fn in_turn(&self) -> Vec<StepOf> {
        let rounds = self.projects.iter().map(|waiting| waiting.orders.len()).max().unwrap_or(0);
        let round = |number| {
            let own = self.projects.iter().map(move |of| (&of.project, of.orders.get(number)));
            own.filter_map(|(root, order)| Some((root, order?)))
        };
        let turns = (0..rounds).flat_map(round).filter(|(_, order)| !order.turn.is_closed());
        turns.map(|(root, order)| StepOf { root: root.clone(), home: order.home.clone() }).collect()
    }

    fn join(&mut self, project: &Path, order: Order) {
        match self.projects.iter_mut().find(|waiting| waiting.project == project) {
            Some(waiting) => waiting.orders.push_back(order),
            None => self.projects.push_back(Waiting {
                project: project.to_owned(),
                orders: VecDeque::from([order]),
            }),
        }
    }

    /// Takes whose turn it is out of the line; their project has its next turn after all others.
    fn next(&mut self) -> Option<Order> {
        let mut waiting = self.projects.pop_front()?;
        let order = waiting.orders.pop_front();
        if !waiting.orders.is_empty() {
            self.projects.push_back(waiting);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::name::BatchName;

    use super::*;

    fn room(capacity: usize) -> Room {
        Room::new(NonZeroUsize::new(capacity).unwrap())
    }

    fn of(project: &str) -> StepOf {
        let batch = BatchName::parse("shop").unwrap();
        StepOf { root: PathBuf::from(project), home: RunHome::Batch(batch) }
    }

    fn waiting(room: &Room, project: &str) -> Ticket {
        match room.enter(&of(project)) {
            Entry::In(_) => panic!("there was room"),
            Entry::Waiting(ticket) => ticket,
        }
    }

    fn entered(room: &Room, project: &str) -> OwnedSemaphorePermit {
        match room.enter(&of(project)) {
            Entry::In(slot) => slot,
            Entry::Waiting(_) => panic!("there was no room"),
        }
    }

    /// Has all tickets take their turn, and gives the order in which they did.
    async fn order_of(first: OwnedSemaphorePermit, tickets: Vec<(usize, Ticket)>) -> Vec<usize> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut turns = tokio::task::JoinSet::new();
        for (number, ticket) in tickets {
            let told = Arc::clone(&told);
            turns.spawn(async move {
                let slot = ticket.turn().await;
                told.lock().unwrap().push(number);
                drop(slot);
            });
        }
        drop(first);
        turns.join_all().await;
        std::mem::take(&mut *told.lock().unwrap())
    }

    #[tokio::test]
    async fn a_project_with_hundreds_of_batches_delays_another_by_one_turn() {
        let room = room(1);
        let first = entered(&room, "/big");
        let mut tickets: Vec<_> = (0..500).map(|at| (at, waiting(&room, "/big"))).collect();
        assert_eq!(tickets[499].1.before, 499);
        let small = waiting(&room, "/small");
        assert_eq!(small.before, 1);
        tickets.push((1000, small));
        let second = waiting(&room, "/small");
        assert_eq!(second.before, 3);
        tickets.push((1001, second));
        let order = order_of(first, tickets).await;
        assert_eq!(order[..5], [0, 1000, 1, 1001, 2]);
        assert!(order[4..].is_sorted());
        assert_eq!(order.len(), 502);
    }

    #[tokio::test]
    async fn the_number_that_is_told_is_the_number_of_turns_before() {
        let room = room(1);
        let first = entered(&room, "/a");
        let projects = ["/a", "/b", "/a", "/c", "/a", "/b"];
        let tickets: Vec<_> = projects.iter().map(|project| waiting(&room, project)).collect();
        let last = tickets.last().unwrap().before;
        let in_turn: Vec<_> = room.waiting().into_iter().map(|of| of.root).collect();
        assert_eq!(in_turn, ["/a", "/b", "/c", "/a", "/b", "/a"].map(PathBuf::from));
        let order = order_of(first, tickets.into_iter().enumerate().collect()).await;
        assert_eq!(order, [0, 1, 3, 2, 5, 4]);
        assert_eq!(order.iter().position(|number| *number == 5), Some(last));
    }

    #[tokio::test]
    async fn whoever_leaves_the_line_takes_no_room_and_is_not_counted() {
        let room = room(1);
        let first = entered(&room, "/a");
        let gone = waiting(&room, "/a");
        drop(gone);
        assert_eq!(room.waiting(), []);
        let next = waiting(&room, "/a");
        assert_eq!(next.before, 0);
        drop(first);
        drop(next.turn().await);
        let again = match room.enter(&of("/a")) {
            Entry::In(slot) => slot,
            // The usher has not gone home yet.
            Entry::Waiting(ticket) => ticket.turn().await,
        };
        assert!(room.occupy().is_none());
        drop(again);
        // The usher takes what comes free once more, finds nobody, and gives it back.
        while room.occupy().is_none() {
            tokio::task::yield_now().await;
        }
    }
}
