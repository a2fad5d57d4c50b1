//! One per project: its batches, each an actor of its own while it has something to do. It decides nothing.
//!
//! A batch that panics is started afresh once, at once, to recover from disk what it had begun; if that fails too, the
//! next request does.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use kameo::Actor;
use kameo::actor::{ActorId, ActorRef, Spawn as _, WeakActorRef};
use kameo::error::ActorStopReason;
use kameo::mailbox;
use kameo::message::{Context, Message};
use tracing::Span;

use super::batch::{Batch, BatchArgs};
use super::brood::{Brood, Undelivered};
use super::message::{Ask, Caller, Settled, Stop, Work};
use super::root::Root;
use super::runtime::RuntimeActor;
use crate::error::Error;
use crate::house::{House, Office};
use crate::store::layout::RunHome;

/// One runs, the rest would be refused anyway: a step is running.
const BATCH_MAILBOX: usize = 16;

/// What a project starts with.
pub(crate) struct ProjectArgs {
    pub(crate) office: Arc<Office>,
    pub(crate) runtime: ActorRef<RuntimeActor>,
    /// Who started it. Weak, because it must not keep its parent alive.
    pub(crate) above: WeakActorRef<Root>,
    pub(crate) root: PathBuf,
}

/// The actor of one project.
pub(crate) struct ProjectActor {
    args: ProjectArgs,
    me: ActorId,
    batches: Brood<RunHome, Batch>,
    /// As the latest caller saw it.
    house: Option<Arc<House>>,
    /// Started afresh after a panic, and not yet settled.
    mending: BTreeSet<RunHome>,
}

impl Actor for ProjectActor {
    type Args = ProjectArgs;
    type Error = Infallible;

    async fn on_start(args: Self::Args, me: ActorRef<Self>) -> Result<Self, Self::Error> {
        Ok(Self { args, me: me.id(), batches: Brood::new(), house: None, mending: BTreeSet::new() })
    }

    async fn on_link_died(
        &mut self,
        me: WeakActorRef<Self>,
        id: ActorId,
        reason: ActorStopReason,
    ) -> Result<ControlFlow<ActorStopReason>, Self::Error> {
        let Some((home, pending)) = self.batches.bury(id) else {
            return Ok(ControlFlow::Continue(()));
        };
        tracing::error!(?home, pending, %reason, "the actor of a batch died");
        let mended = match me.upgrade() {
            Some(me) => self.mend(&home, &me).await,
            None => 0,
        };
        self.settle_above(pending.saturating_sub(mended)).await;
        Ok(ControlFlow::Continue(()))
    }
}

impl Message<Work> for ProjectActor {
    type Reply = ();

    async fn handle(&mut self, work: Work, ctx: &mut Context<Self, ()>) {
        if let Err(work) = self.hand(work, ctx.actor_ref()).await {
            match work {
                Undelivered::Full(work) => work.refuse(Error::Busy),
                Undelivered::Gone(work) => work.refuse(Error::WatcherDied),
            }
            self.settle_above(1).await;
        }
    }
}

impl Message<Settled<RunHome>> for ProjectActor {
    type Reply = ();

    async fn handle(&mut self, settled: Settled<RunHome>, _ctx: &mut Context<Self, ()>) {
        let Settled { key, who, pieces } = settled;
        self.batches.settle(&key, who, pieces);
        self.mending.remove(&key);
        self.settle_above(pieces).await;
    }
}

impl Message<Stop> for ProjectActor {
    type Reply = ();

    async fn handle(&mut self, stop: Stop, _ctx: &mut Context<Self, ()>) {
        for (home, batch) in self.batches.all() {
            if stop.of.as_ref().is_none_or(|(_, wanted)| wanted == home) {
                // A batch that is gone has nothing left to stop.
                let _gone = batch.tell(stop.clone()).await;
            }
        }
    }
}

impl ProjectActor {
    async fn hand(&mut self, work: Work, me: &ActorRef<Self>) -> Result<(), Undelivered<Work>> {
        self.house = Some(Arc::clone(&work.house));
        let home = work.home.clone();
        if self.batches.living(&home).is_none() {
            let args = BatchArgs {
                office: Arc::clone(&self.args.office),
                runtime: self.args.runtime.clone(),
                above: me.downgrade(),
                home: home.clone(),
            };
            let batch = Batch::spawn_with_mailbox(args, mailbox::bounded(BATCH_MAILBOX));
            me.link(&batch).await;
            self.batches.adopt(home.clone(), batch);
        }
        self.batches.hand(&home, work)
    }

    /// Has a fresh actor recover what a dead one had begun. Returns how many pieces of work that is.
    async fn mend(&mut self, home: &RunHome, me: &ActorRef<Self>) -> usize {
        if self.mending.remove(home) {
            return 0;
        }
        let Some(house) = self.house.clone() else { return 0 };
        self.mending.insert(home.clone());
        let work = Work {
            house,
            home: home.clone(),
            ask: Ask::Recover,
            caller: Caller::nobody(),
            span: Span::current(),
        };
        match self.hand(work, me).await {
            Ok(()) => 1,
            Err(_) => 0,
        }
    }

    async fn settle_above(&self, pieces: usize) {
        if pieces == 0 {
            return;
        }
        if let Some(root) = self.args.above.upgrade() {
            let settled = Settled { key: self.args.root.clone(), who: self.me, pieces };
            // A root that is gone counts no more.
            let _gone = root.tell(settled).await;
        }
    }
}
