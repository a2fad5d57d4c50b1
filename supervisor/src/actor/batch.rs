//! One per run home: the six verbs, one step at a time. Its mailbox and its `step.lock` are the single-flight lock.
//!
//! Behaviour does not belong here: what to do is decided in `ratchet_engine`, how in `perform`, `recover` and `record`.
//! Nothing is rebuilt from memory; whoever comes after a death recovers what the disk says.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use kameo::Actor;
use kameo::actor::{ActorId, ActorRef, Spawn as _, WeakActorRef};
use kameo::error::{ActorStopReason, PanicError};
use kameo::message::{Context, Message};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::board::Posting;
use super::log;
use super::message::{Ask, Caller, Place, PlacedReply, Report, Settled, StepEnded, Stop, Work};
use super::project::ProjectActor;
use super::runtime::RuntimeActor;
use super::step::{Step, StepArgs};
use crate::error::Error;
use crate::event::{Notice, Origin, Started, StepEvent};
use crate::fault::{self, Point};
use crate::follow::{self, Start};
use crate::house::{House, Office};
use crate::order::Order;
use crate::perform::{self, Act};
use crate::record;
use crate::recover::{self, Found};
use crate::runtime::{self, Placed, Prepared, Shim};
use crate::store::inflight::Inflight;
use crate::store::layout::RunHome;
use crate::store::lock::StepLock;
use crate::watch::{Heard, Watch};

/// What a batch starts with.
pub(crate) struct BatchArgs {
    pub(crate) office: Arc<Office>,
    pub(crate) runtime: ActorRef<RuntimeActor>,
    /// Who started it. Weak, because it must not keep its parent alive.
    pub(crate) above: WeakActorRef<ProjectActor>,
    pub(crate) home: RunHome,
}

/// The actor of one run home.
pub(crate) struct Batch {
    args: BatchArgs,
    me: ActorId,
    phase: Phase,
}

/// Where the one step is.
enum Phase {
    Idle,
    /// Its order waits for room.
    Placing(Box<(Open, Inflight)>),
    Running(Box<Running>),
}

/// A step that has begun and is not recorded. Fields are dropped in this order: the lock goes before the posting.
struct Open {
    house: Arc<House>,
    caller: Caller,
    lock: StepLock,
    stop: Option<Stop>,
    withdrawn: CancellationToken,
    span: Span,
    _posting: Posting,
}

struct Running {
    open: Open,
    inflight: Inflight,
    step: ActorRef<Step>,
    dir: ratchet_spawn::SpawnDir,
    /// The room the command takes, given back with the step.
    _slot: Option<OwnedSemaphorePermit>,
}

/// What a request has begun.
enum Begun {
    /// A command to be placed.
    Ready(Box<Ready>),
    /// A spawn of an earlier call.
    Found(Box<(Inflight, Placed)>),
    /// Nothing: the answer is known.
    Report(Box<Report>),
}

/// A command whose intent is on disk.
struct Ready {
    inflight: Inflight,
    prepared: Prepared,
    notices: Vec<Notice>,
}

impl Actor for Batch {
    type Args = BatchArgs;
    type Error = Infallible;

    async fn on_start(args: Self::Args, me: ActorRef<Self>) -> Result<Self, Self::Error> {
        Ok(Self { args, me: me.id(), phase: Phase::Idle })
    }

    /// Lets go of the lock before anybody hears of the death, so that whoever recovers can take it.
    async fn on_panic(
        &mut self,
        _me: WeakActorRef<Self>,
        error: PanicError,
    ) -> Result<ControlFlow<ActorStopReason>, Self::Error> {
        self.phase = Phase::Idle;
        Ok(ControlFlow::Break(ActorStopReason::Panicked(error)))
    }

