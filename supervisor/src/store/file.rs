//! What can go wrong with a file, told so that a person knows what to do; and the one way to replace a whole file.
//!
//! What the files mean is the business of the readers and writers beside this one.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use rustix::io::Errno;
use tempfile::NamedTempFile;
use thiserror::Error;

use super::os_lock::Holder;

const BESIDE_PREFIX: &str = ".ratchet-";
const BESIDE_SUFFIX: &str = ".tmp";

/// A temporary file is written in a moment; one that is older is what a killed process has left.
const LEFTOVER_AFTER: Duration = Duration::from_secs(3600);

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
    /// A link stands there that leads nowhere.
    #[error("cannot {doing} {}: it is a link to something that is not there", path.display())]
    LeadsNowhere {
        /// The link.
        path: PathBuf,
        /// What failed.
        doing: Doing,
    },
    /// A link stands where none may stand: whoever wrote through it would write to a file of its choice.
    #[error("cannot {doing} {}: it is a link", path.display())]
    Link {
        /// The link.
        path: PathBuf,
        /// What failed.
        doing: Doing,
    },
    /// The file is far larger than one of its kind can be.
    #[error("cannot read {}: it is larger than {} MiB", path.display(), limit.mebibytes())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What it may have.
        limit: Limit,
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
    /// Somebody else has held its lock for longer than anybody should.
    #[error("cannot lock {}: it has been held by {by} for {seconds} s", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// Who holds it.
        by: Holder,
        /// How long it was waited for.
        seconds: u64,
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
        if source.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
            return Self::Link { path, doing };
        }
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
            | Self::LeadsNowhere { path, .. }
            | Self::Link { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Denied { path, .. }
            | Self::ReadOnly { path, .. }
            | Self::Full { path, .. }
            | Self::Locked { path, .. }
            | Self::Other { path, .. } => path,
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(&self) -> String {
        let path = self.path().display();
        let there = nearest_there(self.path()).display();
        match self {
            Self::WrongKind { .. } => {
                format!("look with 'ls -ld {there}' and move away what is there")
            }
            Self::LeadsNowhere { .. } => {
                format!("remove the link, or put back what it leads to: 'ls -ld {path}'")
            }
            Self::Link { .. } => {
                format!(
                    "look where it leads with 'ls -l {path}', then remove the link: 'rm {path}'"
                )
            }
            Self::TooLarge { .. } => {
                format!(
                    "look at it with 'ls -l {path}' and move it away, or put back an earlier version"
                )
            }
            Self::Denied { doing: Doing::Read, .. } => {
                format!("look at its owner and mode with 'ls -ld {there}'")
            }
            // A file is written beside and renamed, so the folder's mode counts as well.
            Self::Denied { .. } if there_is(self.path()) => {
                let folder = folder_of(self.path()).display();
                format!("look at the owners and modes with 'ls -ld {folder} {path}'")
            }
            Self::Denied { .. } => {
                format!("look at the owner and mode of its folder with 'ls -ld {there}'")
            }
            Self::ReadOnly { .. } => {
                "mount the file system writable, or work in a copy of the project".to_owned()
            }
            Self::Full { .. } => {
                format!("look with 'df -h {there}', free some space, then run the command again")
            }
            Self::Locked { by, .. } => match by.pid() {
                Some(pid) => format!(
                    "look what it does with 'ps -fp {pid}', end it if it hangs, then run the command again"
                ),
                None => {
                    format!("look who uses it with 'fuser -v {path}', then run the command again")
                }
            },
            Self::Other { .. } => format!("look at it with 'ls -ld {there}'"),
        }
    }
}

/// Finds what a person can look at: the path itself, or the nearest folder above it that is there.
fn nearest_there(path: &Path) -> &Path {
    path.ancestors().find(|path| there_is(path)).unwrap_or(path)
}

