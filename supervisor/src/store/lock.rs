//! One step at a time for one run state, across processes: `step.lock`.
//!
//! The truth is an OS lock on the open descriptor: it ends with its process, however that ends. The JSON in the file is
//! the original tool's (spec `step-and-outcome` 2.2) and keeps that tool out while we run, and us while it runs.
//! The file is never unlinked to reclaim it: a stale one is locked first and overwritten in place.
//!
//! A second lock, in the user's own folder, is held with it: `step.lock` may be cleaned away under a step that runs.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use ratchet_engine::time::Timestamp;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::file::{Doing, FileError, Of as _, check_regular};
use super::journal;
use super::layout::{Layout, RunHome};
use super::os_lock::{Taken, is_at, try_take};
use super::process::{self, Mark};
use super::trace;

#[cfg(test)]
mod tests;

/// A lock file is a line of JSON; what is longer is not ours and not the original tool's.
const MAX_BYTES: usize = 4096;

/// Each attempt is lost only to another process that came and went in between.
const ATTEMPTS: u32 = 100;

/// The right to run a step. It ends when this value is dropped, or with the process.
#[derive(Debug)]
pub struct StepLock {
    /// Let go of in this order: whoever gets `step.lock` next must find the other one free.
    _second: Option<Named>,
    _first: Named,
}

/// A lock on a file of this name.
#[derive(Debug)]
struct Named {
    file: File,
    path: PathBuf,
}

/// Why the right was not given.
#[derive(Debug, Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("A step is already running for {of} ({}, {})", shown_pid(*.pid), shown_time(.at.as_deref()))]
    Running {
        /// The batch or change, as in `batch 'shop'`.
        of: String,
        /// The holder's process id, if its note can be read.
        pid: Option<i64>,
        /// Since when, as the holder wrote it.
        at: Option<String>,
    },
    /// The file could not be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What the file says.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Note {
    pid: i64,
    #[serde(default)]
    at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_time: Option<u64>,
}

enum Attempt {
    Got(File),
    /// The file went away or was replaced between two looks at it.
    Lost,
    HeldBy(Option<Note>),
}

impl StepLock {
    /// Takes the right to run a step; never waits.
    ///
    /// # Errors
    /// [`LockError::Running`] names the holder: another process of ours, or a live process of the original tool.
    pub fn acquire(layout: &Layout, home: &RunHome, now: Timestamp) -> Result<Self, LockError> {
        let run = layout.run(home);
        journal::make_run_dir(&run)?;
        let note = Note::of_this_process(now);
        let first = match take(&run.step_lock(), &note, 0o666)? {
            Ok(first) => first,
            Err(holder) => return Err(running(home, holder)),
        };
        let second = match run.trace().map(|trace| take_second(&trace.lock(), &note)) {
            None => None,
            Some(Ok(Ok(second))) => Some(second),
            Some(Ok(Err(holder))) => return Err(running(home, holder)),
            Some(Err(error)) => {
                tracing::warn!(%error, "a step is locked in its project only");
                None
            }
        };
        Ok(Self { _second: second, _first: first })
    }
}

/// Takes the lock of a file; the inner error is the note of whoever has it.
fn take(path: &Path, note: &Note, mode: u32) -> Result<Result<Named, Option<Note>>, FileError> {
    check_no_link(path)?;
    for _ in 0..ATTEMPTS {
        let attempt = match create(path, note, mode).of(path, Doing::Lock)? {
            Some(file) => Attempt::Got(file),
            None => take_over(path, note).of(path, Doing::Lock)?,
        };
        match attempt {
            Attempt::Got(file) => return Ok(Ok(Named { file, path: path.to_owned() })),
            Attempt::Lost => {}
            Attempt::HeldBy(note) => return Ok(Err(note)),
        }
    }
    Ok(Err(None))
}

fn take_second(path: &Path, note: &Note) -> Result<Result<Named, Option<Note>>, FileError> {
    trace::make_folder(path).of(path, Doing::Lock)?;
    take(path, note, 0o600)
}

/// Tells whether somebody lives who has the right to run a step here, by the notes alone: to try the lock would be to take
/// it from whoever comes meanwhile. What cannot be told counts as yes.
#[must_use]
pub fn is_held(layout: &Layout, home: &RunHome) -> bool {
    let run = layout.run(home);
    names_somebody(&run.step_lock()) || run.trace().is_some_and(|of| names_somebody(&of.lock()))
}

