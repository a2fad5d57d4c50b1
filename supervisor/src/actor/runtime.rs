//! The runtime actor: places orders where they are to run, as many at a time as each locus has room for.
//!
//! Waiting is first come, first served; a batch has at most one order at a time, so no batch starves another.

use std::convert::Infallible;
use std::sync::Arc;

use kameo::Actor;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use tokio::sync::OwnedSemaphorePermit;

use super::message::{Place, PlacedReply};
use crate::error::Error;
use crate::event::{Notice, NoticeLevel, StepEvent};
use crate::house::{House, Office};
use crate::runtime::{self, Line, Placed, Prepared};

/// Hands orders to runtimes.
pub(crate) struct RuntimeActor {
    office: Arc<Office>,
}

impl Actor for RuntimeActor {
    type Args = Arc<Office>;
    type Error = Infallible;

    async fn on_start(office: Self::Args, _me: ActorRef<Self>) -> Result<Self, Self::Error> {
        Ok(Self { office })
    }
}

impl Message<Place> for RuntimeActor {
    type Reply = ();

    async fn handle(&mut self, place: Place, _ctx: &mut Context<Self, ()>) {
        let office = Arc::clone(&self.office);
        // Bounded by the batches: each has at most one order on its way.
        tokio::spawn(async move {
            let slot = room(&office, &place).await;
            let Place { house, prepared, reply_to, events, withdrawn } = place;
            let line = Line { events: &events, withdrawn: &withdrawn };
            let outcome = match slot {
                Some(slot) => start(&house, *prepared, slot, line).await,
                None => Err(Error::Withdrawn),
            };
            // A batch that died meanwhile is started afresh and recovers the spawn from disk.
            drop(reply_to.tell(PlacedReply { outcome }).await);
        });
    }
}

/// Waits for room at the order's locus; `None` if the order was withdrawn first.
async fn room(office: &Office, place: &Place) -> Option<OwnedSemaphorePermit> {
    let room = office.room(place.prepared.locus());
    if let Ok(slot) = Arc::clone(&room).try_acquire_owned() {
        return Some(slot);
    }
    let text = "waits for room: as many commands run as the supervisor may start".to_owned();
    let notice = StepEvent::Notice(Notice { level: NoticeLevel::Info, text });
    // A caller that went away hears nothing and changes nothing.
    drop(place.events.send(notice).await);
    tokio::select! {
        slot = room.acquire_owned() => Some(slot.expect("the semaphore is never closed")),
        () = place.withdrawn.cancelled() => None,
    }
}

async fn start(
    house: &House,
    prepared: Prepared,
    slot: OwnedSemaphorePermit,
    line: Line<'_>,
) -> Result<Placed, Error> {
    let places = house.places()?;
    Ok(runtime::start(&places, prepared, slot, line).await?)
}
