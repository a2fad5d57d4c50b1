//! What is known of a workspace from the last time: which bytes each file holds, and by which stamp that is still so. It can
//! be thrown away at any time; a damaged one is.
//!
//! ```text
//! "ratchet workspace 1\n"  snapshot: 20 bytes   tree of the files: 20 bytes   rules: length, bytes
//! entries: count, each: kind, object: 20, size, modified, changed, inode, path: length, bytes      little-endian
//! ```

use std::fs;
use std::path::Path;

use crate::entry::{Entry, Oid, SnapshotId};
use crate::error::WorkspaceError;
use crate::name::TreePath;
use crate::stamp::Stamp;
use crate::store::replace;

const MAGIC: &[u8] = b"ratchet workspace 1\n";

/// A workspace as it was.
#[derive(Debug)]
pub(crate) struct Cache {
    /// What it was taken as.
    pub(crate) snapshot: SnapshotId,
    /// The tree of its files in the store.
    pub(crate) files: Oid,
    /// The rules it was taken by, as they are stored.
    pub(crate) rules: Vec<u8>,
    /// Everything in it, in the order of the paths.
    pub(crate) entries: Vec<Known>,
}

/// What a path held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) path: TreePath,
    pub(crate) entry: Entry,
    /// The stamp by which it still does; `None` if it cannot be relied on.
    pub(crate) stamp: Option<Stamp>,
}

impl Cache {
    /// Reads it; `None` if there is none, or none that can be read.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        let mut reader = Reader(bytes.strip_prefix(MAGIC)?);
        let (snapshot, files) = (SnapshotId::new(reader.oid()?), reader.oid()?);
        let rules = reader.text()?.to_vec();
        let count = usize::try_from(reader.number()?).ok()?;
        let mut entries = Vec::with_capacity(count.min(bytes.len() / 64));
        for _ in 0..count {
            entries.push(reader.known()?);
        }
        Some(Self { snapshot, files, rules, entries })
    }

    /// Writes it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), WorkspaceError> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(self.snapshot.oid().bytes());
        bytes.extend_from_slice(self.files.bytes());
        text(&mut bytes, &self.rules);
        number(&mut bytes, self.entries.len() as u64);
        self.entries.iter().for_each(|known| known.write(&mut bytes));
        replace(path, &bytes)
    }
}

impl Known {
    fn write(&self, bytes: &mut Vec<u8>) {
        let none = Oid::from_bytes([0; 20]);
        let (kind, oid) = match self.entry {
            Entry::File(oid) => (0, oid),
            Entry::Program(oid) => (1, oid),
            Entry::Link(oid) => (2, oid),
            Entry::Pin(oid) => (3, oid),
            Entry::EmptyFolder => (4, none),
        };
        bytes.push(if self.stamp.is_some() { kind | 0x80 } else { kind });
        bytes.extend_from_slice(oid.bytes());
        if let Some(Stamp { size, modified, changed, inode }) = self.stamp {
            number(bytes, size);
            number(bytes, modified.cast_unsigned());
            number(bytes, changed.cast_unsigned());
            number(bytes, inode);
        }
        text(bytes, self.path.as_bytes());
    }
}

fn number(bytes: &mut Vec<u8>, value: u64) {
    bytes.extend_from_slice(&value.to_le_bytes());
}

fn text(bytes: &mut Vec<u8>, value: &[u8]) {
    number(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn oid(&mut self) -> Option<Oid> {
        Some(Oid::from_bytes(self.take(20)?.try_into().ok()?))
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    fn known(&mut self) -> Option<Known> {
        let [kind] = *self.take(1)? else { return None };
        let oid = self.oid()?;
        let entry = match kind & 0x7f {
            0 => Entry::File(oid),
            1 => Entry::Program(oid),
            2 => Entry::Link(oid),
            3 => Entry::Pin(oid),
            4 => Entry::EmptyFolder,
            _ => return None,
        };
        let stamp = if kind & 0x80 == 0 {
            None
        } else {
            let size = self.number()?;
            let (modified, changed) = (self.number()?.cast_signed(), self.number()?.cast_signed());
            Some(Stamp { size, modified, changed, inode: self.number()? })
        };
        Some(Known { path: TreePath::new(self.text()?).ok()?, entry, stamp })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_read_as_it_was_written_and_a_damaged_one_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.cache");
        let oid = Oid::from_bytes([7; 20]);
        let stamp = Stamp { size: 3, modified: -1, changed: 5, inode: 9 };
        let known =
            |path: &[u8], entry, stamp| Known { path: TreePath::new(path).unwrap(), entry, stamp };
        let entries = vec![
            known(b"a\xff", Entry::File(oid), Some(stamp)),
            known(b"b/c", Entry::EmptyFolder, None),
        ];
        let cache =
            Cache { snapshot: SnapshotId::new(oid), files: oid, rules: b"{}".to_vec(), entries };
        cache.write(&path).unwrap();
        let read = Cache::read(&path).unwrap();
        assert_eq!(
            (read.snapshot, read.files, read.rules, read.entries),
            (cache.snapshot, oid, cache.rules, cache.entries)
        );
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            assert!(Cache::read(&path).is_none(), "cut at {end}");
        }
    }
}
