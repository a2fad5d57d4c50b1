//! The runtime actor: places orders where they are to run, as many at a time as each locus has room for.
//!
//! Who waits, and in which order, is [`crate::room`]'s. The handler only hands over, so it never fails: should it do so all
//! the same, kameo starts it again at once, and it remembers nothing that could be lost.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use kameo::Actor;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument as _;

use super::message::{Place, PlacedReply};
use crate::error::Error;
use crate::event::{Notice, NoticeLevel, StepEvent};
use crate::house::Office;
use crate::observe;
use crate::room::Entry;
use crate::runtime::{self, Line, Placed};

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
        let reply_to = place.reply_to.clone();
        // Bounded by the batches: each has at most one order on its way.
        let (span, trace) = (place.span.clone(), place.trace.clone());
        let placing = async move {
            let begun = Instant::now();
            let slot = room(&office, &place).await;
            observe::queued(&place.trace, begun.elapsed());
            match slot {
                Some(slot) => start(place, slot).await,
                None => Err(Error::Withdrawn),
            }
        };
        let placed = tokio::spawn(trace.scope(placing).instrument(span));
        tokio::spawn(async move {
            // A panic over there must not leave the batch waiting for ever.
            let outcome = placed.await.unwrap_or(Err(Error::WatcherDied));
            // A batch that died meanwhile is started afresh and recovers the spawn from disk.
            drop(reply_to.tell(PlacedReply { outcome }).await);
        });
    }
}

/// Waits for room at the order's locus; `None` if the order was withdrawn first.
async fn room(office: &Office, place: &Place) -> Option<OwnedSemaphorePermit> {
    let ticket = match office.room(place.prepared.locus()).enter(&place.of) {
        Entry::In(slot) => return Some(slot),
        Entry::Waiting(ticket) => ticket,
    };
    let (capacity, before) = (ticket.capacity, ticket.before);
    let text = format!("waits for room: {capacity} of {capacity} in use, {before} before it");
    let notice = StepEvent::Notice(Notice { level: NoticeLevel::Info, text });
    // A caller that went away hears nothing and changes nothing.
    drop(place.events.send(notice).await);
    tokio::select! {
        slot = ticket.turn() => Some(slot),
        () = place.withdrawn.cancelled() => None,
    }
}

async fn start(place: Place, slot: OwnedSemaphorePermit) -> Result<Placed, Error> {
    let Place { house, prepared, events, withdrawn, .. } = place;
    let line = Line { events: &events, withdrawn: &withdrawn };
    Ok(runtime::start(&house.places()?, *prepared, slot, line).await?)
}
