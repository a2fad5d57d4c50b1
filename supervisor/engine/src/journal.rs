//! What may be written to a journal, and how one line is read (spec `step-and-outcome` 5.1 and 5.2).

use serde::{Deserialize, Serialize};

use crate::name::{SpawnId, StepKey};
use crate::proof::ProofRecord;
use crate::time::Timestamp;
use crate::transition::StepKind;

/// One line of a journal. The order of the fields is the order of the members on the line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// When it was written.
    pub at: Timestamp,
    /// Whose entry it is.
    pub change: StepKey,
    /// What it says.
    pub kind: EntryKind,
    /// The text of its author.
    pub message: String,
    /// Only on entries that ratchet itself writes: the step they conclude.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition: Option<StepKind>,
    /// Set when the agent ran by `RATCHET_BATCH_AGENT_CMD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// Only on `proof-of-work` entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofRecord>,
    /// The spawn that this entry concludes: an outcome is recorded at most once for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawn: Option<SpawnId>,
    /// Only on the `answer` entry of an approval: a hash of what was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
}

/// What an entry says. The file may hold kinds of a later version; readers skip those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// Work goes on.
    Progress,
    /// The agent cannot go on.
    Blocker,
    /// The agent needs a decision.
    NeedsInput,
    /// The agent, or ratchet, says the step is complete.
    Completion,
    /// A person answered or approved.
    Answer,
    /// A person rejected.
    Reject,
    /// A proof-of-work was recorded.
    ProofOfWork,
    /// A recorded proof-of-work no longer counts.
    ProofOfWorkInvalidated,
}

/// How an entry came about, where that is unusual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// The agent's command was replaced by `RATCHET_BATCH_AGENT_CMD`.
    EnvOverride,
}
