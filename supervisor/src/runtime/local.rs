//! A process on this machine, under a shim of its own.

use std::os::unix::fs::OpenOptionsExt as _;
use std::io::Write as _;

use ratchet_spawn::{Attachment, Position, SpawnDir, launch};
use tokio::sync::OwnedSemaphorePermit;

use super::Placed;
use crate::error::Error;
use crate::house::House;
use crate::order::Order;
use crate::store::layout::spawns_root;

/// Makes the spawn's directory and starts the shim in it.
pub(super) fn start(
    house: &House,
    order: Order,
    slot: OwnedSemaphorePermit,
) -> Result<Placed, Error> {
    let root = spawns_root(house.project.environment()).ok_or(Error::NoHome)?;
    let failed = |source| Error::SpawnFailed { source };
    let dir = SpawnDir::create(&root, &order.request).map_err(|error| failed(error.into()))?;
    write_files(&order, &dir).map_err(|error| failed(error.into()))?;
    // Watching begins before the shim does, so that nothing can be missed.
    let attachment =
        Attachment::open(&dir, Position::START).map_err(|error| failed(error.into()))?;
    let shim = launch(&dir, &house.options.shim, &order.variables.0)
        .map_err(|error| failed(error.into()))?;
    Ok(Placed { inflight: order.inflight, dir, attachment, slot: Some(slot), shim: Some(shim) })
}

fn write_files(order: &Order, dir: &SpawnDir) -> std::io::Result<()> {
    for file in &order.files {
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(dir.path().join(file.name))?
            .write_all(&file.contents)?;
    }
    Ok(())
}
