//! What the disk says about a change, and the one definition of done (spec `batch-status-and-selection` 2).

use serde::{Deserialize, Serialize};

/// The state of a change's folder, read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeFacts {
    /// The folder exists and is not archived.
    pub exists: bool,
    /// An archived folder of this name exists.
    pub archived: bool,
    /// `plan.md` is there.
    pub has_plan: bool,
    /// Tasks in the plan.
    pub tasks_total: u64,
    /// Ticked tasks in the plan.
    pub tasks_complete: u64,
}
