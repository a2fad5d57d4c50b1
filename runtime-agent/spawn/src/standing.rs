//! Where a spawn stands, as its folder and the kernel tell it; and the tombstone that keeps it from starting.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::directory::{SpawnDir, is_there, private, read_json};
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
    /// It ended, and its shim too.
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
    /// The exit record or the request cannot be read. What the agent had started may still run; see
    /// [`crate::end_strays`].
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
    standing(dir, lock::open(&dir.lock_file())?.as_ref())
}

/// Waits until no shim holds the spawn: for whoever cannot watch it any more. Blocks; the kernel tells. Returns at once
/// if none holds it now, also when one is about to, or when the lock's file is gone.
///
/// # Errors
/// The disk's.
pub fn await_shim_end(dir: &SpawnDir) -> io::Result<()> {
    match lock::open(&dir.lock_file())? {
        Some(lock) => lock::wait(&lock),
        None => Ok(()),
    }
}

/// Makes sure that a spawn which has not started never will, and says where it stands then:
/// [`Standing::Abandoned`] if it had not started, anything else (but never [`Standing::NeverStarted`]) if it had.
///
/// # Errors
/// The disk's.
pub fn abandon(dir: &SpawnDir) -> io::Result<Standing> {
    let held = match lock::take(&dir.lock_file()) {
        Ok(held) => held,
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::InvalidData => None,
            _ => return Err(error),
        },
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
    // While the lock is held nothing else counts: the files are the agent's to write what it likes.
    let before = settled(dir);
    if lock.map(lock::is_held).transpose()? == Some(true) {
        return Ok(Standing::Running(started(dir)));
    }
    ended(dir)?.map_or(before, Ok)
}

/// What the files say of a spawn whose lock nobody (else) holds.
pub(crate) fn settled(dir: &SpawnDir) -> io::Result<Standing> {
    if let Some(ended) = ended(dir)? {
        return Ok(ended);
    }
    if is_there(&dir.tombstone_file())? {
        return Ok(Standing::Abandoned);
    }
    let Ok(Some(request)) = read_json::<StoredRequest>(&dir.request_file()) else {
        return Ok(Standing::Lost(Lost::Damaged));
    };
    Ok(if request.boot_id != boot_id()? {
        Standing::Lost(Lost::MachineRestarted)
    } else if was_started(dir)? {
        Standing::Lost(Lost::ShimDied)
    } else {
        Standing::NeverStarted
    })
}

/// Tells whether there is any sign of a start. An agent may remove some: the word in the lock's file, of a file that is
/// always there before the shim, is the one it is least likely to think of.
pub(crate) fn was_started(dir: &SpawnDir) -> io::Result<bool> {
    let untouched = match fs::symlink_metadata(dir.lock_file()) {
        Ok(lock) => lock.is_file() && lock.len() == 0,
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => false,
        Err(other) => return Err(other),
    };
    Ok(!untouched || is_there(&dir.started_file())? || is_there(&dir.agent_file())?)
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
