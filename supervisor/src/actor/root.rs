//! The root: starts one batch actor per run home and keeps them. It decides nothing.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use kameo::Actor;
use kameo::actor::{ActorId, ActorRef, Spawn as _, WeakActorRef};
use kameo::error::ActorStopReason;
use kameo::message::{Context, Message};
use kameo::supervision::RestartPolicy;

use super::batch::{Batch, BatchArgs};
use super::message::{Serve, Served, Stop};
use super::runtime::RuntimeActor;
use crate::house::House;
use crate::store::layout::RunHome;

/// The top of the tree.
pub(crate) struct Root {
    house: Arc<House>,
    runtime: ActorRef<RuntimeActor>,
    batches: BTreeMap<RunHome, ActorRef<Batch>>,
}

impl Actor for Root {
    type Args = Arc<House>;
    type Error = Infallible;

    async fn on_start(house: Self::Args, me: ActorRef<Self>) -> Result<Self, Self::Error> {
        let runtime = RuntimeActor::supervise(&me, Arc::clone(&house))
            .restart_policy(RestartPolicy::Permanent)
            .spawn()
            .await;
        Ok(Self { house, runtime, batches: BTreeMap::new() })
    }

    /// One batch that goes down for good harms no other: it is forgotten, and started afresh when it is next asked for.
    async fn on_link_died(
        &mut self,
        _me: WeakActorRef<Self>,
        id: ActorId,
        reason: ActorStopReason,
    ) -> Result<ControlFlow<ActorStopReason>, Self::Error> {
        tracing::warn!(%reason, "an actor of a batch is gone");
        self.batches.retain(|_, batch| batch.id() != id);
        Ok(ControlFlow::Continue(()))
    }
}

impl Message<Serve> for Root {
    type Reply = Served;

    async fn handle(&mut self, Serve(home): Serve, ctx: &mut Context<Self, Served>) -> Served {
        if let Some(batch) = self.batches.get(&home).filter(|batch| batch.is_alive()) {
            return Served(batch.clone());
        }
        let args = Arc::new(BatchArgs {
            house: Arc::clone(&self.house),
            runtime: self.runtime.clone(),
            home: home.clone(),
        });
        let batch = Batch::supervise(ctx.actor_ref(), args)
            .restart_policy(RestartPolicy::Transient)
            .spawn()
            .await;
        self.batches.insert(home, batch.clone());
        Served(batch)
    }
}

impl Message<Stop> for Root {
    type Reply = ();

    async fn handle(&mut self, stop: Stop, _ctx: &mut Context<Self, ()>) {
        for batch in self.batches.values() {
            // A batch whose mailbox is gone has nothing left to stop.
            let _gone = batch.tell(stop.clone()).await;
        }
    }
}