    /// A step actor that dies without a word leaves its spawn to be recovered by the next request.
    async fn on_link_died(
        &mut self,
        _me: WeakActorRef<Self>,
        id: ActorId,
        reason: ActorStopReason,
    ) -> Result<ControlFlow<ActorStopReason>, Self::Error> {
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Running(running) if running.step.id() == id => {
                tracing::error!(%reason, "the watcher of a step died");
                self.close(running.open, Err(Error::WatcherDied)).await;
            }
            other => self.phase = other,
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Message<Work> for Batch {
    type Reply = ();

    async fn handle(&mut self, work: Work, ctx: &mut Context<Self, ()>) {
        if let Phase::Running(running) = &mut self.phase
            && running.open.caller.has_gone()
            && work.ask.finishes_what_was_begun()
        {
            // Whoever asked for this step has gone; who comes now goes on in their place, as after any other cut.
            let gone = std::mem::replace(&mut running.open.caller, work.caller);
            running.tell_from_the_beginning();
            return self.answer(gone, Ok(Report::Nothing)).await;
        }
        self.begin(work, ctx.actor_ref()).await;
    }
}

impl Message<PlacedReply> for Batch {
    type Reply = ();

    async fn handle(&mut self, PlacedReply { outcome }: PlacedReply, ctx: &mut Context<Self, ()>) {
        let Phase::Placing(placing) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            tracing::error!("an order was placed that nobody waits for");
            return;
        };
        let (open, mut inflight) = *placing;
        match outcome {
            Ok(placed) => {
                if placed.image.is_some() || placed.reach.is_some() {
                    inflight.image.clone_from(&placed.image);
                    inflight.reach.clone_from(&placed.reach);
                    let noted =
                        off_the_loop(|| record::intend(&open.house, &self.args.home, &inflight));
                    if let Err(error) = noted {
                        tracing::warn!(spawn = %inflight.spawn, %error, "where a step runs cannot be noted");
                    }
                }
                fault::at(Point::Acted, open.house.project.environment());
                self.watch(open, inflight, placed, Origin::Fresh, ctx.actor_ref()).await;
            }
            Err(error) => {
                let undone = recover::give_up(&open.house, &self.args.home, &inflight);
                self.close(open, Err(undone.err().unwrap_or(error))).await;
            }
        }
    }
}

impl Message<StepEnded> for Batch {
    type Reply = ();

    async fn handle(&mut self, StepEnded(seen): StepEnded, _ctx: &mut Context<Self, ()>) {
        let Phase::Running(running) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            tracing::error!("a step ended that does not run");
            return;
        };
        let Running { open, inflight, .. } = *running;
        open.caller.hear(StepEvent::Ended).await;
        let home = &self.args.home;
        let conclude = || {
            let report = record::conclude(&open.house, home, &inflight, seen);
            open.house.sweep();
            report
        };
        let report = open.span.in_scope(|| off_the_loop(conclude));
        log::ended(open.house.project.root(), home, &inflight, &report);
        self.close(open, report).await;
    }
}

impl Message<Stop> for Batch {
    type Reply = ();

    async fn handle(&mut self, stop: Stop, _ctx: &mut Context<Self, ()>) {
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Placing(placing) => {
                let (open, _) = &mut **placing;
                open.withdrawn.cancel();
                open.stop = Some(stop);
            }
            Phase::Running(running) => {
                // A step that is gone needs no stopping; its end is on its way.
                let _gone = running.step.tell(stop).await;
            }
        }
    }
}

impl Batch {
    /// Begins whatever a request comes to, unless a step is running.
    async fn begin(&mut self, work: Work, me: &ActorRef<Self>) {
        let Work { house, home: _, ask, caller, span } = work;
        if self.args.office.board.is_closed() {
            return self.answer(caller, Err(Error::Closing)).await;
        }
        // Held by this very actor while a step runs, so a second request is refused here as it is in any other process.
        let locked =
            StepLock::acquire(house.project.layout(), &self.args.home, house.project.now());
        let lock = match locked {
            Ok(lock) => lock,
            Err(error) => return self.answer(caller, Err(error.into())).await,
        };
        let posting = self.args.office.board.post(house.project.root(), &self.args.home);
        let begun = span.in_scope(|| off_the_loop(|| plan(&house, &self.args.home, &ask)));
        let open = Open {
            house,
            caller,
            lock,
            stop: None,
            withdrawn: CancellationToken::new(),
            span,
            _posting: posting,
        };
        match begun {
            Ok(Begun::Report(report)) => self.close(open, Ok(*report)).await,
            Err(error) => self.close(open, Err(error)).await,
            Ok(Begun::Found(found)) => {
                let (inflight, mut placed) = *found;
                // It runs already, so it takes room without waiting for any.
                placed.slot = self.args.office.room(inflight.place.locus).occupy();
                self.watch(open, inflight, placed, Origin::Reattached, me).await;
            }
            Ok(Begun::Ready(ready)) => self.place(open, *ready, me).await,
        }
    }

    async fn place(&mut self, open: Open, ready: Ready, me: &ActorRef<Self>) {
        let Ready { inflight, prepared, notices } = ready;
        for notice in notices {
            open.caller.hear(StepEvent::Notice(notice)).await;
        }
        let place = Place {
            house: Arc::clone(&open.house),
            prepared: Box::new(prepared),
            reply_to: me.clone(),
            events: open.caller.events.clone(),
            withdrawn: open.withdrawn.clone(),
            span: open.span.clone(),
        };
        self.phase = Phase::Placing(Box::new((open, inflight)));
        if self.args.runtime.tell(place).await.is_err() {
            let gone = PlacedReply { outcome: Err(Error::WatcherDied) };
            drop(me.tell(gone).await);
        }
    }

