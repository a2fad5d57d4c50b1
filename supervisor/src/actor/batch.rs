//! One per run home: the six verbs, one step at a time. Its mailbox and its `step.lock` are the single-flight lock.
//!
//! Behaviour does not belong here: what to do is decided in `ratchet_engine`, how in `perform`, `recover` and `record`.
//! A restart rebuilds nothing from memory; the next request recovers what the disk says.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use kameo::Actor;
use kameo::actor::{ActorId, ActorRef, Spawn as _, WeakActorRef};
use kameo::error::ActorStopReason;
use kameo::message::{Context, Message};
use tokio::sync::OwnedSemaphorePermit;

use super::message::{Apply, Caller, Place, PlacedReply, Report, RunChange, StepEnded, Stop};
use super::runtime::RuntimeActor;
use super::step::{Step, StepArgs};
use crate::error::Error;
use crate::event::{Notice, Origin, Started, StepEvent};
use crate::fault::{self, Point};
use crate::house::House;
use crate::order::Order;
use crate::perform::{self, Act};
use crate::record;
use crate::recover::{self, Found};
use crate::runtime::{self, Placed, Prepared, Shim};
use crate::store::inflight::Inflight;
use crate::store::layout::RunHome;
use crate::store::lock::StepLock;
use crate::watch::{Heard, Watch};

/// What a batch starts, and restarts, with.
pub(crate) struct BatchArgs {
    pub(crate) house: Arc<House>,
    pub(crate) runtime: ActorRef<RuntimeActor>,
    pub(crate) home: RunHome,
}

/// The actor of one run home.
pub(crate) struct Batch {
    args: Arc<BatchArgs>,
    phase: Phase,
}

/// Where the one step is.
enum Phase {
    Idle,
    /// Its order waits for room.
    Placing(Open, Inflight),
    Running(Running),
}

/// A step that has begun and is not recorded.
struct Open {
    caller: Caller,
    lock: StepLock,
    stop: Option<Stop>,
}

struct Running {
    open: Open,
    inflight: Inflight,
    step: ActorRef<Step>,
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
    type Args = Arc<BatchArgs>;
    type Error = Infallible;

    async fn on_start(args: Self::Args, _me: ActorRef<Self>) -> Result<Self, Self::Error> {
        Ok(Self { args, phase: Phase::Idle })
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
                running.open.caller.answer(Err(Error::WatcherDied));
            }
            other => self.phase = other,
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Message<Apply> for Batch {
    type Reply = ();

    async fn handle(&mut self, Apply { request, caller }: Apply, ctx: &mut Context<Self, ()>) {
        let act = |house: &House, home: &RunHome| perform::next(house, home, &request);
        self.begin(act, caller, ctx.actor_ref()).await;
    }
}

impl Message<RunChange> for Batch {
    type Reply = ();

    async fn handle(&mut self, msg: RunChange, ctx: &mut Context<Self, ()>) {
        let RunChange { request, caller } = msg;
        let act = |house: &House, home: &RunHome| perform::forced(house, home, &request);
        self.begin(act, caller, ctx.actor_ref()).await;
    }
}

impl Message<PlacedReply> for Batch {
    type Reply = ();

    async fn handle(&mut self, PlacedReply { outcome }: PlacedReply, ctx: &mut Context<Self, ()>) {
        let Phase::Placing(open, inflight) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            tracing::error!("an order was placed that nobody waits for");
            return;
        };
        match outcome {
            Ok(placed) => {
                fault::at(Point::Acted, self.args.house.project.environment());
                self.watch(open, inflight, placed, Origin::Fresh, ctx.actor_ref()).await;
            }
            Err(error) => {
                let undone = recover::give_up(&self.args.house, &self.args.home, &inflight);
                drop(open.lock);
                open.caller.answer(Err(undone.err().unwrap_or(error)));
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
        let Open { caller, lock, .. } = running.open;
        caller.hear(StepEvent::Ended).await;
        let report = record::conclude(&self.args.house, &self.args.home, &running.inflight, seen);
        drop(lock);
        self.args.house.sweep();
        caller.answer(report);
    }
}

impl Message<Stop> for Batch {
    type Reply = ();

