//! A folder that is only entered without following links: whatever somebody puts in the place of a folder in it, nothing
//! outside of it is opened, made or removed.
//!
//! The kernel resolves a path in one call where it can (`openat2`); else each name is opened by itself.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::error::WorkspaceError;
use crate::name::TEMPORARY;

const ENTER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Whether this kernel has `openat2`, as far as is known.
static RESOLVES: AtomicBool = AtomicBool::new(true);

/// Numbers unfinished files of this process.
static UNFINISHED: AtomicU64 = AtomicU64::new(0);

/// The folder of a workspace, open.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens it. The path itself is the caller's own and may go through links.
    pub(crate) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = openat(CWD, path, flags, Mode::empty())
            .map_err(|error| WorkspaceError::disk(path, error))?;
        Ok(Self { fd, path: path.to_owned() })
    }

    /// Names a path in it, for an error.
    pub(crate) fn show(&self, path: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(path))
    }

    /// Makes an error of what the system said about a path in it.
    pub(crate) fn error(&self, path: &[u8], error: Errno) -> WorkspaceError {
        WorkspaceError::disk(self.show(path), error)
    }

    /// Opens a folder in it; empty for itself.
    pub(crate) fn enter(&self, folder: &[u8]) -> Result<OwnedFd, Errno> {
        if folder.is_empty() {
            return openat(&self.fd, c".", ENTER, Mode::empty());
        }
        if RESOLVES.load(Ordering::Relaxed) {
            let how =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match openat2(&self.fd, folder, ENTER, Mode::empty(), how) {
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
                    RESOLVES.store(false, Ordering::Relaxed)
                }
                Err(Errno::AGAIN | Errno::INTR | Errno::NAMETOOLONG) => {}
                other => return other,
            }
        }
        self.step_by_step(folder, |_, _| Ok(()))
    }

    /// Opens a folder in it, and makes what is missing on the way.
    pub(crate) fn enter_made(&self, folder: &[u8]) -> Result<OwnedFd, Errno> {
        match self.enter(folder) {
            Err(Errno::NOENT) => self.step_by_step(folder, |above, name| {
                match mkdirat(above, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => Ok(()),
                    Err(error) => Err(error),
                }
            }),
            other => other,
        }
    }

    fn step_by_step(
        &self,
        folder: &[u8],
        before: impl Fn(&OwnedFd, &[u8]) -> Result<(), Errno>,
    ) -> Result<OwnedFd, Errno> {
        let mut here = openat(&self.fd, c".", ENTER, Mode::empty())?;
        for name in folder.split(|byte| *byte == b'/') {
            if matches!(name, b"" | b"." | b"..") {
                return Err(Errno::XDEV);
            }
            before(&here, name)?;
            here = openat(&here, name, ENTER, Mode::empty())?;
        }
        Ok(here)
    }

    /// Has the file system put everything on its disk.
    pub(crate) fn sync(&self) -> Result<(), WorkspaceError> {
        rustix::fs::syncfs(&self.fd).map_err(|error| self.error(b"", error))
    }
}

/// Names an unfinished file that is not there yet.
pub(crate) fn unfinished_name() -> Vec<u8> {
    let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
    let own = format!("{}-{number}", std::process::id());
    [TEMPORARY, own.as_bytes()].concat()
}

/// Removes whatever has this name in a folder, with everything in it; nothing there is as good. Links are removed, not
/// followed; a folder that its owner may not enter is opened up first.
pub(crate) fn remove_all(folder: impl AsFd, name: &[u8]) -> Result<(), Errno> {
    match unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error),
    }
    // One open folder per level at most; deeper ones are moved up, so that no tree is too deep to be removed.
    loop {
        match clear_level(&folder, name)? {
            Cleared::Empty => return unlinkat(&folder, name, AtFlags::REMOVEDIR),
            Cleared::Again => {}
        }
    }
}

enum Cleared {
    Empty,
    Again,
}

/// Removes what is no folder at this level and moves folders of the next up into it, so that it ends without recursion.
fn clear_level(folder: impl AsFd, name: &[u8]) -> Result<Cleared, Errno> {
    let here = enter_opened(&folder, name)?;
    let mut folders = Vec::new();
    for found in names(&here)? {
        match unlinkat(&here, &*found, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR | Errno::PERM) => folders.push(found),
            Err(error) => return Err(error),
        }
    }
    if folders.is_empty() {
        return Ok(Cleared::Empty);
    }
    for found in folders {
        let inner = enter_opened(&here, &found)?;
        for deeper in names(&inner)? {
            match unlinkat(&inner, &*deeper, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ISDIR | Errno::PERM) => {
                    rustix::fs::renameat(&inner, &*deeper, &here, unfinished_name())?;
                }
                Err(error) => return Err(error),
            }
        }
        unlinkat(&here, &*found, AtFlags::REMOVEDIR)?;
    }
    Ok(Cleared::Again)
}

fn enter_opened(folder: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let opened = openat(&folder, name, ENTER, Mode::empty());
    let rights = Mode::from_raw_mode(0o700);
    match opened {
        Ok(fd) => {
            let writable = fstat(&fd).is_ok_and(|stat| stat.st_mode & 0o700 == 0o700);
            if !writable {
                // If it may not be changed, the removal itself says so.
                let _ = rustix::fs::fchmod(&fd, rights);
            }
            Ok(fd)
        }
        Err(Errno::ACCESS) => {
            // A link in its place would be followed by chmod, so it is asked first; between the two nobody else is expected
            // here, and the rights of one's own file are the worst that could change.
            let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                return Err(Errno::NOTDIR);
            }
            rustix::fs::chmodat(&folder, name, rights, AtFlags::empty())?;
            openat(&folder, name, ENTER, Mode::empty())
        }
        Err(error) => Err(error),
    }
}

/// Names what is in a folder.
pub(crate) fn names(folder: impl AsFd) -> Result<Vec<Box<[u8]>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.into());
        }
    }
    Ok(names)
}