fn there_is(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
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

/// Opens a file for reading. Anything but a regular file is refused at once; a pipe would be an endless wait.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("the flag is a small number");
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::IsADirectory.into()) }
}

/// Makes sure that a path is a regular file, perhaps by a link, or nothing at all.
pub(crate) fn check_regular(path: &Path, doing: Doing) -> Result<(), FileError> {
    match path.metadata() {
        Ok(meta) if meta.is_file() => Ok(()),
        Ok(_) => Err(FileError::WrongKind { path: path.to_owned(), doing }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !there_is(path) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(FileError::LeadsNowhere { path: path.to_owned(), doing })
        }
        Err(error) => Err(FileError::new(path, doing, error)),
    }
}

/// The most bytes that are read of a file that is read whole. What an agent writes may be of any size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(u64);

impl Limit {
    /// `inflight.json`, which holds one step.
    pub(crate) const INTENT: Self = Self(1 << 20);
    /// A manifest or a configuration, as the reader of YAML takes them.
    pub(crate) const CONFIG: Self = Self(4 << 20);
    /// A plan, a feature, a list of them.
    pub(crate) const TEXT: Self = Self(16 << 20);
    /// `state.json`, which holds all that waits for a person.
    pub(crate) const STATE: Self = Self(64 << 20);

    fn mebibytes(self) -> u64 {
        self.0 >> 20
    }
}

/// Reads a whole file that has to be there.
pub(crate) fn read_there(path: &Path, limit: Limit) -> Result<Vec<u8>, FileError> {
    let missing = || FileError::new(path, Doing::Read, io::ErrorKind::NotFound.into());
    read_if_there(path, limit)?.ok_or_else(missing)
}

/// Reads a whole small file; `None` if there is none.
///
/// # Errors
/// [`FileError::TooLarge`] if it is larger than `limit`; no more than that is ever in memory.
pub(crate) fn read_if_there(path: &Path, limit: Limit) -> Result<Option<Vec<u8>>, FileError> {
    let mut bytes = Vec::new();
    match open(path).and_then(|file| file.take(limit.0 + 1).read_to_end(&mut bytes)) {
        Ok(_) if bytes.len() as u64 > limit.0 => {
            Err(FileError::TooLarge { path: path.to_owned(), limit })
        }
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::new(path, Doing::Read, error)),
    }
}

/// Whether a file that may be there already was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// It was made.
    Now,
    /// It was there, and is as it was.
    Before,
}

/// Makes a file that is whole from its first moment, unless one of that name is there.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<Created, FileError> {
    let folder = folder_of(path);
    let write = || -> io::Result<Created> {
        let mut beside = beside(folder, 0o666)?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        match beside.persist_noclobber(path) {
            Ok(_) => Ok(Created::Now),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(Created::Before),
            Err(error) => Err(error.error),
        }
    };
    let created = write().of(path, Doing::Write)?;
    sync_folder(folder)?;
    Ok(created)
}

/// As [`create`], for a file that can be made again at any time: nothing waits until it is on the disk.
pub(crate) fn create_lightly(path: &Path, bytes: &[u8]) -> Result<Created, FileError> {
    let write = || -> io::Result<Created> {
        let mut beside = beside(folder_of(path), 0o666)?;
        beside.write_all(bytes)?;
        match beside.persist_noclobber(path) {
            Ok(_) => Ok(Created::Now),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(Created::Before),
            Err(error) => Err(error.error),
        }
    };
    write().of(path, Doing::Write)
}

/// Replaces or makes a file that only this user may read; see [`replace`].
pub(crate) fn replace_private(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace_with(path, bytes, 0o600)
}

/// Replaces a whole file, or makes it: written beside, synced, renamed. Whoever reads it sees the old bytes or the new.
///
/// A link is followed, so that a configuration that is kept elsewhere stays a link. The mode of an existing file is kept.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = fs::metadata(&target).map_or(0o666, |meta| meta.permissions().mode() & 0o7777);
    replace_with(&target, bytes, mode)
}

