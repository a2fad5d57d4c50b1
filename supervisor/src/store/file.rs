//! What can go wrong with a file, told so that a person knows what to do; and the one way to replace a whole file.
//!
//! What the files mean is the business of the readers and writers beside this one.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What was being done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Reading it.
    Read,
    /// Writing, replacing or syncing it.
    Write,
    /// Taking its lock.
    Lock,
    /// Making the folder.
    MakeFolder,
    /// Moving it.
    Move,
    /// Removing it.
    Remove,
}

/// A file that could not be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// A folder (or a file) stands where a file (or a folder) is expected.
    #[error("cannot {doing} {}: something of another kind is in its place", path.display())]
    WrongKind {
        /// The file.
        path: PathBuf,
        /// What failed.
        doing: Doing,
    },
    /// The permissions do not allow it.
    #[error("cannot {doing} {}: permission denied", path.display())]
    Denied {
        /// The file.
        path: PathBuf,
        /// What failed.
        doing: Doing,
    },
    /// The file system is mounted read-only.
    #[error("cannot {doing} {}: the file system is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// What failed.
        doing: Doing,
    },
    /// The disk, the quota or the allowed file size is used up.
    #[error("cannot {doing} {}: the disk is full", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What failed.
        doing: Doing,
    },
    /// Anything else that the operating system says.
    #[error("cannot {doing} {}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What failed.
        doing: Doing,
        /// What it says.
        source: io::Error,
    },
}

impl FileError {
    /// Sorts an error of the operating system by what can be done about it.
    #[must_use]
    pub fn new(path: &Path, doing: Doing, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => {
                Self::WrongKind { path, doing }
            }
            io::ErrorKind::PermissionDenied => Self::Denied { path, doing },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path, doing },
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { path, doing },
            _ => Self::Other { path, doing, source },
        }
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::WrongKind { path, .. }
            | Self::Denied { path, .. }
            | Self::ReadOnly { path, .. }
            | Self::Full { path, .. }
            | Self::Other { path, .. } => path,
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(&self) -> String {
        let path = self.path().display();
        match self {
            Self::WrongKind { .. } => {
                format!("look with 'ls -ld {path}' and move away what is there")
            }
            Self::Denied { .. } => format!("look at its owner and mode with 'ls -ld {path}'"),
            Self::ReadOnly { .. } => {
                "mount the file system writable, or work in a copy of the project".to_owned()
            }
            Self::Full { .. } => {
                format!("look with 'df -h {path}', free some space, then run the command again")
            }
            Self::Other { .. } => format!("look at it with 'ls -ld {path}'"),
        }
    }
}

impl std::fmt::Display for Doing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Lock => "lock",
            Self::MakeFolder => "make",
            Self::Move => "move",
            Self::Remove => "remove",
        })
    }
}

/// Turns an error of the operating system into a [`FileError`].
pub(crate) trait Of<T> {
    /// Names the file and what was being done to it.
    fn of(self, path: &Path, doing: Doing) -> Result<T, FileError>;
}

impl<T> Of<T> for io::Result<T> {
    fn of(self, path: &Path, doing: Doing) -> Result<T, FileError> {
        self.map_err(|error| FileError::new(path, doing, error))
    }
}

/// Reads a whole small file; `None` if there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::new(path, Doing::Read, error)),
    }
}

/// Replaces a whole file, or makes it: written beside, synced, renamed. Whoever reads it sees the old bytes or the new.
///
/// A link is followed, so that a configuration that is kept elsewhere stays a link. The mode of an existing file is kept.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = fs::metadata(&target).map_or(0o666, |meta| meta.permissions().mode() & 0o7777);
    let write = || -> io::Result<()> {
        let mut beside = tempfile::Builder::new()
            .prefix(".ratchet-")
            .suffix(".tmp")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder_of(&target))?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        beside.persist(&target)?;
        Ok(())
    };
    write().of(path, Doing::Write)?;
    sync_folder(folder_of(&target))
}

/// Makes a rename, a new file or a removal in a folder last through a power cut.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), FileError> {
    File::open(folder).and_then(|file| file.sync_all()).of(folder, Doing::Write)
}

/// Returns the folder that holds a path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}
