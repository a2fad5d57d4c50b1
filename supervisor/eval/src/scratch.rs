//! Isolated copies of a project, one for each job. An attempt may do to its copy what it likes: the next one begins with
//! the same bytes, and the user's tree is never written to.
//!
//! ```text
//! <root>/<run>.<pid>/     0700, below the user's cache
//!   lock                  held while its owner lives
//!   pristine/             every file as it was, never handed out
//!   job-0/tree/           a copy that attempts work in
//!   job-0/warm/           ignored files as the green baseline left them
//!   job-0/diff/           the two sides of the last diff
//!   spawns/               the shims' folders
//! ```
//!
//! What differs is found by looking at every file's stamp, so that ignored files are known to be as they were, too.

mod copy;
mod diff;
mod manifest;
mod origin;
mod site;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::git::{Git, Repository};
use crate::shim;

pub(crate) use copy::copy_tree;
pub(crate) use diff::first_line;
pub use origin::{Ignored, Origin};
pub use site::JobCopy;

/// The room of one evaluation; it is gone when this is dropped, and swept by the next evaluation if it never is.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    _lock: File,
}

/// Copies that could not be made or kept.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// The disk refused.
    #[error("cannot use {}", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Git did not answer.
    #[error("git did not answer")]
    Git(#[from] crate::git::GitError),
    /// Something wrote into a file that all copies share.
    #[error(
        "{path} is shared by all copies and was written to; use --ignored copy instead of --ignored link"
    )]
    SharedFileWritten {
        /// The file.
        path: String,
    },
}

impl Scratch {
    /// Makes a room below `root` and sweeps those whose owners are gone.
    ///
    /// # Errors
    /// The disk's.
    pub fn new(root: &Path, name: &str) -> Result<Self, ScratchError> {
        DirBuilder::new().recursive(true).mode(0o700).create(root).map_err(disk(root))?;
        sweep(root);
        let name = format!("{name}.{}", std::process::id());
        // It gets its name when it is locked: whoever sweeps meanwhile knows it by its maker.
        let (unlocked, folder) = (root.join(format!(".{name}")), root.join(name));
        DirBuilder::new().mode(0o700).create(&unlocked).map_err(disk(&unlocked))?;
        let path = unlocked.join(LOCK);
        let lock = File::create(&path).map_err(disk(&path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| ScratchError::Disk { path, source: error.into() })?;
        fs::rename(&unlocked, &folder).map_err(disk(&folder))?;
        Ok(Self { folder, _lock: lock })
    }

    /// Returns where the shims' folders go.
    #[must_use]
    pub fn spawns(&self) -> PathBuf {
        self.folder.join(SPAWNS)
    }

    /// Copies the repository as it is now into a pristine place.
    ///
    /// # Errors
    /// The disk's or git's.
    pub fn origin(
        &self,
        git: &Git,
        repository: &Repository,
        ignored: Ignored,
    ) -> Result<Origin, ScratchError> {
        Origin::take(git, repository, ignored, self.room("pristine")?)
    }

    /// Makes the copy of one job.
    ///
    /// # Errors
    /// The disk's.
    pub fn job<'o>(&self, origin: &'o Origin, number: usize) -> Result<JobCopy<'o>, ScratchError> {
        JobCopy::new(origin, self.room(&format!("job-{number}"))?)
    }

    /// Makes room of this name, also if an invariant before had some.
    ///
    /// # Errors
    /// The disk's.
    pub fn room(&self, name: &str) -> Result<PathBuf, ScratchError> {
        let folder = self.folder.join(name);
        copy::remove(&folder).map_err(disk(&folder))?;
        DirBuilder::new().mode(0o700).create(&folder).map_err(disk(&folder))?;
        Ok(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is swept by the next evaluation.
        drop(copy::remove(&self.folder));
    }
}

const LOCK: &str = "lock";
const SPAWNS: &str = "spawns";

/// Removes the rooms of processes that are gone, and ends what still runs for them.
pub fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for folder in entries.flatten().map(|entry| entry.path()) {
        let is_being_made =
            folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_being_made && maker_lives(&folder) {
            continue;
        }
        // Held until the room is gone, so that nobody else sweeps it.
        let owner = File::open(folder.join(LOCK));
        let is_held = |lock: &File| flock(lock, FlockOperation::NonBlockingLockExclusive).is_err();
        if owner.as_ref().is_ok_and(is_held) {
            continue;
        }
        for spawn in shim::spawns_in(&folder.join(SPAWNS)) {
            shim::end(&spawn);
        }
        drop(copy::remove(&folder));
    }
}

/// Whether the process in the name of a room is there. A number that was given out again keeps the room for a while.
fn maker_lives(folder: &Path) -> bool {
    let number = folder.extension().and_then(OsStr::to_str).and_then(|text| text.parse().ok());
    let pid = number.and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

pub(crate) fn disk(path: &Path) -> impl FnOnce(io::Error) -> ScratchError + use<> {
    let path = path.to_owned();
    move |source| ScratchError::Disk { path, source }
}