    async fn handle(&mut self, stop: Stop, _ctx: &mut Context<Self, ()>) {
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Placing(open, _) => open.stop = Some(stop),
            Phase::Running(running) => {
                // A step that is gone needs no stopping; its end is on its way.
                let _gone = running.step.tell(stop).await;
            }
        }
    }
}

impl Batch {
    /// Begins whatever a request comes to, unless a step is running.
    async fn begin(
        &mut self,
        act: impl FnOnce(&House, &RunHome) -> Result<Act, Error>,
        caller: Caller,
        me: &ActorRef<Self>,
    ) {
        // Held by this very actor while a step runs, so a second request is refused here as it is in any other process.
        let house = &self.args.house;
        let locked =
            StepLock::acquire(house.project.layout(), &self.args.home, house.project.now());
        let lock = match locked {
            Ok(lock) => lock,
            Err(error) => return caller.answer(Err(error.into())),
        };
        match self.plan(act) {
            Ok(Begun::Report(report)) => {
                drop(lock);
                caller.answer(Ok(*report));
            }
            Err(error) => {
                drop(lock);
                caller.answer(Err(error));
            }
            Ok(Begun::Found(found)) => {
                let (inflight, placed) = *found;
                let open = Open { caller, lock, stop: None };
                self.watch(open, inflight, placed, Origin::Reattached, me).await;
            }
            Ok(Begun::Ready(ready)) => {
                let Ready { inflight, prepared, notices } = *ready;
                for notice in notices {
                    caller.hear(StepEvent::Notice(notice)).await;
                }
                let open = Open { caller, lock, stop: None };
                self.phase = Phase::Placing(open, inflight);
                let place = Place { prepared: Box::new(prepared), reply_to: me.clone() };
                if self.args.runtime.tell(place).await.is_err() {
                    let gone = PlacedReply { outcome: Err(Error::WatcherDied) };
                    drop(me.tell(gone).await);
                }
            }
        }
    }

    /// Recovers, else gathers, decides and intends.
    fn plan(
        &self,
        act: impl FnOnce(&House, &RunHome) -> Result<Act, Error>,
    ) -> Result<Begun, Error> {
        let BatchArgs { house, home, .. } = &*self.args;
        match recover::look(house, home)? {
            Found::Nothing => {}
            Found::Spawn(found) => return Ok(Begun::Found(found)),
            Found::Judged(judged) => {
                let (inflight, verdict) = *judged;
                return Ok(Begun::Report(Box::new(record::finish(
                    house, home, &inflight, verdict,
                )?)));
            }
            Found::Gone(gone) => {
                let (inflight, seen) = *gone;
                return Ok(Begun::Report(Box::new(record::conclude(
                    house, home, &inflight, seen,
                )?)));
            }
        }
        match act(house, home)? {
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

    async fn watch(
        &mut self,
        mut open: Open,
        inflight: Inflight,
        placed: Placed,
        origin: Origin,
        me: &ActorRef<Self>,
    ) {
        let Placed { dir, attachment, slot, shim } = placed;
        let started = Started {
            spawn: inflight.spawn.clone(),
            key: inflight.key.clone(),
            what: inflight.running(),
            origin,
        };
        open.caller.hear(StepEvent::Started(started)).await;
        let heard = Heard { events: open.caller.events.clone(), format: inflight.format() };
        let handle = shim.as_ref().map(Shim::handle);
        let watch = Watch::new(dir.clone(), attachment, shim, heard, inflight.matcher());
        let step = Step::spawn(StepArgs { batch: me.clone(), dir, shim: handle, watch });
        me.link(&step).await;
        if let Some(stop) = open.stop.take() {
            let _gone = step.tell(stop).await;
        }
        self.phase = Phase::Running(Running { open, inflight, step, _slot: slot });
    }
}

impl Caller {
    /// Tells an event; a caller that went away hears nothing and changes nothing.
    async fn hear(&self, event: StepEvent) {
        drop(self.events.send(event).await);
    }

    fn answer(self, report: Result<Report, Error>) {
        drop(self.reply.send(report));
    }
}
