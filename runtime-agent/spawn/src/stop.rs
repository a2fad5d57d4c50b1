//! The request to stop a spawn: a file, so that it also reaches a shim in a container or one that has not started yet.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::directory::{SpawnDir, private, replace_json};

/// Who wants a spawn to stop, and how patiently (`stop`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StopRequest {
    /// Who asks; the exit record repeats it.
    pub by: String,
    /// Between TERM and KILL, in milliseconds; absent: as the spawn's request says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
}

/// Asks the shim to stop the spawn. It may be asked again, with less patience; it may be asked before the start, and
/// then the agent never runs. A spawn that has ended takes no notice.
///
/// # Errors
/// The disk's.
pub fn request_stop(dir: &SpawnDir, request: &StopRequest) -> io::Result<()> {
    replace_json(&dir.stop_file(), request)?;
    ring(dir)
}

/// Makes a living shim look. Without one the bell has no listener, and the file waits for the shim that comes.
fn ring(dir: &SpawnDir) -> io::Result<()> {
    match private().write(true).open(dir.bell_file()) {
        Ok(mut bell) => match bell.write(&[1]) {
            Ok(_) => Ok(()),
            // A full pipe has rung already; a broken one had a listener that has just ended.
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::BrokenPipe => Ok(()),
                _ => Err(error),
            },
        },
        Err(deaf) if deaf.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => Ok(()),
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(other) => Err(other),
    }
}
