//! Which processes belong to a spawn: four ties, each of which holds where another breaks.
//!
//! Descent holds while the shim lives and adopts orphans; the cgroup and the session outlive the shim but can be left;
//! the mark is passed on by everyone who does not clear the environment, also through daemons of others.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::cgroup::Leaf;
use crate::id::SpawnId;
use crate::process::{self, Life, Process};
use crate::record::Tie;
use crate::standing::ProcessName;

/// A spawn whose processes are looked for.
#[derive(Debug)]
pub(crate) struct Quarry<'a> {
    pub(crate) id: &'a SpawnId,
    pub(crate) seeker: Seeker,
    /// The agent, whose number is that of its session; `None` if numbers mean something else where it runs.
    pub(crate) agent: Option<ProcessName>,
    pub(crate) cgroup: Option<&'a Leaf>,
    /// Nothing of the spawn started before this, in clock ticks since boot.
    pub(crate) since: u64,
}

/// Who is looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seeker {
    /// The shim: all its descendants belong to the spawn.
    Shim,
    /// Someone else, when the shim is dead and its descendants are anybody's.
    Other,
}

impl Quarry<'_> {
    /// Finds the living processes of the spawn; none of them is the seeker. The look is not atomic: a process may
    /// start another and end while it is made, see [`Quarry::may_have_more`].
    pub(crate) fn find(&self) -> io::Result<Vec<(Process, Tie)>> {
        let processes = process::all()?;
        let ties = self.ties(&processes);
        let spared = spared(&processes, self.seeker);
        let prey =
            |process: &Process| process.life == Life::Alive && !spared.contains(&process.pid);
        let tied = |process: Process| Some((ties.get(&process.pid).copied()?, process));
        let found = processes.into_iter().filter(prey).filter_map(tied);
        Ok(found.map(|(tie, process)| (process, tie)).collect())
    }

    /// Tells whether something was left out by a look that found nothing. To the shim every orphan is a child.
    pub(crate) fn may_have_more(&self) -> io::Result<bool> {
        if self.seeker == Seeker::Other {
            return Ok(false);
        }
        let alive = |pid: &i32| process::look(*pid).is_some_and(|found| found.life == Life::Alive);
        Ok(process::own_children()?.iter().any(alive))
    }

    fn ties(&self, processes: &[Process]) -> BTreeMap<i32, Tie> {
        let members: BTreeSet<i32> =
            self.cgroup.map(Leaf::members).unwrap_or_default().into_iter().collect();
        let session = self.session(processes);
        let tie = |process: &Process| {
            if members.contains(&process.pid) {
                Some(Tie::Cgroup)
            } else if Some(process.session) == session {
                Some(Tie::Session)
            } else if process.start_time >= self.since
                && process::carries_mark(process.pid, self.id)
            {
                Some(Tie::Mark)
            } else {
                None
            }
        };
        let mut ties: BTreeMap<i32, Tie> =
            processes.iter().filter_map(|process| Some((process.pid, tie(process)?))).collect();
        let own = match self.seeker {
            Seeker::Shim => Some(own_pid()),
            Seeker::Other => None,
        };
        for descendant in descendants(processes, own.into_iter().chain(ties.keys().copied())) {
            ties.insert(descendant, Tie::Descent);
        }
        ties
    }

    /// Gives the agent's session, unless its number has gone to somebody else.
    fn session(&self, processes: &[Process]) -> Option<i32> {
        let agent = self.agent?;
        let somebody_else =
            |process: &Process| process.pid == agent.pid && process.start_time != agent.start_time;
        (!processes.iter().any(somebody_else)).then_some(agent.pid)
    }
}

/// Lists who is never hunted: the first process, the seeker and, unless it is the shim, all that it runs under.
fn spared(processes: &[Process], seeker: Seeker) -> BTreeSet<i32> {
    let own = own_pid();
    let mut spared = BTreeSet::from([1, own]);
    if seeker == Seeker::Other {
        let parents: BTreeMap<i32, i32> =
            processes.iter().map(|process| (process.pid, process.parent)).collect();
        let mut above = parents.get(&own);
        while let Some(pid) = above.filter(|pid| spared.insert(**pid)) {
            above = parents.get(pid);
        }
    }
    spared
}

/// Finds all that descends from some processes, without these.
fn descendants(processes: &[Process], from: impl Iterator<Item = i32>) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in processes {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<i32> = from.collect();
    while let Some(parent) = open.pop() {
        let new = children.get(&parent).into_iter().flatten().filter(|child| found.insert(**child));
        open.extend(new);
    }
    found
}

fn own_pid() -> i32 {
    std::process::id().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, parent, session: 1, start_time: 0, comm: String::new(), life: Life::Alive }
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_without_their_ancestor() {
        let tree = [process(9, 5), process(5, 3), process(3, 1), process(7, 1), process(8, 9)];
        assert_eq!(descendants(&tree, [3].into_iter()), BTreeSet::from([5, 8, 9]));
    }

    #[test]
    fn a_look_that_shows_a_circle_comes_to_an_end() {
        // Numbers may be reused while a look is made.
        let circle = [process(5, 6), process(6, 5)];
        assert_eq!(descendants(&circle, [5].into_iter()), BTreeSet::from([5, 6]));
        let own = own_pid();
        let circle = [process(own, own + 1), process(own + 1, own)];
        assert!(spared(&circle, Seeker::Other).contains(&own));
    }

    #[test]
    fn a_session_whose_number_has_gone_to_somebody_else_is_no_tie() {
        let id = SpawnId::parse("a").unwrap();
        let agent = ProcessName { pid: 40, start_time: 7 };
        let quarry =
            Quarry { id: &id, seeker: Seeker::Other, agent: Some(agent), cgroup: None, since: 0 };
        let other = Process { start_time: 8, ..process(40, 1) };
        assert_eq!(quarry.session(&[process(41, 1)]), Some(40));
        assert_eq!(quarry.session(&[other]), None);
    }
}
