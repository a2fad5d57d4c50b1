//! The runtime actor: places orders where they are to run, as many at a time as each locus has room for.
//!
//! Waiting is first come, first served; a batch has at most one order at a time, so no batch starves another.

use std::convert::Infallible;
use std::sync::Arc;

use kameo::Actor;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use tokio::sync::Semaphore;

use super::message::{Place, PlacedReply};
use crate::house::House;
use crate::runtime;

/// Hands orders to runtimes.
pub(crate) struct RuntimeActor {
    house: Arc<House>,
    local: Arc<Semaphore>,
}

impl Actor for RuntimeActor {
    type Args = Arc<House>;
    type Error = Infallible;

    async fn on_start(house: Self::Args, _me: ActorRef<Self>) -> Result<Self, Self::Error> {
        let local = Arc::new(Semaphore::new(house.options.local_capacity.get()));
        Ok(Self { house, local })
    }
}

impl Message<Place> for RuntimeActor {
    type Reply = ();

    async fn handle(&mut self, place: Place, _ctx: &mut Context<Self, ()>) {
        let Place { prepared, reply_to } = place;
        let house = Arc::clone(&self.house);
        let room = Arc::clone(&self.local);
        // Bounded by the batches: each has at most one order on its way.
        tokio::spawn(async move {
            let slot = room.acquire_owned().await.expect("the semaphore is never closed");
            let outcome =
                house.places().and_then(|places| Ok(runtime::start(&places, *prepared, slot)?));
            // A batch that restarted meanwhile recovers the spawn from disk.
            drop(reply_to.tell(PlacedReply { outcome }).await);
        });
    }
}
