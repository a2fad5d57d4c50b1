//! Locks that end with their process: `flock` on an open descriptor, never a number in a file.
//!
//! Descriptors are close-on-exec, so no child keeps a lock alive.

use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::{Errno, retry_on_intr};

/// Whether a lock was got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is ours.
    Yes,
    /// Another descriptor holds it.
    No,
}

/// Waits for the lock. Holders keep it for the time of a few writes.
pub(crate) fn wait(file: &File) -> io::Result<()> {
    take(file, FlockOperation::LockExclusive).map(|_| ())
}

/// Takes the lock if it is free.
pub(crate) fn try_take(file: &File) -> io::Result<Taken> {
    take(file, FlockOperation::NonBlockingLockExclusive)
}

/// Waits for the lock of a folder, and gives it: it ends when the value is dropped. It leaves no file.
pub(crate) fn wait_for_folder(folder: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(folder)?;
    wait(&file)?;
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
