//! A process on this machine, under a shim of its own.

use ratchet_spawn::{Attachment, Position, SpawnDir, launch};
use tokio::sync::OwnedSemaphorePermit;

use super::shim::Child;
use super::{Placed, Places, Shim, StartError, Variables};

/// Starts the shim.
pub(super) fn start(
    places: &Places,
    dir: SpawnDir,
    variables: Variables,
    slot: OwnedSemaphorePermit,
) -> Result<Placed, StartError> {
    // Watching begins before the shim does, so that nothing can be missed.
    let attachment = Attachment::open(&dir, Position::START)?;
    let child = Child::start(|| launch(&dir, &places.shim, variables.0))?;
    Ok(Placed {
        dir,
        attachment,
        slot: Some(slot),
        shim: Some(Shim::Child(child)),
        image: None,
        reach: None,
    })
}
