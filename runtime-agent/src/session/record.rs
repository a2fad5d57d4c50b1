//! What is on disk of a session: what it is, before anything runs, and what it left, once it is over. Neither holds what may be
//! secret: no argument, no variable, no prompt.

use std::fs;
use std::io;
use std::path::Path;

use ratchet_spawn::SpawnId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::layout::{SessionFolder, put};
use crate::name::{InnerPath, Label, ProjectName};

/// The version of the files' format.
const FORMAT: u32 = 1;

/// What a session is (`session.json`). It names the spawn, which is thereby needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    format: u32,
    pub(crate) id: SpawnId,
    pub(crate) project: ProjectName,
    /// What was laid out.
    pub(crate) snapshot: String,
    /// Of the request.
    pub(crate) digest: String,
    /// The name of the workspace.
    pub(crate) workspace: String,
    pub(crate) relays: Vec<InnerPath>,
    pub(crate) labels: Vec<Label>,
    /// When it was asked for, in milliseconds since 1970.
    pub(crate) asked_at_ms: u64,
}

/// What a session left (`result.json`). How its command ended is in the spawn's own record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Conclusion {
    format: u32,
    pub(crate) left: Left,
    /// The sequence number of the last entry.
    pub(crate) entries: u64,
    /// What could not be done as asked.
    pub(crate) notes: Vec<String>,
}

/// What became of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum Left {
    /// It was taken.
    Snapshot {
        /// Its name.
        id: String,
    },
    /// It could not be taken.
    Gone {
        /// The page in `docs/errors/`.
        code: String,
        /// Why.
        message: String,
    },
    /// The command never started, so there is nothing.
    Nothing,
}

impl Record {
    pub(crate) fn new(
        session: &super::Session,
        snapshot: String,
        workspace: String,
        relays: Vec<InnerPath>,
    ) -> Self {
        Self {
            format: FORMAT,
            id: session.id.clone(),
            project: session.project.clone(),
            snapshot,
            digest: session.digest.clone(),
            workspace,
            relays,
            labels: session.labels.clone(),
            asked_at_ms: session.asked_at_ms,
        }
    }

    /// Reads it; `None` if the session was never taken on.
    pub(crate) fn read(folder: &SessionFolder) -> io::Result<Option<Self>> {
        read(&folder.record())
    }

    pub(crate) fn write(&self, folder: &SessionFolder) -> io::Result<()> {
        write(&folder.record(), self)
    }
}

impl Conclusion {
    pub(crate) fn new(left: Left, entries: u64, notes: Vec<String>) -> Self {
        Self { format: FORMAT, left, entries, notes }
    }

    /// Reads it; `None` if the session is not over.
    pub(crate) fn read(folder: &SessionFolder) -> io::Result<Option<Self>> {
        read(&folder.result())
    }

    pub(crate) fn write(&self, folder: &SessionFolder) -> io::Result<()> {
        write(&folder.result(), self)
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::other),
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(value).map_err(io::Error::other)?;
    bytes.push(b'\n');
    put(path, &bytes)
}
