//! The liveness of a shim: a lock that the kernel takes back when the shim ends, however it ends.
//!
//! It is a record lock (`fcntl`), for two reasons a `flock` cannot offer. It can be asked about without being taken,
//! so a look never makes a shim that is just starting believe that it is the second one. And the kernel gives it back
//! *before* it tells watchers that the file was closed, so whoever is woken by that sees the truth.
//!
//! **Invariant:** a process that holds the lock opens the lock file once and never closes it: closing any descriptor
//! of the file gives a record lock back.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::directory::{open_plain, private};

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    file: File,
}

impl Held {
    /// Leaves a word in the file: the second sign, beside `started.json`, that there was a start.
    pub(crate) fn note_start(&self) -> io::Result<()> {
        (&self.file).write_all(b"started\n")
    }
}

/// Takes the lock; `None` if someone else has it.
///
/// # Errors
/// `NotFound` or `InvalidData` if the file is not there or no file; the disk's.
pub(crate) fn take(path: &Path) -> io::Result<Option<Held>> {
    let file = open_plain(private().read(true).write(true), path)?;
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Held { file })),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Opens the file to ask about the lock; `None` if it is not there or no file.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    match open_plain(private().read(true), path) {
        Ok(file) => Ok(Some(file)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::InvalidData => Ok(None),
            _ => Err(error),
        },
    }
}

/// Asks whether another process has the lock, without taking it. The file may be unlinked already.
pub(crate) fn is_held(file: &File) -> io::Result<bool> {
    // The lock of one who waits is shared, and must not be taken for that of a shim.
    let question = Flock::from(FlockType::ReadLock);
    Ok(fcntl_getlk(file, &question)?.is_some())
}

/// Waits until no other process has the lock.
pub(crate) fn wait(file: &File) -> io::Result<()> {
    // A lock that nobody has is left alone: a shim may be about to take it.
    while is_held(file)? {
        match fcntl_lock(file, FlockOperation::LockShared) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(other) => return Err(other.into()),
        }
    }
    Ok(())
}
