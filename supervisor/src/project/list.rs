//! All batches at a glance. A broken one is a row of its own and hides no other (OQ-15).

use ratchet_engine::name::BatchName;
use ratchet_engine::status::{BatchState, Progress};
use serde::Serialize;

use super::Project;
use crate::error::Error;

/// One batch of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ListRow {
    /// A batch that can be worked on.
    Batch(ListedBatch),
    /// A batch that cannot.
    Invalid(InvalidRow),
}

/// A batch that can be worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedBatch {
    /// The folder's name.
    pub name: BatchName,
    /// Declared changes.
    pub change_count: usize,
    /// Changes that are done.
    pub done_count: usize,
    /// Tasks of all plans.
    pub progress: Progress,
    /// How far it is.
    pub status: BatchState,
}

/// A batch that cannot be worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InvalidRow {
    /// The folder's name.
    pub name: BatchName,
    /// Always `invalid`.
    pub status: &'static str,
    /// What is wrong.
    pub error: String,
}

impl Project {
    /// Lists all batches, sorted by name.
    ///
    /// # Errors
    /// Fails if `.ratchet/batches` is there and cannot be read.
    pub fn list(&self) -> Result<Vec<ListRow>, Error> {
        let row = |name: BatchName| match self.status(&name) {
            Ok(status) => ListRow::Batch(ListedBatch {
                name,
                change_count: status.change_count,
                done_count: status.done_count,
                progress: status.progress,
                status: status.status,
            }),
            Err(error) => {
                ListRow::Invalid(InvalidRow { name, status: "invalid", error: error.to_string() })
            }
        };
        Ok(self.batch_names()?.into_iter().map(row).collect())
    }
}
