//! What leads from one snapshot to another.

use std::collections::BTreeSet;

use crate::entry::{Entry, Listing, SnapshotId};
use crate::error::WorkspaceError;
use crate::name::TreePath;
use crate::store::Store;

/// A path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where.
    pub path: TreePath,
    /// What was there; `None` if nothing was.
    pub old: Option<Entry>,
    /// What is there now; `None` if it went.
    pub new: Option<Entry>,
}

impl Store {
    /// Says what leads from one snapshot to another, in the order of the paths.
    ///
    /// # Errors
    /// If one is not here or is none of ours, or git refuses.
    pub fn changes(&self, from: SnapshotId, to: SnapshotId) -> Result<Vec<Change>, WorkspaceError> {
        if from == to {
            return Ok(Vec::new());
        }
        Ok(between(&self.listing(from)?, &self.listing(to)?))
    }
}

pub(crate) fn between(from: &Listing, to: &Listing) -> Vec<Change> {
    let paths: BTreeSet<_> = from.keys().chain(to.keys()).collect();
    let changes = paths.into_iter().map(|path| {
        let (old, new) = (from.get(path).copied(), to.get(path).copied());
        Change { path: path.clone(), old, new }
    });
    changes.filter(|change| change.old != change.new).collect()
}
