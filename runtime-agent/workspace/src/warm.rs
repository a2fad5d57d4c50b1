//! Folders that are kept between sessions, so that what a build left there is of use to the next: taken by name, one session
//! at a time, and removed when they take too much room, the longest unused first and never one in use.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Timespec, Timestamps, UTIME_NOW, flock, futimens, statat,
};
use rustix::io::{Errno, retry_on_intr};

use crate::error::WorkspaceError;
use crate::folder::{Folder, names, remove_all};
use crate::store::{private_file, private_folder, word};

/// Where warm folders are: `<directory>/<name>` and, beside it, `<name>.lock`.
#[derive(Debug, Clone)]
pub struct Warm {
    directory: PathBuf,
}

/// A warm folder in use. It is free again when this is dropped, or the process ends.
#[derive(Debug)]
pub struct Taken {
    root: PathBuf,
    _lock: File,
}

impl Taken {
    /// Returns the folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl Warm {
    /// Opens the directory of warm folders, and makes it.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn open(directory: &Path) -> Result<Self, WorkspaceError> {
        private_folder(directory)?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// Takes the folder of a name, new or as it was left; `None` if it is in use.
    ///
    /// # Errors
    /// If the name is no word or the disk refuses.
    pub fn take(&self, name: &str) -> Result<Option<Taken>, WorkspaceError> {
        let root = self.directory.join(word(name)?);
        let Some(lock) = self.lock(name)? else { return Ok(None) };
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let path = self.directory.join(format!("{name}.lock"));
        futimens(&lock, &Timestamps { last_access: now, last_modification: now })
            .map_err(|error| WorkspaceError::disk(&path, error))?;
        private_folder(&root)?;
        Ok(Some(Taken { root, _lock: lock }))
    }

    /// Removes folders until those that are left take at most `limit` bytes; those in use stay, whatever they take. Gives the
    /// names of the removed.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn evict(&self, limit: u64) -> Result<Vec<String>, WorkspaceError> {
        let disk = |error| WorkspaceError::disk(&self.directory, error);
        let here = Folder::open(&self.directory)?;
        let mut folders = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(disk)? {
            let entry = entry.map_err(disk)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if word(&name).is_err() || !entry.file_type().map_err(disk)?.is_dir() {
                continue;
            }
            let used = fs::metadata(self.directory.join(format!("{name}.lock")))
                .and_then(|meta| meta.modified())
                .ok();
            folders.push((used, size(&here, name.as_bytes())?, name));
        }
        folders.sort();
        let mut all = folders.iter().fold(0_u64, |sum, (_, size, _)| sum.saturating_add(*size));
        let mut removed = Vec::new();
        for (_, size, name) in folders {
            if all <= limit {
                break;
            }
            let Some(_lock) = self.lock(&name)? else { continue };
            let above = here.enter(b"").map_err(|error| here.error(b"", error))?;
            remove_all(&above, name.as_bytes())
                .map_err(|error| here.error(name.as_bytes(), error))?;
            all = all.saturating_sub(size);
            removed.push(name);
        }
        Ok(removed)
    }

    fn lock(&self, name: &str) -> Result<Option<File>, WorkspaceError> {
        let path = self.directory.join(format!("{name}.lock"));
        let file = private_file(&path)?;
        match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(WorkspaceError::disk(&path, error)),
        }
    }
}

/// Adds up what a folder takes on the disk, in bytes. What goes away meanwhile counts for nothing.
fn size(here: &Folder, name: &[u8]) -> Result<u64, WorkspaceError> {
    let mut waiting = vec![name.to_vec()];
    let mut sum = 0_u64;
    while let Some(path) = waiting.pop() {
        let folder = match here.enter(&path) {
            Ok(folder) => folder,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => continue,
            Err(error) => return Err(here.error(&path, error)),
        };
        for name in names(&folder).map_err(|error| here.error(&path, error))? {
            let Ok(stat) = statat(&folder, &*name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            sum =
                sum.saturating_add(u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512));
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                waiting.push([&path[..], b"/", &name].concat());
            }
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(folder: &Path) {
        fs::write(folder.join("cache"), vec![1; 100_000]).unwrap();
    }

    #[test]
    fn a_folder_in_use_is_neither_given_twice_nor_removed() {
        let place = tempfile::tempdir().unwrap();
        let warm = Warm::open(place.path()).unwrap();
        let taken = warm.take("one").unwrap().unwrap();
        fill(taken.root());
        assert!(warm.take("one").unwrap().is_none());
        assert_eq!(warm.evict(0).unwrap(), Vec::<String>::new());
        drop(taken);
        assert!(warm.take("one").unwrap().unwrap().root().join("cache").exists());
        assert_eq!(warm.evict(0).unwrap(), ["one"]);
        assert_eq!(fs::read_dir(warm.take("one").unwrap().unwrap().root()).unwrap().count(), 0);
    }

    #[test]
    fn the_longest_unused_goes_first_and_only_as_many_as_must() {
        let place = tempfile::tempdir().unwrap();
        let warm = Warm::open(place.path()).unwrap();
        for (age, name) in [(300, "b"), (200, "a"), (100, "c")] {
            fill(warm.take(name).unwrap().unwrap().root());
            let file = File::options()
                .write(true)
                .open(place.path().join(format!("{name}.lock")))
                .unwrap();
            let then =
                file.metadata().unwrap().modified().unwrap() - std::time::Duration::from_secs(age);
            file.set_modified(then).unwrap();
        }
        assert_eq!(warm.evict(1 << 40).unwrap(), Vec::<String>::new());
        assert_eq!(warm.evict(250_000).unwrap(), ["b"]);
        assert_eq!(warm.evict(150_000).unwrap(), ["a"]);
    }

    #[test]
    fn what_nobody_may_enter_and_what_is_deep_is_removed_and_links_are_not_followed() {
        use std::os::unix::fs::PermissionsExt as _;
        let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("mine"), "").unwrap();
        let warm = Warm::open(place.path()).unwrap();
        let root = warm.take("one").unwrap().unwrap().root().to_owned();
        let mut deep = root.clone();
        (0..40).for_each(|_| deep.push("d"));
        fs::create_dir_all(&deep).unwrap();
        std::os::unix::fs::symlink(other.path(), deep.join("out")).unwrap();
        fs::create_dir(root.join("shut")).unwrap();
        fs::write(root.join("shut/x"), "").unwrap();
        fs::set_permissions(root.join("shut"), fs::Permissions::from_mode(0o000)).unwrap();
        fill(&root);
        assert_eq!(warm.evict(0).unwrap(), ["one"]);
        assert!(!root.exists() && other.path().join("mine").exists());
    }
}
