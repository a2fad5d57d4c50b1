//! Where a spawn stands, as its folder and the kernel tell it; and the tombstone that keeps it from starting.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::directory::{SpawnDir, private, read_json};
use crate::lock;
use crate::process::boot_id;
use crate::record::ExitRecord;
use crate::request::StoredRequest;

/// Where a spawn stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Standing {
    /// No shim has taken it up. One may still do so; see [`abandon`].
    NeverStarted,
    /// It never started and never will.
    Abandoned,
    /// A shim holds it. `started.json` is there, unless the shim has only just begun.
    Running(Option<Started>),
    /// It ended.
    Ended(Box<ExitRecord>),
    /// It was started, and nobody knows how it ended.
    Lost(Lost),
}

/// Why nobody knows how a spawn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The shim was killed. What the agent had started may still run; see [`crate::end_strays`].
    #[error("the shim was killed before it could record the end")]
    ShimDied,
    /// The machine was restarted in between; nothing of it runs any more.
    #[error("the machine was restarted while it ran")]
    MachineRestarted,
    /// The exit record or the request cannot be read.
    #[error("the files of the spawn are damaged")]
    Damaged,
}

/// What the shim says when it takes a spawn up (`started.json`), and again when the agent runs (`agent.json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// The version of the format.
    pub format: u32,
    /// When, in milliseconds since 1970.
    pub started_at: u64,
    /// The boot of the machine.
    pub boot_id: String,
    /// Where the process numbers below hold: the shim's pid namespace, as the kernel calls it.
    pub pid_namespace: String,
    /// The shim.
    pub shim: ProcessName,
    /// The agent; absent until it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<ProcessName>,
    /// The spawn's own cgroup, if it can have one. It need not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<PathBuf>,
}

/// Names a process beyond the reuse of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessName {
    /// Its number, as seen where the shim runs (in a container: inside).
    pub pid: i32,
    /// When it started, in clock ticks since boot (field 22 of `/proc/<pid>/stat`).
    pub start_time: u64,
}

/// Looks where a spawn stands. Starts, stops and locks nothing.
///
/// # Errors
/// The disk's.
pub fn probe(dir: &SpawnDir) -> io::Result<Standing> {
    let lock = match File::open(dir.lock_file()) {
        Ok(file) => Some(file),
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => None,
        Err(other) => return Err(other),
    };
    standing(dir, lock.as_ref())
}

/// Makes sure that a spawn which has not started never will, and says where it stands then:
/// [`Standing::Abandoned`] if it had not started, anything else (but never [`Standing::NeverStarted`]) if it had.
///
/// # Errors
/// The disk's.
pub fn abandon(dir: &SpawnDir) -> io::Result<Standing> {
    let held = match lock::take(&dir.lock_file()) {
        Ok(held) => held,
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => None,
        Err(other) => return Err(other),
    };
    let Some(_held) = held else { return probe(dir) };
    let standing = settled(dir)?;
    if standing == Standing::NeverStarted {
        private().write(true).create(true).truncate(true).open(dir.tombstone_file())?;
        return Ok(Standing::Abandoned);
    }
    Ok(standing)
}

/// Like [`probe`], with a lock file that was opened earlier and may have been unlinked since.
pub(crate) fn standing(dir: &SpawnDir, lock: Option<&File>) -> io::Result<Standing> {
    // The order matters. A shim takes the lock, writes that it starts, writes how it ended and gives the lock back; so
    // a start that was seen *before* the lock was found free means an end, which is there to be seen *after* that.
    let before = settled(dir)?;
    if lock.map(lock::is_held).transpose()? == Some(true) {
        return Ok(Standing::Running(started(dir)));
    }
    Ok(ended(dir)?.unwrap_or(before))
}

/// What the files say of a spawn whose lock nobody (else) holds.
pub(crate) fn settled(dir: &SpawnDir) -> io::Result<Standing> {
    if let Some(ended) = ended(dir)? {
        return Ok(ended);
    }
    if dir.tombstone_file().try_exists()? {
        return Ok(Standing::Abandoned);
    }
    let Ok(Some(request)) = read_json::<StoredRequest>(&dir.request_file()) else {
        return Ok(Standing::Lost(Lost::Damaged));
    };
    Ok(if request.boot_id != boot_id()? {
        Standing::Lost(Lost::MachineRestarted)
    } else if dir.started_file().try_exists()? {
        Standing::Lost(Lost::ShimDied)
    } else {
        Standing::NeverStarted
    })
}

/// Reads what the shim said last when it started; what cannot be read is as good as not said.
pub(crate) fn started(dir: &SpawnDir) -> Option<Started> {
    let [complete, first] = [dir.agent_file(), dir.started_file()]
        .map(|file| read_json::<Started>(&file).unwrap_or_default());
    complete.or(first)
}

fn ended(dir: &SpawnDir) -> io::Result<Option<Standing>> {
    match read_json(&dir.exit_file()) {
        Ok(record) => Ok(record.map(|record| Standing::Ended(Box::new(record)))),
        Err(broken) if broken.kind() == io::ErrorKind::InvalidData => {
            Ok(Some(Standing::Lost(Lost::Damaged)))
        }
        Err(other) => Err(other),
    }
}