fn names_somebody(path: &Path) -> bool {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => {
            read_note(&file).map_or(true, |(note, _)| note.is_none_or(|note| note.is_alive()))
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

impl Drop for Named {
    /// Removes the file while the lock is held, so that nobody's file but ours is removed. A file that stays behind is
    /// stale and hinders nobody, hence no error.
    fn drop(&mut self) {
        if is_at(&self.file, &self.path).unwrap_or(false) {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// Makes sure that the name leads nowhere else: what is taken over is overwritten.
fn check_no_link(path: &Path) -> Result<(), FileError> {
    check_regular(path, Doing::Lock)?;
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => {
            Err(FileError::Link { path: path.to_owned(), doing: Doing::Lock })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Makes the file, complete and locked before it has its name, so that nobody ever reads an empty note and takes it for
/// a stale one. `None` if a file of that name is there.
fn create(path: &Path, note: &Note, mode: u32) -> io::Result<Option<File>> {
    if path.symlink_metadata().is_ok() {
        return Ok(None);
    }
    let folder = super::file::folder_of(path);
    let mut beside = super::file::beside(folder, mode)?;
    if try_take(beside.as_file())? == Taken::No {
        return Ok(None);
    }
    io::Write::write_all(&mut beside, &note.to_line())?;
    match beside.persist_noclobber(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error.error),
    }
}

/// Takes over a file that is there, if its writer is gone.
fn take_over(path: &Path, note: &Note) -> io::Result<Attempt> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match File::options().read(true).write(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Attempt::Lost),
        Err(error) => return Err(error),
    };
    if try_take(&file)? == Taken::No {
        return Ok(Attempt::HeldBy(read_note(&file)?.0));
    }
    if !is_at(&file, path)? {
        return Ok(Attempt::Lost);
    }
    let (old, old_length) = read_note(&file)?;
    if let Some(old) = old
        && old.is_of_another_live_process()
    {
        return Ok(Attempt::HeldBy(Some(old)));
    }
    if old_length == MAX_BYTES {
        file.set_len(0)?;
    }
    let mut line = note.to_line();
    // Blanks over the rest of an old, longer note: the file is whole JSON at every moment, unlike after a truncation.
    line.resize(line.len().max(old_length % MAX_BYTES), b' ');
    file.write_all_at(&line, 0)?;
    if !is_at(&file, path)? {
        return Ok(Attempt::Lost);
    }
    Ok(Attempt::Got(file))
}

/// Reads the note, if it is one, and the length of what is there, at most [`MAX_BYTES`].
fn read_note(file: &File) -> io::Result<(Option<Note>, usize)> {
    let mut bytes = [0; MAX_BYTES];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((serde_json::from_slice(&bytes[..filled]).ok(), filled))
}

impl Note {
    fn of_this_process(now: Timestamp) -> Self {
        let pid = i64::from(std::process::id());
        Self {
            pid,
            at: now.to_string(),
            boot_id: process::boot_id(),
            start_time: process::start_time(pid),
        }
    }

    fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("numbers and texts are always JSON");
        line.push(b'\n');
        line
    }

    /// Our own note under a lock that we just got is one that we could not remove.
    fn is_of_another_live_process(&self) -> bool {
        self.pid != i64::from(std::process::id()) && self.is_alive()
    }

    fn is_alive(&self) -> bool {
        process::still_runs(&Mark {
            pid: self.pid,
            at: Timestamp::parse(&self.at),
            boot_id: self.boot_id.as_deref(),
            start_time: self.start_time,
        })
    }
}

fn running(home: &RunHome, note: Option<Note>) -> LockError {
    let of = match home {
        RunHome::Batch(batch) => format!("batch '{batch}'"),
        RunHome::Change(change) => format!("change '{change}'"),
    };
    let (pid, at) = note.map_or((None, None), |note| (Some(note.pid), Some(note.at)));
    LockError::Running { of, pid, at }
}

fn shown_pid(pid: Option<i64>) -> String {
    pid.map_or_else(|| "pid unknown".to_owned(), |pid| format!("pid {pid}"))
}

fn shown_time(at: Option<&str>) -> String {
    at.map_or_else(|| "start unknown".to_owned(), |at| format!("since {at}"))
}
