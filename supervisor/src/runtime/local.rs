//! A process on this machine, under a shim of its own.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use ratchet_spawn::{Attachment, Position, SpawnDir, launch};
use tokio::sync::OwnedSemaphorePermit;

use super::{Command, Placed, Places, Shim, StartError};

/// Makes the spawn's directory and starts the shim in it.
pub(super) fn start(
    places: &Places,
    command: Command,
    slot: OwnedSemaphorePermit,
) -> Result<Placed, StartError> {
    let dir = SpawnDir::create(&places.spawns, &command.request)?;
    for (name, content) in &command.files {
        write_file(&dir, name, content)?;
    }
    // Watching begins before the shim does, so that nothing can be missed.
    let attachment = Attachment::open(&dir, Position::START)?;
    let shim = launch(&dir, &places.shim, command.variables.0)?;
    Ok(Placed { dir, attachment, slot: Some(slot), shim: Some(Shim::new(shim)) })
}

fn write_file(dir: &SpawnDir, name: &str, content: &[u8]) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(dir.path().join(name))?;
    file.write_all(content)
}
