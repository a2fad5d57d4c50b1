//! Starts a shim. It is the only child that a supervisor ever starts on its own machine.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, Stdio};

use crate::directory::{SpawnDir, private};

/// Starts the mirror of a spawn ([`crate::shim::Mirror`]) with exactly `environment`, its own and not the agent's: it needs to
/// know what its starter knows. What it must be told and no disk may hold goes through its standard input; its standard
/// output says one byte when it has taken the spawn up, and ends without one if it does not.
///
/// # Errors
/// The kernel's; `InvalidInput` for an empty command.
pub fn launch_mirror(
    dir: &SpawnDir,
    mirror_command: &[OsString],
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> io::Result<Child> {
    prepare(dir, mirror_command, environment)?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

/// Starts the shim of a spawn with exactly `environment`, which becomes the agent's. `shim_command` is the program and
/// the arguments that stand before the folder, such as `ratchet shim`.
///
/// The agent's mark ([`crate::MARK_VARIABLE`]) is added by the shim. The shim itself does not carry it, or another shim
/// of the same spawn, started by mistake, would be taken for something the agent left behind.
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
    prepare(dir, shim_command, environment)?.stdin(Stdio::null()).stdout(Stdio::null()).spawn()
}

fn prepare(
    dir: &SpawnDir,
    command: &[OsString],
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> io::Result<Command> {
    let (program, arguments) = command.split_first().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the shim's command is empty")
    })?;
    let complaints = private().append(true).create(true).open(dir.shim_log())?;
    let mut command = Command::new(program);
    command.args(arguments).arg(dir.path()).env_clear().envs(environment).stderr(complaints);
    Ok(command)
}
