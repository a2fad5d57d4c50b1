//! A process on this machine, under a shim of its own.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use ratchet_spawn::{Attachment, Position, SpawnDir, launch};
use tokio::sync::OwnedSemaphorePermit;

use crate::descriptors;

use super::{Command, Placed, Places, Prepared, Shim, StartError};

/// Makes the spawn's directory, with everything that the command will read.
pub(super) fn prepare(places: &Places, mut command: Command) -> Result<Prepared, StartError> {
    command.request.limits.open_files = descriptors::of_commands();
    let dir = SpawnDir::create(&places.spawns, &command.request)?;
    for (name, content) in &command.files {
        write_file(&dir, name, content)?;
    }
    Ok(Prepared { locus: command.locus, dir, variables: command.variables })
}

/// Starts the shim.
pub(super) fn start(
    places: &Places,
    prepared: Prepared,
    slot: OwnedSemaphorePermit,
) -> Result<Placed, StartError> {
    let Prepared { dir, variables, .. } = prepared;
    // Watching begins before the shim does, so that nothing can be missed.
    let attachment = Attachment::open(&dir, Position::START)?;
    let shim = Shim::start(|| launch(&dir, &places.shim, variables.0))?;
    Ok(Placed { dir, attachment, slot: Some(slot), shim: Some(shim) })
}

fn write_file(dir: &SpawnDir, name: &str, content: &[u8]) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(dir.path().join(name))?;
    file.write_all(content)
}
