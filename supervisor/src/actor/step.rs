//! One running step. It dies with the step, is never restarted (work must not silently run twice), and what it watches
//! outlives it: the shim goes on, and the next look at the run home finds it.

use std::convert::Infallible;

use kameo::Actor;
use kameo::actor::{ActorRef, WeakActorRef};
use kameo::error::ActorStopReason;
use kameo::message::{Context, Message};
use ratchet_spawn::SpawnDir;
use ratchet_telemetry::TraceSpan;
use tokio::task::JoinHandle;
use tracing::{Instrument as _, Span};

use super::batch::Batch;
use super::message::{StepEnded, Stop, Watched};
use crate::runtime::ShimHandle;
use crate::watch::{self, Watch};

/// The actor of one spawn.
pub(crate) struct Step {
    batch: ActorRef<Batch>,
    dir: SpawnDir,
    shim: Option<ShimHandle>,
    watching: JoinHandle<()>,
}

/// What a step starts with.
pub(crate) struct StepArgs {
    pub(crate) batch: ActorRef<Batch>,
    pub(crate) dir: SpawnDir,
    pub(crate) shim: Option<ShimHandle>,
    pub(crate) watch: Watch,
    pub(crate) span: Span,
    pub(crate) trace: TraceSpan,
}

impl Actor for Step {
    type Args = StepArgs;
    type Error = Infallible;

    async fn on_start(args: StepArgs, me: ActorRef<Self>) -> Result<Self, Self::Error> {
        let StepArgs { batch, dir, shim, watch, span, trace } = args;
        let until_the_end = async move {
            let seen = watch.until_the_end().await;
            // Only a step that was stopped hears nothing, and then nobody waits for it.
            drop(me.tell(Watched(seen)).await);
        };
        let watching = tokio::spawn(trace.scope(until_the_end).instrument(span));
        Ok(Self { batch, dir, shim, watching })
    }

    async fn on_stop(
        &mut self,
        _me: WeakActorRef<Self>,
        _reason: ActorStopReason,
    ) -> Result<(), Self::Error> {
        self.watching.abort();
        Ok(())
    }
}

impl Message<Watched> for Step {
    type Reply = ();

    async fn handle(&mut self, Watched(seen): Watched, ctx: &mut Context<Self, ()>) {
        if self.batch.tell(StepEnded(seen)).await.is_err() {
            tracing::warn!(spawn = %self.dir.id(), "a step ended and its batch is gone; the next look recovers it");
        }
        ctx.stop();
    }
}

impl Message<Stop> for Step {
    type Reply = ();

    async fn handle(&mut self, Stop { by, pending, .. }: Stop, _ctx: &mut Context<Self, ()>) {
        watch::stop(&self.dir, self.shim.as_ref(), by);
        drop(pending);
    }
}
