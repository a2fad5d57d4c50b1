//! The folder of one spawn: its files and their names. No other file of this crate joins a path below it.
//!
//! ```text
//! <root>/<spawn-id>/   0700, files 0600
//!   request.json   what was asked        by the asker, before the shim
//!   prompt         the standard input    by the asker
//!   environment    a FIFO, only for a shim whose starter can give it no environment
//!   lock           held while the shim lives; from the start of the agent on there is a word in it
//!   bell           a FIFO: one byte makes the shim look at `stop`
//!   stop           a request to stop     by anyone
//!   abandoned      the tombstone: no shim may start any more
//!   started.json   from here on it counts as started
//!   agent.json     the same, and who the agent is
//!   spool          the output, in frames
//!   exit.json      how it ended; believed only when nobody holds the lock
//!   shim.log       the shim's own complaints
//!   given-up.json  why a mirror ends without a record
//! ```
//!
//! An agent can put anything in the place of any of them: a link, a pipe, a folder, a terabyte of nothing.

use std::ffi::CStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::id::{SpawnId, SpawnIdError};
use crate::process::boot_id;
use crate::request::{RawText, Request, Stdin, StoredRequest, StoredStdin};

/// The version of the files' format.
pub(crate) const FORMAT: u32 = 1;

/// A request holds the agent's arguments, of which the kernel takes 6 MiB; JSON may need six bytes for one.
const LARGEST_JSON: u64 = 64 * 1024 * 1024;

/// How much is read of the end of `shim.log`.
const LONGEST_COMPLAINT: u64 = 4 * 1024;

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

    /// Gives the last thing the shim complained about, to be shown to a person: one line, at most 4 KiB, without control
    /// characters. `None` if there is nothing to be read.
    #[must_use]
    pub fn last_complaint(&self) -> Option<String> {
        let mut log = open_plain(private().read(true), &self.shim_log()).ok()?;
        let length = log.metadata().ok()?.len();
        log.seek(SeekFrom::Start(length.saturating_sub(LONGEST_COMPLAINT))).ok()?;
        let mut end = Vec::new();
        log.take(LONGEST_COMPLAINT).read_to_end(&mut end).ok()?;
        let text = String::from_utf8_lossy(&end);
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(last.replace(char::is_control, "\u{fffd}"))
    }

    /// Says why a mirror gave the spawn up, in one text for a person; `None` if none did.
    #[must_use]
    pub fn given_up(&self) -> Option<String> {
        read_json(&self.given_up_file()).ok().flatten()
    }

    pub(crate) fn given_up_file(&self) -> PathBuf {
        self.path.join("given-up.json")
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

    pub(crate) fn environment_file(&self) -> PathBuf {
        self.path.join("environment")
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
    let file = match open_plain(private().read(true), path) {
        Ok(file) => file,
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(other) => return Err(other),
    };
    let mut bytes = Vec::new();
    // What is longer is cut, and then it is no JSON any more.
    file.take(LARGEST_JSON).read_to_end(&mut bytes)?;
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|broken| io::Error::new(io::ErrorKind::InvalidData, broken))
}

/// Opens a file in whose place there may be anything by now.
///
/// # Errors
/// The disk's, and `InvalidData` for whatever is no plain file.
pub(crate) fn open_plain(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let something_else = || io::Error::new(io::ErrorKind::InvalidData, "it is no plain file");
    // A link is refused by LOOP, a folder that is to be written to by ISDIR, a socket by NXIO.
    let refused = [Errno::LOOP, Errno::ISDIR, Errno::NXIO].map(|errno| Some(errno.raw_os_error()));
    match options.open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(something_else()),
        Err(error) if refused.contains(&error.raw_os_error()) => Err(something_else()),
        Err(other) => Err(other),
    }
}

/// Tells whether there is anything of this name, be it a link that leads nowhere.
pub(crate) fn is_there(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(false),
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

/// Options for a file that only its owner may use. No link is followed, and nobody at the other end of a pipe waited for.
pub(crate) fn private() -> OpenOptions {
    let mut options = File::options();
    options.mode(0o600).custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
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
        needed_by: match &request.needed_by {
            Some(file) => Some(std::path::absolute(file)?.as_os_str().into()),
            None => None,
        },
        boot_id: boot_id()?,
    };
    write_new(&dir.request_file(), &to_json(&stored)?)
}

fn disk(path: &Path) -> impl FnOnce(io::Error) -> DirectoryError + use<> {
    let path = path.to_owned();
    move |source| DirectoryError::Disk { path, source }
}