fn replace_with(target: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let write = || -> io::Result<()> {
        let mut beside = beside(folder_of(target), mode)?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        beside.persist(target)?;
        Ok(())
    };
    write().of(target, Doing::Write)?;
    sync_folder(folder_of(target))
}

/// Makes a temporary file; it removes itself unless it gets a name. The process's umask is taken off the mode.
///
/// What a killed process has left of this kind is removed on the way.
pub(crate) fn beside(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let mode = Permissions::from_mode(mode);
    let file = tempfile::Builder::new()
        .prefix(BESIDE_PREFIX)
        .suffix(BESIDE_SUFFIX)
        .permissions(mode)
        .tempfile_in(folder)?;
    // They are in nobody's way; the next writer tries again.
    drop(file.as_file().metadata().and_then(|ours| remove_leftovers(folder, ours.modified()?)));
    Ok(file)
}

/// Removes temporary files that are so old that nobody is writing to them. `now` is by the clock of the file system.
fn remove_leftovers(folder: &Path, now: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if !name.starts_with(BESIDE_PREFIX.as_bytes()) || !name.ends_with(BESIDE_SUFFIX.as_bytes())
        {
            continue;
        }
        let found = entry.metadata()?;
        let age = now.duration_since(found.modified()?).unwrap_or_default();
        if found.is_file() && age > LEFTOVER_AFTER {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_only_what_can_be_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().display();
        let denied = |path: &str, doing| {
            let error = io::Error::from(io::ErrorKind::PermissionDenied);
            FileError::new(&dir.path().join(path), doing, error).help()
        };
        let nothing = denied("shop/run", Doing::MakeFolder);
        assert!(nothing.ends_with(&format!("'ls -ld {folder}'")), "{nothing}");
        fs::write(dir.path().join("state.json"), "").unwrap();
        let written = denied("state.json", Doing::Write);
        assert!(written.ends_with(&format!("'ls -ld {folder} {folder}/state.json'")), "{written}");
        let read = denied("state.json", Doing::Read);
        assert!(read.ends_with(&format!("'ls -ld {folder}/state.json'")), "{read}");
    }

    #[test]
    fn a_file_of_any_size_takes_no_more_memory_than_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("batch.yaml");
        let file = File::create(&path).unwrap();
        let read = || read_if_there(&path, Limit::CONFIG);
        file.set_len(4 << 20).unwrap();
        assert_eq!(read().unwrap().unwrap().len(), 4 << 20);
        for length in [(4 << 20) + 1, 1 << 40] {
            file.set_len(length).unwrap();
            let error = read().unwrap_err();
            assert!(error.to_string().ends_with("batch.yaml: it is larger than 4 MiB"), "{error}");
        }
    }

    #[test]
    fn what_killed_writers_have_left_is_removed_by_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let hours_ago = |name: &str, hours: u64| {
            let file = File::create(path(name)).unwrap();
            let now = file.metadata().unwrap().modified().unwrap();
            file.set_modified(now - Duration::from_secs(hours * 3600)).unwrap();
        };
        hours_ago(".ratchet-old.tmp", 2);
        hours_ago(".ratchet-young.tmp", 0);
        hours_ago("notes.tmp", 2);
        hours_ago(".ratchet-notes", 2);
        replace(&path("state.json"), b"{}").unwrap();
        let mut left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".ratchet-notes", ".ratchet-young.tmp", "notes.tmp", "state.json"]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_not_taken_for_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        check_regular(&path, Doing::Write).unwrap();
        std::os::unix::fs::symlink(dir.path().join("gone/b"), &path).unwrap();
        let error = check_regular(&path, Doing::Write).unwrap_err();
        assert!(matches!(error, FileError::LeadsNowhere { .. }), "{error}");
        assert!(check_regular(dir.path(), Doing::Write).is_err());
    }
}
