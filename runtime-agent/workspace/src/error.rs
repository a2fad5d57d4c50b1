//! What can go wrong with a workspace, in terms a caller can act on.

use std::io;
use std::path::{Path, PathBuf};

use crate::entry::SnapshotId;
use crate::name::{NameError, TreePath};

/// A workspace that could not be taken, sent, laid out or brought back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// There is no git command.
    #[error("git cannot be started")]
    NoGit {
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Git said no.
    #[error("git {doing} failed: {said}")]
    Git {
        /// The subcommand.
        doing: &'static str,
        /// Its complaint, shortened.
        said: String,
    },
    /// The disk is full, here or under the store.
    #[error("no space is left on the disk for {doing}")]
    Full {
        /// What it was needed for.
        doing: String,
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
    /// A file changed each time it was read.
    #[error("{path} changes while it is read: end what writes to it, or name it in .gitignore")]
    Changing {
        /// The file, relative to the workspace.
        path: TreePath,
    },
    /// A name that could lead out of the workspace, or that git would take for its own.
    #[error("the snapshot is refused: {source}")]
    Name {
        /// Which, and why.
        #[from]
        source: NameError,
    },
    /// A snapshot holds something that no snapshot of ours holds.
    #[error("the snapshot is refused: {why}")]
    Refused {
        /// What.
        why: String,
    },
    /// More bytes than agreed.
    #[error("the snapshot is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The store does not have this snapshot, or not all of it.
    #[error("snapshot {id} is not here")]
    Unknown {
        /// Which.
        id: SnapshotId,
    },
    /// A name for a workspace or for something kept that is not one word of letters, digits, `-`, `_` and `.`.
    #[error(
        "{name:?} cannot name a workspace: letters, digits, `-`, `_` and `.` can, up to 100 of them"
    )]
    Word {
        /// The name.
        name: String,
    },
}

impl WorkspaceError {
    /// Makes an error of what the system said about a path.
    pub(crate) fn disk(path: impl AsRef<Path>, source: impl Into<io::Error>) -> Self {
        let (path, source) = (path.as_ref().to_owned(), source.into());
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { doing: path.display().to_string() }
            }
            _ => Self::Disk { path, source },
        }
    }
}
