//! What an agent's session amounts to: the values. The seed's `mapSessionToOutcome` is [`judge`]
//! (spec `step-and-outcome` 6 and 8); steps that are refused before a spawn are in [`refusal`].

mod attribution;
mod cause;
mod end;
mod evidence;
mod judge;
pub mod refusal;
mod rule;

use serde::{Deserialize, Serialize};

use crate::change::ChangeFacts;
use crate::decide::{Resume, Step};
use crate::journal::{Entry, EntryKind, Via};
use crate::name::{AgentName, SpawnId, StepKey};
use crate::settings::{GateMode, Scope};
use crate::time::Timestamp;
use crate::transition::StepKind;

pub use cause::{Cause, Told};
pub use judge::judge;
pub use refusal::Refusal;
pub use rule::Rule;

/// How the agent's process ended, as far as the mapping cares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionEnd {
    /// It exited with this code.
    Exited(i32),
    /// It died by this signal (`SIGKILL`), not at our hand.
    Signaled(String),
    /// A limit ended it.
    TimedOut {
        /// Which: `start`, `idle` or `wall`.
        limit: String,
        /// The limit, in milliseconds.
        after_ms: u64,
    },
    /// It was stopped on request.
    Stopped {
        /// Who asked.
        by: String,
    },
    /// It printed its final event, did not exit in the grace, and was ended: judged like a normal end.
    Lingered,
    /// The kernel ended it for lack of memory.
    OutOfMemory,
    /// It printed more than it may.
    OutputLimit {
        /// The limit, in bytes.
        bytes: u64,
    },
    /// It never started.
    NotStarted {
        /// Why.
        error: String,
        /// What a shell would have exited with: 127 not found, 126 not executable, 1 else.
        code: i32,
    },
    /// Nothing knows how it ended.
    Lost {
        /// What is known.
        reason: String,
    },
}

/// What judging needs to know of a step. It is kept with the intent, so that any process can judge the session later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Whose step it is.
    pub key: StepKey,
    /// What kind of step it is.
    pub kind: StepKind,
    /// The approval gate in force when it began.
    pub gate: GateMode,
    /// It runs because a person answered or rejected: its completion has been asked for and need not park again.
    pub is_reply: bool,
}

/// One entry that the agent reported during the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its index among the entries of its key.
    pub index: usize,
    /// What it says.
    pub kind: EntryKind,
    /// The agent's text.
    pub message: String,
}

/// Everything that is known about one agent run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The spawn.
    pub spawn: SpawnId,
    /// The agent that was asked for.
    pub agent: AgentName,
    /// How it ended.
    pub end: SessionEnd,
    /// What it reported, oldest first.
    pub reports: Vec<Report>,
    /// The change before the spawn; `None` for steps without a change folder.
    pub before: Option<ChangeFacts>,
    /// The change after it.
    pub after: Option<ChangeFacts>,
    /// What the agent itself said of its failure, if it did; shown, never judged by.
    pub account: Option<String>,
    /// The head of its standard output as a person reads it, decoded with replacement; bounded by the supervisor.
    pub stdout: String,
    /// The head of its standard error, likewise.
    pub stderr: String,
    /// What the agent says of its own failure, if it does.
    pub told: Option<Told>,
    /// Set when `RATCHET_BATCH_AGENT_CMD` stood in for the agent.
    pub via: Option<Via>,
    /// Who supplied the model that was named, if one was.
    pub model: Option<ModelSource>,
}

/// A named model and where its name came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSource {
    /// The agent.
    pub agent: String,
    /// The model, as given.
    pub model: String,
    /// The scope that supplied the stage's spec.
    pub scope: Scope,
}

/// What a session amounts to: what to record, and what to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// The public result.
    pub result: StepResult,
    /// The kind of the outcome entry.
    pub entry_kind: EntryKind,
    /// The text of the outcome entry.
    pub entry_message: String,
    /// What blocked the step, if it is blocked.
    pub blocked_by: BlockedBy,
    /// The branch that decided; `None` in an intent of an older ratchet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
}

/// What blocks a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockedBy {
    /// The agent itself: it reported a blocker or wants input.
    Agent,
    /// A person, who stopped the step, or whose settings or machine kept it from starting.
    Person,
    /// How it ended, or what the disk shows.
    Evidence,
}

/// The public result of one step (spec `step-and-outcome` 8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    /// How it ended.
    pub state: StepState,
    /// Whose step it was.
    pub change: StepKey,
    /// What kind of step it was.
    pub transition: StepKind,
    /// What must be answered; only when blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
    /// What failed; only when blocked by a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// When it can be tried again, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// What must be approved; only when awaiting approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_request: Option<String>,
    /// More, such as the end of the transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The entries the session wrote, as indices among the entries of its key; absent if nothing was spawned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_refs: Option<Vec<usize>>,
    /// One sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Set when `RATCHET_BATCH_AGENT_CMD` stood in for the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agent_override: bool,
    /// The spawn, for `batch log`; absent if nothing was spawned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_id: Option<SpawnId>,
    /// Set when the agent's command could not be started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_started: bool,
    /// What else is worth knowing: strays that were ended, an agent that lingered, an approved plan that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepState {
    /// The step's claim held.
    Advanced,
    /// A person must answer.
    Blocked,
    /// A person must approve.
    AwaitingApproval,
    /// There was nothing to do.
    NothingReady,
}

impl StepResult {
    /// Says whether an agent ran for it. A step that was refused, or that waits for a person, ran none.
    #[must_use]
    pub fn ran(&self) -> bool {
        self.spawn_id.is_some() && !self.not_started
    }

    /// Gives a result that says nothing but how a step ended.
    #[must_use]
    pub fn new(state: StepState, key: StepKey, kind: StepKind) -> Self {
        Self {
            state,
            change: key,
            transition: kind,
            blocker: None,
            cause: None,
            retry_at: None,
            approval_request: None,
            detail: None,
            journal_refs: None,
            message: None,
            agent_override: false,
            spawn_id: None,
            not_started: false,
            notes: Vec::new(),
        }
    }
}

impl Subject {
    /// Takes from a step what judging needs.
    #[must_use]
    pub fn of(step: &Step, gate: GateMode) -> Self {
        let is_reply = step.resume.as_ref().is_some_and(Resume::is_reply);
        Self { key: step.key.clone(), kind: step.kind(), gate, is_reply }
    }
}

impl Verdict {
    /// Gives the outcome entry, written under the step's key (spec `step-and-outcome` 5.3).
    #[must_use]
    pub fn entry(&self, now: Timestamp) -> Entry {
        let (change, message) = (self.result.change.clone(), self.entry_message.clone());
        Entry {
            transition: Some(self.result.transition),
            via: self.result.agent_override.then_some(Via::EnvOverride),
            spawn: self.result.spawn_id.clone(),
            ..Entry::new(now, change, self.entry_kind, message)
        }
    }
}
