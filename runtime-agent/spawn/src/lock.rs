//! The liveness of a shim: a lock that the kernel takes back when the shim ends, however it ends.
//!
//! It is a record lock (`fcntl`), for two reasons a `flock` cannot offer. It can be asked about without being taken,
//! so a look never makes a shim that is just starting believe that it is the second one. And the kernel gives it back
//! *before* it tells watchers that the file was closed, so whoever is woken by that sees the truth.
//!
//! **Invariant:** a process that holds the lock opens the lock file once and never closes it: closing any descriptor
//! of the file gives a record lock back.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::directory::private;

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    _file: File,
}

/// Takes the lock; `None` if someone else has it.
pub(crate) fn take(path: &Path) -> io::Result<Option<Held>> {
    let file = private().read(true).write(true).open(path)?;
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Held { _file: file })),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Asks whether another process has the lock, without taking it. The file may be unlinked already.
pub(crate) fn is_held(file: &File) -> io::Result<bool> {
    let question = Flock::from(FlockType::WriteLock);
    Ok(fcntl_getlk(file, &question)?.is_some())
}
