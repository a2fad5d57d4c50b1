//! The folder of one spawn: its files and their names. No other file of this crate joins a path below it.
//!
//! ```text
//! <root>/<spawn-id>/   0700, files 0600
//!   request.json   what was asked        by the asker, before the shim
//!   prompt         the standard input    by the asker
//!   lock           held while the shim lives
//!   bell           a FIFO: one byte makes the shim look at `stop`
//!   stop           a request to stop     by anyone
//!   abandoned      the tombstone: no shim may start any more
//!   started.json   from here on it counts as started
//!   agent.json     the same, and who the agent is
//!   spool          the output, in frames
//!   exit.json      how it ended; its presence is the end
//!   shim.log       the shim's own complaints
//! ```

use std::ffi::CStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::id::{SpawnId, SpawnIdError};
use crate::process::boot_id;
use crate::request::{RawText, Request, Stdin, StoredRequest, StoredStdin};

/// The version of the files' format.
pub(crate) const FORMAT: u32 = 1;

const TOMBSTONE: &str = "abandoned";
const SPOOL: &str = "spool";
const EXIT: &str = "exit.json";

/// The folder of one spawn, known to be there when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnDir {
    path: PathBuf,
    id: SpawnId,
}

/// A spawn's folder that could not be made or found.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// A spawn of this id was asked for before.
    #[error("the spawn {id} exists already")]
    Exists {
        /// The id.
        id: SpawnId,
    },
    /// No spawn of this id is known here: it never was, or it was swept away.
    #[error("there is no spawn {id} in {}", root.display())]
    NotFound {
        /// The id.
        id: SpawnId,
        /// Where it was looked for.
        root: PathBuf,
    },
    /// The folder's name is no spawn id.
    #[error("{} is no spawn's folder", path.display())]
    NotASpawn {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: SpawnIdError,
    },
    /// The disk refused.
    #[error("cannot use {}", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl SpawnDir {
    /// Makes the folder of a spawn, complete with its request: it appears in one piece or not at all.
    ///
    /// # Errors
    /// [`DirectoryError::Exists`] if the id was used before; [`DirectoryError::Disk`] if the disk refuses.
    pub fn create(root: &Path, request: &Request) -> Result<Self, DirectoryError> {
        let root = std::path::absolute(root).map_err(disk(root))?;
        DirBuilder::new().recursive(true).mode(0o700).create(&root).map_err(disk(&root))?;
        let path = root.join(request.id.as_str());
        if path.symlink_metadata().is_ok() {
            return Err(DirectoryError::Exists { id: request.id.clone() });
        }
        let unfinished = root.join(format!(".{}.{}", request.id, std::process::id()));
        let written =
            write_request(&unfinished, request).and_then(|()| rename_to_new(&unfinished, &path));
        if let Err(source) = written {
            let _ = fs::remove_dir_all(&unfinished);
            return match source.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                    Err(DirectoryError::Exists { id: request.id.clone() })
                }
                _ => Err(DirectoryError::Disk { path, source }),
            };
        }
        Ok(Self { path, id: request.id.clone() })
    }

    /// Finds the folder of a spawn.
    ///
    /// # Errors
    /// [`DirectoryError::NotFound`] if it is not there.
    pub fn open(root: &Path, id: &SpawnId) -> Result<Self, DirectoryError> {
        let path = std::path::absolute(root).map_err(disk(root))?.join(id.as_str());
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => Ok(Self { path, id: id.clone() }),
            Ok(_) => Err(DirectoryError::NotFound { id: id.clone(), root: root.to_owned() }),
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
                Err(DirectoryError::NotFound { id: id.clone(), root: root.to_owned() })
            }
            Err(source) => Err(DirectoryError::Disk { path, source }),
        }
    }

    /// Finds the folder of a spawn by its whole path, as the shim is given it.
    ///
    /// # Errors
    /// [`DirectoryError::NotASpawn`] if the name is no id; the errors of [`SpawnDir::open`].
    pub fn at(path: &Path) -> Result<Self, DirectoryError> {
        let path = std::path::absolute(path).map_err(disk(path))?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let id = SpawnId::parse(name)
            .map_err(|source| DirectoryError::NotASpawn { path: path.clone(), source })?;
        Self::open(path.parent().unwrap_or(Path::new("/")), &id)
    }

    /// Gives the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the id.
    #[must_use]
    pub fn id(&self) -> &SpawnId {
        &self.id
    }

    /// Gives the shim's own complaints.
    #[must_use]
    pub fn shim_log(&self) -> PathBuf {
        self.path.join("shim.log")
    }

    /// Tells whether a file of this name, when it comes, changes what a watcher has to tell: output, or an end.
    pub(crate) fn is_telling(name: &CStr) -> bool {
        [SPOOL, EXIT, TOMBSTONE].iter().any(|telling| telling.as_bytes() == name.to_bytes())
    }

    pub(crate) fn request_file(&self) -> PathBuf {
        self.path.join("request.json")
    }

    pub(crate) fn prompt_file(&self) -> PathBuf {
        self.path.join("prompt")
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }

    pub(crate) fn bell_file(&self) -> PathBuf {
        self.path.join("bell")
    }

    pub(crate) fn stop_file(&self) -> PathBuf {
        self.path.join("stop")
    }

    pub(crate) fn tombstone_file(&self) -> PathBuf {
        self.path.join(TOMBSTONE)
    }

    pub(crate) fn started_file(&self) -> PathBuf {
        self.path.join("started.json")
    }

    pub(crate) fn agent_file(&self) -> PathBuf {
        self.path.join("agent.json")
    }

    pub(crate) fn spool_file(&self) -> PathBuf {
        self.path.join(SPOOL)
    }

    pub(crate) fn exit_file(&self) -> PathBuf {
        self.path.join(EXIT)
    }
}

