//! Locks that end with their process: `flock` on an open descriptor, never a number in a file.
//!
//! Descriptors are close-on-exec, so no child keeps a lock alive.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::{Errno, retry_on_intr};

use super::file::{Doing, FileError, Of as _};

/// Whether a lock was got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is ours.
    Yes,
    /// Another descriptor holds it.
    No,
}

/// How long a lock is waited for before a person is told.
const SILENCE: Duration = Duration::from_secs(2);

/// How long a lock is waited for. Holders keep it for the time of a few writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whoever has a lock, as far as the kernel tells: `process 12 (ratchet)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder(Option<(i32, String)>);

/// Hears what a person should know of a wait.
type Teller = fn(&str);

static TELLER: OnceLock<Teller> = OnceLock::new();

/// Has waits that take long told. To be called once, by whoever talks to a person.
pub fn tell_waits(teller: fn(&str)) {
    let _first_come = TELLER.set(teller);
}

/// Waits for the lock of the file at a path, for half a minute at most.
pub(crate) fn wait(file: &File, path: &Path) -> Result<(), FileError> {
    wait_within(file, path, SILENCE, PATIENCE)
}

fn wait_within(
    file: &File,
    path: &Path,
    silence: Duration,
    patience: Duration,
) -> Result<(), FileError> {
    let of = |error| FileError::new(path, Doing::Lock, error);
    if try_take(file).map_err(of)? == Taken::Yes {
        return Ok(());
    }
    // The lock belongs to the open file, so a thread can wait for it on behalf of this one. When nobody listens any more it
    // lets go of what it gets.
    let (got, waited) = std::sync::mpsc::sync_channel(1);
    let theirs = file.try_clone().map_err(of)?;
    std::thread::Builder::new()
        .name("lock-wait".to_owned())
        .stack_size(128 * 1024)
        .spawn(move || {
            let taken = take(&theirs, FlockOperation::LockExclusive).map(drop);
            if got.send(taken).is_err() {
                // Closing it does the same; nothing can be done if neither works.
                let _ = flock(&theirs, FlockOperation::Unlock);
            }
        })
        .map_err(of)?;
    let waited = waited.recv_timeout(silence).or_else(|_| {
        if let Some(tell) = TELLER.get() {
            tell(&format!("waiting for the lock of {}, held by {}", path.display(), holder(file)));
        }
        waited.recv_timeout(patience.saturating_sub(silence))
    });
    match waited {
        Ok(taken) => taken.map_err(of),
        Err(_) => Err(FileError::Locked {
            path: path.to_owned(),
            by: holder(file),
            seconds: patience.as_secs(),
        }),
    }
}

/// Asks the kernel who holds the lock of a file.
pub(crate) fn holder(file: &File) -> Holder {
    let Ok(inode) = file.metadata().map(|meta| meta.ino().to_string()) else { return Holder(None) };
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    // `12: FLOCK  ADVISORY  WRITE 345 08:02:678 0 EOF`; whoever waits has an arrow before the kind.
    let pid = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "FLOCK", _, _, pid, place, ..] = words.as_slice() else { return None };
        let same = place.rsplit(':').next() == Some(inode.as_str());
        same.then(|| pid.parse().ok()).flatten().filter(|pid| *pid > 0)
    });
    Holder(pid.map(|pid: i32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        (pid, name.trim_end().escape_debug().to_string())
    }))
}

impl Holder {
    /// Says whether it is known.
    pub(crate) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// Returns its number, if it is known.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.0.as_ref().map(|(pid, _)| *pid)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some((pid, name)) => write!(f, "process {pid} ({name})"),
            None => f.write_str("a process that cannot be told"),
        }
    }
}

/// Takes the lock if it is free.
pub(crate) fn try_take(file: &File) -> io::Result<Taken> {
    take(file, FlockOperation::NonBlockingLockExclusive)
}

/// Waits for the lock of a folder, and gives it: it ends when the value is dropped. It leaves no file.
pub(crate) fn wait_for_folder(folder: &Path) -> Result<File, FileError> {
    let flags = OFlags::DIRECTORY.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(folder);
    let file = file.of(folder, Doing::Lock)?;
    wait(&file, folder)?;
    Ok(file)
}

/// Tells whether a path still names this open file; a lock on a file that was moved or removed orders nothing.
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A file system that knows no locks gives every lock: there the original tool's note in `step.lock` decides alone.
fn take(file: &File, operation: FlockOperation) -> io::Result<Taken> {
    match retry_on_intr(|| flock(file, operation)) {
        Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Taken::Yes),
        // NFS locks only what is open for writing, which a folder cannot be.
        Err(Errno::BADF) => Ok(Taken::Yes),
        Err(Errno::WOULDBLOCK) => Ok(Taken::No),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_is_waited_for_and_in_the_end_named_with_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.lock");
        let open = || File::options().create(true).append(true).open(&path).unwrap();
        let held = open();
        assert_eq!(try_take(&held).unwrap(), Taken::Yes);
        let waiting = open();
        let wait = |ms| wait_within(&waiting, &path, Duration::ZERO, Duration::from_millis(ms));
        let refused = wait(20).unwrap_err();
        let me = format!("held by process {} (", std::process::id());
        assert!(refused.to_string().contains(&me), "{refused}");
        assert!(refused.help().contains("run the command again"), "{}", refused.help());
        std::thread::scope(|scope| {
            scope.spawn(|| drop(held));
            wait(60_000).unwrap();
        });
    }

    #[test]
    fn whoever_gave_up_waiting_keeps_nobody_out_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.lock");
        let open = || File::options().create(true).append(true).open(&path).unwrap();
        let held = open();
        assert_eq!(try_take(&held).unwrap(), Taken::Yes);
        let gave_up = wait_within(&open(), &path, Duration::ZERO, Duration::from_millis(5));
        assert!(gave_up.is_err());
        drop(held);
        wait_within(&open(), &path, Duration::ZERO, Duration::from_secs(60)).unwrap();
    }
}