    async fn watch(
        &mut self,
        mut open: Open,
        inflight: Inflight,
        placed: Placed,
        origin: Origin,
        me: &ActorRef<Self>,
    ) {
        let Placed { dir, attachment, slot, shim, .. } = placed;
        log::begun(open.house.project.root(), &self.args.home, &inflight, origin);
        open.caller.hear(StepEvent::Started(started(&inflight, origin))).await;
        let heard = Heard { events: open.caller.events.clone(), format: inflight.format() };
        let handle = shim.as_ref().and_then(Shim::handle);
        let watch = Watch::new(dir.clone(), attachment, shim, heard, inflight.matcher());
        let span = open.span.clone();
        let args = StepArgs { batch: me.clone(), dir: dir.clone(), shim: handle, watch, span };
        let step = Step::spawn(args);
        me.link(&step).await;
        if let Some(stop) = open.stop.take() {
            let _gone = step.tell(stop).await;
        }
        self.phase = Phase::Running(Box::new(Running { open, inflight, step, dir, _slot: slot }));
    }

    /// Lets go of everything a step held, and only then answers: the next request must find the lock free.
    async fn close(&self, open: Open, report: Result<Report, Error>) {
        let Open { caller, lock, _posting: posting, .. } = open;
        drop(lock);
        drop(posting);
        self.answer(caller, report).await;
    }

    async fn answer(&self, caller: Caller, report: Result<Report, Error>) {
        caller.answer(report);
        if let Some(above) = self.args.above.upgrade() {
            let settled = Settled { key: self.args.home.clone(), who: self.me, pieces: 1 };
            // A project that is gone counts no more.
            let _gone = above.tell(settled).await;
        }
    }
}

/// Recovers, else gathers, decides and intends.
fn plan(house: &House, home: &RunHome, ask: &Ask) -> Result<Begun, Error> {
    match recover::look(house, home)? {
        Found::Nothing => {}
        Found::Spawn(found) => return Ok(Begun::Found(found)),
        Found::Judged(judged) => {
            let (inflight, verdict) = *judged;
            let report = record::finish(house, home, &inflight, verdict);
            log::ended(house.project.root(), home, &inflight, &report);
            return Ok(Begun::Report(Box::new(report?)));
        }
        Found::Gone(gone) => {
            let (inflight, seen) = *gone;
            let report = record::conclude(house, home, &inflight, seen);
            log::ended(house.project.root(), home, &inflight, &report);
            return Ok(Begun::Report(Box::new(report?)));
        }
    }
    let act = match ask {
        Ask::Apply(request) => perform::next(house, home, request)?,
        Ask::Change(request) => perform::forced(house, home, request)?,
        Ask::Recover => return Ok(Begun::Report(Box::new(Report::Nothing))),
    };
    match act {
        Act::Report(report) => Ok(Begun::Report(report)),
        Act::Spawn(order) => {
            let Order { inflight, command, notices } = *order;
            let prepared = runtime::prepare(&house.places()?, command)?;
            record::intend(house, home, &inflight)?;
            fault::at(Point::Intended, house.project.environment());
            Ok(Begun::Ready(Box::new(Ready { inflight, prepared, notices })))
        }
    }
}

/// Does what reads and syncs files without holding up the other actors. Where all share one thread there is one step at a
/// time anyway, and handing the thread over would cost more than it gains.
fn off_the_loop<T>(work: impl FnOnce() -> T) -> T {
    let runtime = Handle::current();
    let shared = runtime.metrics().num_workers() > 1;
    match runtime.runtime_flavor() {
        RuntimeFlavor::MultiThread if shared => tokio::task::block_in_place(work),
        _ => work(),
    }
}

fn started(inflight: &Inflight, origin: Origin) -> Started {
    Started {
        spawn: inflight.spawn.clone(),
        key: inflight.key.clone(),
        what: inflight.running(),
        origin,
    }
}

impl Running {
    /// Tells a caller who came late what the step has printed, and prints.
    fn tell_from_the_beginning(&self) {
        let (inflight, dir) = (self.inflight.clone(), self.dir.clone());
        let events = self.open.caller.events.clone();
        // Ends with the spawn, or with the listener.
        tokio::spawn(async move {
            if let Err(error) = follow::follow(&inflight, &dir, Start::Offset(0), events).await {
                tracing::warn!(spawn = %inflight.spawn, %error, "a step cannot be followed");
            }
        });
    }
}

impl Ask {
    /// Says whether this would go on with a step that was begun and cut off.
    fn finishes_what_was_begun(&self) -> bool {
        match self {
            Self::Apply(_) | Self::Change(_) => true,
            Self::Recover => false,
        }
    }
}

impl Caller {
    /// Gives a caller that hears nothing.
    pub(crate) fn nobody() -> Self {
        let (events, _) = mpsc::channel(1);
        let (reply, _) = oneshot::channel();
        Self { events, reply }
    }

    /// Says whether nobody listens any more.
    fn has_gone(&self) -> bool {
        self.events.is_closed()
    }

    /// Tells an event; a caller that went away hears nothing and changes nothing.
    async fn hear(&self, event: StepEvent) {
        drop(self.events.send(event).await);
    }
}