/// Reads one of the folder's JSON files; `None` if it is not there.
///
/// # Errors
/// The disk's, and `InvalidData` for a file that is not what it should be.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|broken| io::Error::new(io::ErrorKind::InvalidData, broken)),
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(other) => Err(other),
    }
}

/// Writes a file beside its place and moves it there, so that no reader ever sees half of it.
/// It is not synced: it says nothing that must outlive the machine's crash.
///
/// Where the time matters the place should be free: to replace a file makes some filesystems write it out at once.
pub(crate) fn replace_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let bytes = to_json(value)?;
    let beside = beside(path);
    write_new(&beside, &bytes)?;
    fs::rename(&beside, path)
}

pub(crate) fn to_json(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(value).map_err(io::Error::other)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Names the file in which `path` is prepared; two processes prepare it in two files.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    path.with_file_name(name)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    private().write(true).create(true).truncate(true).open(path)?.write_all(bytes)
}

/// Options for a file that only its owner may use.
pub(crate) fn private() -> OpenOptions {
    let mut options = File::options();
    options.mode(0o600);
    options
}

/// Moves a folder to a place that must be free.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    rustix::fs::renameat_with(CWD, from, CWD, to, rustix::fs::RenameFlags::NOREPLACE)
        .or_else(|error| match error {
            // Some filesystems lack the flag; renaming onto a spawn's folder fails there too, as it is not empty.
            rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS => rustix::fs::rename(from, to),
            other => Err(other),
        })
        .map_err(io::Error::from)
}

fn write_request(folder: &Path, request: &Request) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    let dir = SpawnDir { path: folder.to_owned(), id: request.id.clone() };
    let stdin = match &request.stdin {
        Stdin::Prompt(bytes) => {
            write_new(&dir.prompt_file(), bytes)?;
            StoredStdin::Prompt
        }
        Stdin::Null => StoredStdin::Null,
    };
    write_new(&dir.lock_file(), b"")?;
    mknodat(CWD, dir.bell_file(), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let stored = StoredRequest {
        format: FORMAT,
        id: request.id.clone(),
        argv: request.argv.iter().map(|word| RawText::from(word.as_os_str())).collect(),
        cwd: request.cwd.as_os_str().into(),
        stdin,
        limits: request.limits,
        boot_id: boot_id()?,
    };
    write_new(&dir.request_file(), &to_json(&stored)?)
}

fn disk(path: &Path) -> impl FnOnce(io::Error) -> DirectoryError + use<> {
    let path = path.to_owned();
    move |source| DirectoryError::Disk { path, source }
}
