//! The shim: runs one command, keeps its output, ends it in time, leaves nothing behind and says how it went.

use std::path::Path;
use std::process::ExitCode;

/// Runs the shim of the spawn whose folder is `dir`, to the end. This is the whole process: it makes a session of its
/// own, and every child of the process is taken for the agent's.
///
/// The code is 0 if the exit record was written, 75 if this shim may not run the spawn (another does, or it is
/// abandoned or over), 70 if it failed.
#[must_use]
pub fn run(dir: &Path) -> ExitCode {
    let _ = dir;
    ExitCode::from(70)
}
