//! Where a command can run. This file has the only match on the locus; nothing above it can tell the places apart.

mod local;

use ratchet_engine::settings::Locus;
use ratchet_spawn::{Attachment, SpawnDir};
use tokio::sync::OwnedSemaphorePermit;

use crate::error::Error;
use crate::house::House;
use crate::order::Order;
use crate::store::inflight::Inflight;

/// A command that was started: where it is, and how to watch it.
pub(crate) struct Placed {
    pub(crate) inflight: Inflight,
    pub(crate) dir: SpawnDir,
    pub(crate) attachment: Attachment,
    /// The room it takes; given back when the step is over. A command that was found running has none.
    pub(crate) slot: Option<OwnedSemaphorePermit>,
    /// The shim, if it is a child of this process and has to be waited for.
    pub(crate) shim: Option<std::process::Child>,
}

/// Starts an order at its locus.
///
/// # Errors
/// Fails if nothing was started; then nothing will.
pub(crate) fn start(
    house: &House,
    order: Order,
    slot: OwnedSemaphorePermit,
) -> Result<Placed, Error> {
    match order.inflight.locus {
        Locus::Local => local::start(house, order, slot),
        locus @ (Locus::Docker | Locus::Remote) => Err(Error::LocusUnavailable { locus }),
    }
}
