//! Where the worker keeps what: every path under its state folder. No other file joins one.
//!
//! ```text
//! <state>/                     0700
//!   lock                       held by the one runtime-agent of this folder
//!   bin/ratchet                a link to the ratchet that commands find
//!   spawns/<id>/               what the shim and we say to each other; see ratchet_spawn
//!   sessions/<id>/
//!     session.json             what was asked, but for what may be secret; from here on the id is taken
//!     files/                   files that the command reads
//!     initial.<n>              what the n-th relayed file held at first
//!     relay                    every entry that was relayed
//!     result.json              what it left, once it is over
//!   released/<id>              an id that was let go, and is never used again
//!   projects/<name>/           the project's snapshots
//!   workspaces/<name>.<n>/     its workspaces, and their locks beside them
//! ```

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use ratchet_spawn::SpawnId;

use crate::name::ProjectName;

/// The state folder.
#[derive(Debug, Clone)]
pub(crate) struct Layout(PathBuf);

/// The folder of one session.
#[derive(Debug, Clone)]
pub(crate) struct SessionFolder(PathBuf);

impl Layout {
    /// Names it; nothing is made.
    pub(crate) fn new(state: PathBuf) -> Self {
        Self(state)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// The folder that stands first on the PATH of commands.
    pub(crate) fn bin(&self) -> PathBuf {
        self.0.join("bin")
    }

    /// What commands call `ratchet`.
    pub(crate) fn ratchet(&self) -> PathBuf {
        self.bin().join("ratchet")
    }

    pub(crate) fn spawns(&self) -> PathBuf {
        self.0.join("spawns")
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }

    pub(crate) fn session(&self, id: &SpawnId) -> SessionFolder {
        SessionFolder(self.sessions().join(id.as_str()))
    }

    pub(crate) fn released(&self) -> PathBuf {
        self.0.join("released")
    }

    pub(crate) fn tombstone(&self, id: &SpawnId) -> PathBuf {
        self.released().join(id.as_str())
    }

    pub(crate) fn projects(&self) -> PathBuf {
        self.0.join("projects")
    }

    pub(crate) fn project(&self, name: &ProjectName) -> PathBuf {
        self.projects().join(name.as_str())
    }

    pub(crate) fn workspaces(&self) -> PathBuf {
        self.0.join("workspaces")
    }

    /// Touched when a project's snapshots were put in order.
    pub(crate) fn tidied(&self, name: &ProjectName) -> PathBuf {
        self.project(name).join("tidied")
    }

    /// Makes the folders that are always there.
    pub(crate) fn make(&self) -> io::Result<()> {
        let all = [self.bin(), self.spawns(), self.sessions(), self.released(), self.projects()];
        make_folder(&self.0)?;
        all.iter().try_for_each(|folder| make_folder(folder))
    }
}

impl SessionFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn record(&self) -> PathBuf {
        self.0.join("session.json")
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.0.join("files")
    }

    pub(crate) fn initial(&self, file: usize) -> PathBuf {
        self.0.join(format!("initial.{file}"))
    }

    pub(crate) fn relay(&self) -> PathBuf {
        self.0.join("relay")
    }

    pub(crate) fn result(&self) -> PathBuf {
        self.0.join("result.json")
    }
}

/// Makes a folder for this user alone; missing ones above it too.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file for this user alone, whole or not at all, and on the disk when this returns.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file =
        File::options().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    fs::rename(&beside, path)?;
    sync_folder(path.parent().unwrap_or(Path::new("/")))
}

/// Has the names in a folder on the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Removes a file or a folder with everything in it; nothing there is as good.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
