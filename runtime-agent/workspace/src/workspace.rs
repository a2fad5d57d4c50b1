//! A folder and the store it is taken into: the handle by which everything else is asked for.

use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::snapshot::{Base, Snapshot, View, take};
use crate::store::{Store, word};

/// A folder whose content is taken, laid out or brought in.
#[derive(Debug, Clone)]
pub struct Workspace {
    store: Store,
    name: String,
    root: PathBuf,
}

impl Workspace {
    /// Names a folder for a store. Under this name the store remembers what it knows of the folder; one name is for one
    /// folder at a time.
    ///
    /// # Errors
    /// If the name is no word.
    pub fn new(store: &Store, name: &str, root: &Path) -> Result<Self, WorkspaceError> {
        Ok(Self { store: store.clone(), name: word(name)?.to_owned(), root: root.to_owned() })
    }

    /// Returns its store.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Returns its folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Takes a snapshot of the folder as it is. Only files whose stamp is not known are read. A file that changes while it is
    /// read is read again, a few times.
    ///
    /// # Errors
    /// If a file goes on changing, or the disk or git refuses.
    pub fn snapshot(&self, base: Base<'_>) -> Result<Snapshot, WorkspaceError> {
        let _one_at_a_time = self.store.lock(&self.name)?;
        let view = View::of(self, base)?;
        take(self, &view).map(|taken| taken.snapshot)
    }
}
