//! Starts a shim. It is the only child that a supervisor ever starts on its own machine.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, Stdio};

use crate::directory::{SpawnDir, private};
use crate::id::MARK_VARIABLE;

/// Starts the shim of a spawn with exactly `environment` and the spawn's mark. `shim_command` is the program and the
/// arguments that stand before the folder, such as `ratchet shim`.
///
/// The child may be dropped: the shim goes on. Whoever lives on should wait for it, so that no zombie stays; its exit
/// code says nothing that [`crate::probe`] does not say better.
///
/// # Errors
/// The kernel's; `InvalidInput` for an empty command.
pub fn launch(
    dir: &SpawnDir,
    shim_command: &[OsString],
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> io::Result<Child> {
    let (program, arguments) = shim_command.split_first().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the shim's command is empty")
    })?;
    let complaints = private().append(true).create(true).open(dir.shim_log())?;
    Command::new(program)
        .args(arguments)
        .arg(dir.path())
        .env_clear()
        .envs(environment)
        .env(MARK_VARIABLE, dir.id().as_str())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(complaints)
        .spawn()
}
