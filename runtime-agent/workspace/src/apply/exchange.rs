//! One path goes from what it was to what it shall be, unless it is neither: what is displaced is looked at after it was,
//! so that nobody's edit is lost between a look and a write.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, mkdirat, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::blobs::Blobs;
use crate::changes::Change;
use crate::content::Spot;
use crate::error::WorkspaceError;
use crate::folder::{Folder, names, remove_all, unfinished_name};
use crate::name::TEMPORARY;

use super::{fault, leaf};

/// What came of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// It is as it shall be.
    Moved,
    /// It is somebody else's, and untouched.
    Foreign,
}

/// A path on its way.
pub(super) struct Step<'a> {
    pub(super) folder: &'a Folder,
    pub(super) change: &'a Change,
}

impl Step<'_> {
    /// Removes a file or a link that was there; folders go by themselves when they are empty.
    pub(super) fn remove(&self, blobs: &mut Blobs) -> Result<Done, WorkspaceError> {
        let Some(above) = self.above()? else { return Ok(Done::Moved) };
        let spot = Spot { folder: self.folder, above, path: &self.change.path };
        let Some(old) = leaf(self.change.old) else {
            if self.change.new.is_none() {
                self.remove_folder(&spot)?;
            }
            return Ok(Done::Moved);
        };
        if spot.holds(spot.name(), None, blobs)? || self.is_folder(&spot) {
            return Ok(Done::Moved);
        }
        if !spot.holds(spot.name(), Some(old), blobs)? {
            return Ok(Done::Foreign);
        }
        let aside = unfinished_name();
        renameat(&spot.above, spot.name(), &spot.above, &aside[..])
            .map_err(|error| spot.error(error))?;
        if !spot.holds(&aside, Some(old), blobs)? {
            spot.rename_new(&aside, spot.name()).map_err(|error| spot.error(error))?;
            return Ok(Done::Foreign);
        }
        fault()?;
        remove_all(&spot.above, &aside).map_err(|error| spot.error(error))?;
        Ok(Done::Moved)
    }

    /// Puts a file or a link there.
    pub(super) fn put(&self, blobs: &mut Blobs) -> Result<Done, WorkspaceError> {
        let Some(new) = leaf(self.change.new) else { return Ok(Done::Moved) };
        let (above, _) = self.change.path.split();
        let above = match self.folder.enter_made(above) {
            Ok(above) => above,
            Err(Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(Done::Foreign),
            Err(error) => return Err(self.folder.error(self.change.path.as_bytes(), error)),
        };
        let spot = Spot { folder: self.folder, above, path: &self.change.path };
        if spot.holds(spot.name(), Some(new), blobs)? {
            return Ok(Done::Moved);
        }
        if self.is_folder(&spot) {
            self.remove_folder(&spot)?;
        }
        let old = leaf(self.change.old);
        let is_new = spot.holds(spot.name(), None, blobs)?;
        if !is_new && (old.is_none() || !spot.holds(spot.name(), old, blobs)?) {
            return Ok(Done::Foreign);
        }
        let beside = spot.build(new, blobs)?;
        fault()?;
        let moved = match (is_new, old) {
            // A removal of ours that was undone, or a removal of somebody else's: it is not there, which nobody loses.
            (true, None) => spot.rename_new(&beside, spot.name()),
            (true, Some(_)) => Err(Errno::EXIST),
            (false, _) => spot.exchange(&beside),
        };
        let done = match moved {
            Ok(()) if is_new || spot.holds(&beside, old, blobs)? => Done::Moved,
            Ok(()) => {
                spot.exchange(&beside).map_err(|error| spot.error(error))?;
                Done::Foreign
            }
            Err(Errno::EXIST | Errno::NOENT) => Done::Foreign,
            // A file system that cannot exchange: the look before is the last one.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
                if spot.holds(spot.name(), old, blobs)? =>
            {
                spot.put(&beside)?;
                return Ok(Done::Moved);
            }
            Err(error) => return Err(spot.error(error)),
        };
        fault()?;
        remove_all(&spot.above, &beside).map_err(|error| spot.error(error))?;
        Ok(done)
    }

    /// Makes a folder where one shall be and nothing is.
    pub(super) fn make_folder(&self) -> Result<(), WorkspaceError> {
        let (above, name) = self.change.path.split();
        let made =
            self.folder.enter_made(above).and_then(|above| mkdirat(&above, name, 0o777.into()));
        match made {
            Ok(()) | Err(Errno::EXIST | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(()),
            Err(error) => Err(self.folder.error(self.change.path.as_bytes(), error)),
        }
    }

    /// Removes unfinished files beside the path that hold what it was or shall be, or the beginning of it.
    pub(super) fn sweep(&self, blobs: &mut Blobs) -> Result<(), WorkspaceError> {
        let Some(above) = self.above()? else { return Ok(()) };
        let spot = Spot { folder: self.folder, above, path: &self.change.path };
        for name in names(&spot.above).map_err(|error| spot.error(error))? {
            if !name.starts_with(TEMPORARY) {
                continue;
            }
            for entry in [self.change.old, self.change.new].into_iter().filter_map(leaf) {
                if spot.holds_beginning(&name, entry, blobs)? {
                    remove_all(&spot.above, &name).map_err(|error| spot.error(error))?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Opens the folder of the path, if it is there.
    fn above(&self) -> Result<Option<OwnedFd>, WorkspaceError> {
        let (above, _) = self.change.path.split();
        match self.folder.enter(above) {
            Ok(above) => Ok(Some(above)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(None),
            Err(error) => Err(self.folder.error(self.change.path.as_bytes(), error)),
        }
    }

    fn is_folder(&self, spot: &Spot<'_>) -> bool {
        let stat = statat(&spot.above, spot.name(), AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    /// Removes a folder if nothing is in it.
    fn remove_folder(&self, spot: &Spot<'_>) -> Result<(), WorkspaceError> {
        match unlinkat(&spot.above, spot.name(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(error) => Err(spot.error(error)),
        }
    }
}
