//! What is about to be done to a folder, on the disk before anything is, and what came of it.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::entry::SnapshotId;
use crate::error::WorkspaceError;
use crate::name::TreePath;
use crate::store::{refused, replace};
use crate::workspace::Workspace;

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// Towards the result.
    Forward,
    /// All is in.
    Done,
    /// Back to what was, because of these.
    Back { conflicts: Vec<TreePath> },
    /// All is as it was, because of these.
    Undone { conflicts: Vec<TreePath> },
}

/// What is done to the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intent {
    pub(super) base: SnapshotId,
    pub(super) result: SnapshotId,
    /// What the folder was when it began.
    pub(super) now: SnapshotId,
    /// How many paths the result changes.
    pub(super) paths: usize,
    pub(super) phase: Phase,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    base: String,
    result: String,
    now: String,
    paths: usize,
    phase: StoredPhase,
    /// As bytes: a name need not be text.
    conflicts: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StoredPhase {
    Forward,
    Done,
    Back,
    Undone,
}

impl Intent {
    /// Reads the last one of a workspace.
    pub(super) fn read(workspace: &Workspace) -> Result<Option<Self>, WorkspaceError> {
        let path = workspace.store().file(workspace.name(), "intent");
        match fs::read(&path) {
            Ok(bytes) => {
                let damaged = || refused(format!("{} cannot be read", path.display()));
                serde_json::from_slice(&bytes)
                    .ok()
                    .and_then(Stored::restore)
                    .map(Some)
                    .ok_or_else(damaged)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WorkspaceError::disk(&path, error)),
        }
    }

    /// Puts it on the disk, synced.
    pub(super) fn write(&self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let (phase, conflicts) = match &self.phase {
            Phase::Forward => (StoredPhase::Forward, &[][..]),
            Phase::Done => (StoredPhase::Done, &[][..]),
            Phase::Back { conflicts } => (StoredPhase::Back, &conflicts[..]),
            Phase::Undone { conflicts } => (StoredPhase::Undone, &conflicts[..]),
        };
        let stored = Stored {
            base: self.base.to_string(),
            result: self.result.to_string(),
            now: self.now.to_string(),
            paths: self.paths,
            phase,
            conflicts: conflicts.iter().map(|path| path.as_bytes().to_vec()).collect(),
        };
        let bytes = serde_json::to_vec(&stored).map_err(|error| refused(error.to_string()))?;
        replace(&workspace.store().file(workspace.name(), "intent"), &bytes)
    }

    /// Says what came of it; `None` if it is under way.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match &self.phase {
            Phase::Done => Some(Outcome::Applied { paths: self.paths }),
            Phase::Undone { conflicts } => Some(Outcome::Conflict { paths: conflicts.clone() }),
            Phase::Forward | Phase::Back { .. } => None,
        }
    }
}

impl Stored {
    fn restore(self) -> Option<Intent> {
        let conflicts: Option<Vec<_>> =
            self.conflicts.into_iter().map(|path| TreePath::new(path).ok()).collect();
        let conflicts = conflicts?;
        let phase = match self.phase {
            StoredPhase::Forward => Phase::Forward,
            StoredPhase::Done => Phase::Done,
            StoredPhase::Back => Phase::Back { conflicts },
            StoredPhase::Undone => Phase::Undone { conflicts },
        };
        let id = |text: &str| text.parse().ok();
        Some(Intent {
            base: id(&self.base)?,
            result: id(&self.result)?,
            now: id(&self.now)?,
            paths: self.paths,
            phase,
        })
    }
}
