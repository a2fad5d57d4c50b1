//! What could not be sent, kept in a folder until the collector is back: one file a request, the oldest first.
//!
//! Bounded in bytes; what is oldest goes first when it is full, and is counted. Files are this user's alone. Nothing is
//! synced: telemetry may be lost with the machine, never a step with telemetry. One process holds the folder.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::Parcel;
use crate::config::Signal;

/// The file whose lock says that somebody uses the folder.
const LOCK: &str = "lock";

/// A queue of requests on disk.
#[derive(Debug)]
pub(crate) struct DiskQueue {
    folder: PathBuf,
    _lock: File,
    entries: VecDeque<Entry>,
    bytes: u64,
    most_bytes: u64,
    next: u64,
}

/// One file. Its name says everything but its content: number, signal, pieces.
#[derive(Debug)]
struct Entry {
    number: u64,
    signal: Signal,
    pieces: u64,
    bytes: u64,
}

impl DiskQueue {
    /// Opens the queue in a folder, which is made if it is not there; `None` if another process uses it.
    ///
    /// # Errors
    /// Fails if the folder cannot be made or read.
    pub(crate) fn open(folder: &Path, most_bytes: u64) -> io::Result<Option<Self>> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut own = OpenOptions::new();
        let lock =
            own.write(true).create(true).truncate(false).mode(0o600).open(folder.join(LOCK))?;
        if lock.try_lock().is_err() {
            return Ok(None);
        }
        let mut entries = Vec::new();
        for found in folder.read_dir()? {
            let found = found?;
            let name = found.file_name();
            match name.to_str().and_then(Entry::of) {
                Some(entry) => entries.push(Entry { bytes: found.metadata()?.len(), ..entry }),
                // Cut off while it was written: it was never in the queue.
                None if name.to_str().is_some_and(|name| name.ends_with(".part")) => {
                    std::fs::remove_file(found.path())?;
                }
                None => {}
            }
        }
        entries.sort_by_key(|entry| entry.number);
        let next = entries.last().map_or(0, |entry| entry.number + 1);
        let bytes = entries.iter().map(|entry| entry.bytes).sum();
        let folder = folder.to_owned();
        Ok(Some(Self { folder, _lock: lock, entries: entries.into(), bytes, most_bytes, next }))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Puts a request at the end. Returns what had to go for it, by signal.
    pub(super) fn push(&mut self, parcel: &Parcel) -> io::Result<Vec<(Signal, u64)>> {
        let bytes = parcel.bytes.len() as u64;
        let mut lost = Vec::new();
        if bytes > self.most_bytes {
            return Ok(vec![(parcel.signal, parcel.pieces)]);
        }
        while self.bytes + bytes > self.most_bytes {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.remove(&oldest);
            lost.push((oldest.signal, oldest.pieces));
        }
        let (signal, pieces) = (parcel.signal, parcel.pieces);
        let entry = Entry { number: self.next, signal, pieces, bytes };
        let part = self.folder.join(format!("{}.part", entry.number));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)
            .and_then(|mut file| file.write_all(&parcel.bytes))
            .and_then(|()| std::fs::rename(&part, self.path(&entry)));
        if let Err(error) = written {
            // On a full disk half a file is worse than none.
            drop(std::fs::remove_file(&part));
            return Err(error);
        }
        self.next += 1;
        self.bytes += bytes;
        self.entries.push_back(entry);
        Ok(lost)
    }

    /// Reads the oldest request, which stays. One that cannot be read is passed over.
    pub(super) fn oldest(&mut self) -> Option<Parcel> {
        while let Some(entry) = self.entries.front() {
            let mut bytes = Vec::new();
            let read =
                File::open(self.path(entry)).and_then(|mut file| file.read_to_end(&mut bytes));
            if read.is_ok() {
                let (signal, pieces) = (entry.signal, entry.pieces);
                return Some(Parcel { signal, pieces, bytes: bytes.into() });
            }
            self.pop();
        }
        None
    }

    /// Removes the oldest request.
    pub(super) fn pop(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.remove(&entry);
        }
    }

    fn remove(&mut self, entry: &Entry) {
        self.bytes = self.bytes.saturating_sub(entry.bytes);
        if let Err(error) = std::fs::remove_file(self.path(entry)) {
            tracing::debug!(%error, "kept telemetry cannot be removed");
        }
    }

    fn path(&self, entry: &Entry) -> PathBuf {
        let Entry { number, signal, pieces, .. } = entry;
        self.folder.join(format!("{number:020}.{}.{pieces}.otlp", signal.as_str()))
    }
}

impl Entry {
    fn of(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".otlp")?.split('.');
        let number = parts.next()?.parse().ok()?;
        let word = parts.next()?;
        let signal = Signal::ALL.into_iter().find(|signal| signal.as_str() == word)?;
        let pieces = parts.next()?.parse().ok()?;
        Some(Self { number, signal, pieces, bytes: 0 })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn parcel(text: &str) -> Parcel {
        Parcel { signal: Signal::Traces, pieces: 2, bytes: text.as_bytes().to_vec().into() }
    }

    fn open(folder: &Path, most: u64) -> DiskQueue {
        DiskQueue::open(folder, most).unwrap().expect("nobody else uses it")
    }

    fn emptied(mut queue: DiskQueue) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(parcel) = queue.oldest() {
            all.push(String::from_utf8(parcel.bytes.to_vec()).unwrap());
            queue.pop();
        }
        all
    }

    #[test]
    fn requests_come_back_in_order_also_to_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("queue");
        let mut queue = open(&folder, 1000);
        for text in ["one", "two", "three"] {
            assert_eq!(queue.push(&parcel(text)).unwrap(), []);
        }
        drop(queue);
        std::fs::write(folder.join("9.part"), "cut off").unwrap();
        let mut queue = open(&folder, 1000);
        assert!(!folder.join("9.part").exists());
        queue.push(&parcel("four")).unwrap();
        assert_eq!(emptied(queue), ["one", "two", "three", "four"]);
        assert!(open(&folder, 1000).is_empty());
    }

    #[test]
    fn a_full_queue_loses_its_oldest_and_says_how_much() {
        let folder = tempfile::tempdir().unwrap();
        let mut queue = open(folder.path(), 10);
        queue.push(&parcel("aaaa")).unwrap();
        queue.push(&parcel("bbbb")).unwrap();
        assert_eq!(queue.push(&parcel("cccc")).unwrap(), [(Signal::Traces, 2)]);
        assert_eq!(queue.push(&parcel("far too long")).unwrap(), [(Signal::Traces, 2)]);
        assert_eq!(emptied(queue), ["bbbb", "cccc"]);
    }

    #[test]
    fn the_folder_and_its_files_are_this_users_alone_and_one_processes() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("queue");
        let mut queue = open(&folder, 100);
        queue.push(&parcel("x")).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        for file in folder.read_dir().unwrap() {
            assert_eq!(mode(&file.unwrap().path()), 0o600);
        }
        assert!(DiskQueue::open(&folder, 100).unwrap().is_none());
    }
}
