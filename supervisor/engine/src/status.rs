//! Snapshot in, status out: what is done, what is blocked, what comes next (spec `batch-status-and-selection` 2 to 4).
//! The derivation is in [`mod@derive`], the JSON that users see in [`json`]. Status never picks: `next` comes from
//! [`crate::selection`].

pub mod derive;
pub mod json;

use serde::Serialize;

use crate::name::{BatchName, ChangeName, PhaseName, StepKey};
use crate::outcome::Cause;
use crate::park::ParkKind;
use crate::settings::GateMode;
use crate::time::Timestamp;
use crate::usage::Tally;

pub use derive::derive;

/// The status of one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchStatus {
    /// The folder's name.
    pub name: BatchName,
    /// How far the whole is.
    pub status: BatchState,
    /// Tasks of all plans.
    pub progress: Progress,
    /// Declared changes.
    pub change_count: usize,
    /// Changes that are done.
    pub done_count: usize,
    /// The approval gate in force.
    pub gate: GateMode,
    /// What would run next, if anything.
    pub next: Option<Next>,
    /// The pull request that a finished batch still owes.
    pub pull_request: Option<DuePullRequest>,
    /// The phases, in order.
    pub phases: Vec<PhaseStatus>,
    /// What its agents have used, if one ran.
    pub usage: Option<Tally>,
}

/// How far a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchState {
    /// No change is declared.
    Empty,
    /// Nothing has begun.
    Pending,
    /// Something has begun.
    InProgress,
    /// Everything is done and proven.
    Done,
}

/// Ticked tasks of all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Progress {
    /// All tasks.
    pub total: u64,
    /// Ticked tasks.
    pub completed: u64,
}

/// What would run next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// A step of a change.
    Change {
        /// The change's phase.
        phase: PhaseName,
        /// The change.
        change: ChangeName,
    },
    /// The decomposition of a phase.
    Decompose {
        /// The empty phase.
        phase: PhaseName,
    },
    /// A phase's proof-of-work, offered when every change is done.
    Proof {
        /// The unproven phase.
        phase: PhaseName,
    },
}

/// The status of one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseStatus {
    /// The phase.
    pub name: PhaseName,
    /// What it is for.
    pub goal: String,
    /// How its author recognises that it worked.
    pub success: String,
    /// How far it is.
    pub status: PhaseState,
    /// Why it may not start, if it may not.
    pub gated_by: Option<String>,
    /// The live park of its decomposition, as long as it has no changes.
    pub parked: Option<ParkView>,
    /// Its changes, in file order.
    pub changes: Vec<ChangeStatus>,
}

/// A pull request that is not open yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DuePullRequest {
    /// The key of its journal entries and its park.
    pub key: StepKey,
    /// The changes it covers.
    pub changes: Vec<ChangeName>,
    /// It waits for a person.
    pub held: bool,
    /// Its live park, if any.
    pub parked: Option<ParkView>,
}

/// How far a phase is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseState {
    /// Nothing has begun.
    Pending,
    /// Something has begun.
    InProgress,
    /// Every change is done.
    Done,
    /// Its gate is shut.
    Blocked,
}

/// The status of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeStatus {
    /// The change.
    pub name: ChangeName,
    /// How far it is, parks included.
    pub status: ChangeState,
    /// How far it is without its park; selection looks at this once the park is resolved.
    pub base: ChangeState,
    /// The definition of done.
    pub done: String,
    /// Its tasks.
    pub progress: Progress,
    /// What must come first.
    pub after: Vec<ChangeName>,
    /// What must come first and is not done, sorted.
    pub blocked_by: Vec<ChangeName>,
    /// Its folder exists.
    pub exists: bool,
    /// It is archived.
    pub archived: bool,
    /// Its live park, if any.
    pub parked: Option<ParkView>,
    /// What its agents have used, if one ran.
    pub usage: Option<Tally>,
}

/// How far a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeState {
    /// It can begin.
    Ready,
    /// It has begun.
    InProgress,
    /// All tasks are ticked; verify has not been recorded.
    AwaitingVerify,
    /// Done.
    Done,
    /// Something must come first, or a question is open.
    Blocked,
    /// A decision is open.
    AwaitingApproval,
}

/// A park as status shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParkView {
    /// Why it waits.
    pub kind: ParkKind,
    /// The question, or the summary to approve.
    pub reason: String,
    /// What made the step fail, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// When it goes on by itself, if it does.
    #[serde(rename = "retryAt", skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// A person's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// A person's reason to reject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// A person's decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Nothing was asked: the step simply runs again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
}

impl ChangeState {
    /// Says whether a change of this status can be worked on, as far as the status alone tells.
    #[must_use]
    pub fn is_workable(self) -> bool {
        match self {
            Self::Ready | Self::InProgress | Self::AwaitingVerify => true,
            Self::Done | Self::Blocked | Self::AwaitingApproval => false,
        }
    }
}

#[cfg(test)]
mod tests;
