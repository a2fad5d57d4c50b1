//! What is at one place on the disk, beside what a snapshot says: compare, build beside, put in place.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, mkdirat, openat, readlinkat, renameat,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::blobs::Blobs;
use crate::entry::{Entry, Oid};
use crate::error::WorkspaceError;
use crate::folder::{Folder, names, remove_all, unfinished_name};
use crate::name::TreePath;
use crate::survey::{Shape, shape};

/// One name in an open folder of a workspace.
#[derive(Debug)]
pub(crate) struct Spot<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) above: OwnedFd,
    pub(crate) path: &'a TreePath,
}

impl Spot<'_> {
    pub(crate) fn name(&self) -> &[u8] {
        self.path.split().1
    }

    pub(crate) fn error(&self, error: Errno) -> WorkspaceError {
        self.folder.error(self.path.as_bytes(), error)
    }

    /// Tells whether a name in the spot's folder holds exactly this. `None` is that nothing is there.
    pub(crate) fn holds(
        &self,
        name: &[u8],
        entry: Option<Entry>,
        blobs: &mut Blobs,
    ) -> Result<bool, WorkspaceError> {
        let stat = match statat(&self.above, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(entry.is_none()),
            Err(error) => return Err(self.error(error)),
        };
        let Some(entry) = entry else { return Ok(false) };
        let file_type = FileType::from_raw_mode(stat.st_mode);
        match (entry, shape(file_type, stat.st_mode)) {
            (Entry::Pin(_), None) => Ok(file_type == FileType::Directory),
            (Entry::EmptyFolder, None) if file_type == FileType::Directory => self.is_empty(name),
            (Entry::File(oid), Some(Shape::File)) | (Entry::Program(oid), Some(Shape::Program)) => {
                self.same_bytes(name, oid, blobs)
            }
            (Entry::Link(oid), Some(Shape::Link)) => {
                let target =
                    readlinkat(&self.above, name, Vec::new()).map_err(|error| self.error(error))?;
                Ok(blobs.target(oid)? == target.as_bytes())
            }
            _ => Ok(false),
        }
    }

    fn is_empty(&self, name: &[u8]) -> Result<bool, WorkspaceError> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inside = openat(&self.above, name, flags, Mode::empty()).and_then(names);
        inside.map(|names| names.is_empty()).map_err(|error| self.error(error))
    }

    fn same_bytes(&self, name: &[u8], oid: Oid, blobs: &mut Blobs) -> Result<bool, WorkspaceError> {
        Ok(self.compare(name, oid, blobs)? == Bytes::Same)
    }

    /// Tells whether a name holds this, or the beginning of it.
    pub(crate) fn holds_beginning(
        &self,
        name: &[u8],
        entry: Entry,
        blobs: &mut Blobs,
    ) -> Result<bool, WorkspaceError> {
        if self.holds(name, Some(entry), blobs)? {
            return Ok(true);
        }
        let stat = statat(&self.above, name, AtFlags::SYMLINK_NOFOLLOW);
        let is_file =
            stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
        match entry {
            Entry::File(oid) | Entry::Program(oid) if is_file => {
                Ok(self.compare(name, oid, blobs)? != Bytes::Other)
            }
            _ => Ok(false),
        }
    }

    fn compare(&self, name: &[u8], oid: Oid, blobs: &mut Blobs) -> Result<Bytes, WorkspaceError> {
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = match openat(&self.above, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            // What may not be read cannot be told to be ours.
            Err(Errno::NOENT | Errno::LOOP | Errno::ACCESS) => return Ok(Bytes::Other),
            Err(error) => return Err(self.error(error)),
        };
        let disk = |error| WorkspaceError::disk(self.folder.show(self.path.as_bytes()), error);
        let mut file = File::from(fd);
        let mut buffer = Vec::new();
        let mut bytes = Bytes::Same;
        let read = blobs.read(oid, |piece| {
            if bytes == Bytes::Same {
                buffer.clear();
                let length = (&mut file).take(piece.len() as u64).read_to_end(&mut buffer)?;
                bytes = match piece.strip_prefix(&buffer[..length]) {
                    Some([]) => Bytes::Same,
                    Some(_) => Bytes::Beginning,
                    None => Bytes::Other,
                };
            }
            Ok(())
        })?;
        read.map_err(disk)?;
        let more = file.read(&mut [0]).map_err(disk)? > 0;
        Ok(if more { Bytes::Other } else { bytes })
    }

    /// Builds a file or a link beside, under a name of its own, and gives that.
    pub(crate) fn build(&self, entry: Entry, blobs: &mut Blobs) -> Result<Vec<u8>, WorkspaceError> {
        let beside = unfinished_name();
        let built = match entry {
            Entry::File(oid) => self.write(&beside, oid, 0o666, blobs),
            Entry::Program(oid) => self.write(&beside, oid, 0o777, blobs),
            Entry::Link(oid) => {
                let target = blobs.target(oid)?;
                symlinkat(&target[..], &self.above, &beside[..]).map_err(|error| self.error(error))
            }
            Entry::Pin(_) | Entry::EmptyFolder => {
                mkdirat(&self.above, &beside[..], Mode::from_raw_mode(0o777))
                    .map_err(|error| self.error(error))
            }
        };
        match built {
            Ok(()) => Ok(beside),
            Err(error) => {
                // The first error is the one to tell.
                let _ = remove_all(&self.above, &beside);
                Err(error)
            }
        }
    }

    fn write(
        &self,
        name: &[u8],
        oid: Oid,
        mode: u32,
        blobs: &mut Blobs,
    ) -> Result<(), WorkspaceError> {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.above, name, flags, Mode::from_raw_mode(mode))
            .map_err(|error| self.error(error))?;
        let mut file = File::from(fd);
        let written = blobs.read(oid, |piece| file.write_all(piece))?;
        written.map_err(|error| WorkspaceError::disk(self.folder.show(self.path.as_bytes()), error))
    }

    /// Puts what was built in the place of whatever is there, a folder with all its content too.
    pub(crate) fn put(&self, beside: &[u8]) -> Result<(), WorkspaceError> {
        match renameat(&self.above, beside, &self.above, self.name()) {
            Err(Errno::ISDIR | Errno::NOTDIR | Errno::NOTEMPTY | Errno::EXIST) => {
                self.remove()?;
                renameat(&self.above, beside, &self.above, self.name())
                    .map_err(|error| self.error(error))
            }
            other => other.map_err(|error| self.error(error)),
        }
    }

    /// Removes whatever is there.
    pub(crate) fn remove(&self) -> Result<(), WorkspaceError> {
        remove_all(&self.above, self.name()).map_err(|error| self.error(error))
    }

    /// Lets two names change places.
    pub(crate) fn exchange(&self, one: &[u8]) -> Result<(), Errno> {
        renameat_with(&self.above, one, &self.above, self.name(), RenameFlags::EXCHANGE)
    }

    /// Gives a name to what has another, if nobody else has it.
    pub(crate) fn rename_new(&self, from: &[u8], to: &[u8]) -> Result<(), Errno> {
        match renameat_with(&self.above, from, &self.above, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                match statat(&self.above, to, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(_) => Err(Errno::EXIST),
                    Err(Errno::NOENT) => renameat(&self.above, from, &self.above, to),
                    Err(error) => Err(error),
                }
            }
            other => other,
        }
    }
}

/// How the bytes of a file are to those of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bytes {
    Same,
    /// The file ends before the object does.
    Beginning,
    Other,
}

/// Removes a folder of a workspace and those above it, as far as nothing is in them and `stays` does not name them.
pub(crate) fn remove_empty(
    folder: &Folder,
    first: &[u8],
    stays: impl Fn(&[u8]) -> bool,
) -> Result<(), WorkspaceError> {
    let mut path = first;
    while !path.is_empty() && !stays(path) {
        let cut = path.iter().rposition(|byte| *byte == b'/');
        let (above, name) = cut.map_or((&[][..], path), |at| (&path[..at], &path[at + 1..]));
        let opened = match folder.enter(above) {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(folder.error(above, error)),
        };
        match unlinkat(&opened, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => path = above,
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => return Ok(()),
            Err(error) => return Err(folder.error(path, error)),
        }
    }
    Ok(())
}
