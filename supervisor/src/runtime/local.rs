//! A process on this machine, under a shim of its own.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use ratchet_spawn::{Attachment, Position, SpawnDir, launch};
use tokio::sync::OwnedSemaphorePermit;

use super::Placed;
use crate::agent::ExtraFile;
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
    let dir = SpawnDir::create(&root, &order.request).map_err(Error::spawn_failed)?;
    write_files(&order.files, &dir).map_err(Error::spawn_failed)?;
    // Watching begins before the shim does, so that nothing can be missed.
    let attachment = Attachment::open(&dir, Position::START).map_err(Error::spawn_failed)?;
    let shim = launch(&dir, &house.options.shim, order.variables.0).map_err(Error::spawn_failed)?;
    Ok(Placed { inflight: order.inflight, dir, attachment, slot: Some(slot), shim: Some(shim) })
}

fn write_files(files: &[ExtraFile], dir: &SpawnDir) -> std::io::Result<()> {
    for file in files {
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(dir.path().join(file.name))?
            .write_all(&file.bytes)?;
    }
    Ok(())
}
