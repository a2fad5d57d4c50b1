//! Proof-of-work: the verdict over a run, and its record (spec `step-and-outcome` 9). How a pass condition is read is
//! in [`condition`], how output is searched in [`matcher`]. Running the command is `ratchet-supervisor`'s.

pub mod condition;
pub mod matcher;

use serde::{Deserialize, Serialize};

use crate::name::PhaseName;
use crate::outcome::SessionEnd;
use crate::settings::ProofPolicy;

pub use condition::{Condition, ConditionError, ConditionKind, classify};
pub use matcher::Matcher;

/// A recorded verdict. The field order is the member order in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofRecord {
    /// The phase whose proof ran.
    pub phase: String,
    /// The command met its pass condition.
    pub passed: bool,
    /// The next phase may start: passed, or the policy is `warn`.
    pub gate_passed: bool,
    /// The policy in force when it ran.
    pub policy: ProofPolicy,
    /// Why, for machines.
    pub reason: ProofReason,
    /// Why, for people.
    pub detail: String,
    /// How the pass condition was read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub condition_kind: Option<ConditionKind>,
    /// The text that satisfied a text condition.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub matched_excerpt: Option<String>,
}

/// Why a proof passed or failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofReason {
    /// Passed.
    PassConditionMet,
    /// Exit 0, but the output does not satisfy the condition.
    PassConditionUnmet,
    /// The command failed.
    NonzeroExit,
    /// The command could not be run to its end, or its output could not be judged.
    Error,
    /// A judge passed it (records of other tools).
    JudgePass,
    /// A judge failed it (records of other tools).
    JudgeFail,
}

/// What the command's output says about the pass condition, its exit aside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Search {
    /// The condition does not ask for output.
    NotAsked,
    /// The output satisfies it.
    Found {
        /// The matched text, bounded.
        excerpt: String,
    },
    /// The output does not.
    Missing {
        /// If not all of the output was searched: what was.
        only: Option<String>,
    },
    /// The search was given up.
    GivenUp {
        /// Why.
        why: String,
    },
}

/// One run of a proof-of-work command, judged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Finding {
    /// Why it passed or failed, for machines.
    pub reason: ProofReason,
    /// Why it passed or failed, for people.
    pub detail: String,
    /// How the pass condition was read; `None` if it cannot be read.
    pub condition: Option<ConditionKind>,
    /// The text that satisfied a text condition.
    pub excerpt: Option<String>,
}

impl Finding {
    /// Judges a run by how it ended and what its output says; the exit comes first (spec 9.3).
    ///
    /// `pass` is the condition as its author wrote it, blanks included, for the text.
    pub fn new(
        pass: &str,
        condition: Option<ConditionKind>,
        end: &SessionEnd,
        search: Search,
    ) -> Self {
        let failed = |reason, detail| Self { reason, detail, condition, excerpt: None };
        if let Some((reason, detail)) = failure_to_end_well(end) {
            return failed(reason, detail);
        }
        let passed = |excerpt| Self {
            reason: ProofReason::PassConditionMet,
            detail: format!("Proof-of-work passed ({pass})."),
            condition,
            excerpt,
        };
        match search {
            Search::NotAsked => passed(None),
            Search::Found { excerpt } => passed(Some(excerpt)),
            Search::Missing { only } => {
                let part = only.map(|what| format!(" ({what})")).unwrap_or_default();
                failed(
                    ProofReason::PassConditionUnmet,
                    format!("Proof-of-work failed: pass condition not satisfied by output{part}"),
                )
            }
            Search::GivenUp { why } => {
                failed(ProofReason::Error, format!("Proof-of-work failed: {why}"))
            }
        }
    }

    /// Gives the record that the journal keeps for a phase.
    #[must_use]
    pub fn record(self, phase: &PhaseName, policy: ProofPolicy) -> ProofRecord {
        let passed = self.reason == ProofReason::PassConditionMet;
        ProofRecord {
            phase: phase.as_str().to_owned(),
            passed,
            gate_passed: passed || policy == ProofPolicy::Warn,
            policy,
            reason: self.reason,
            detail: self.detail,
            condition_kind: self.condition,
            matched_excerpt: self.excerpt,
        }
    }
}

/// Says why a command's end alone fails its proof; `None` for exit 0.
///
/// A limit is an error, not an exit: the command did not have its say (OQ-10).
fn failure_to_end_well(end: &SessionEnd) -> Option<(ProofReason, String)> {
    let (reason, what) = match end {
        SessionEnd::Exited(0) => return None,
        SessionEnd::Exited(code) => (ProofReason::NonzeroExit, format!("command exited {code}")),
        SessionEnd::Signaled(signal) => {
            (ProofReason::NonzeroExit, format!("command was ended by signal {signal}"))
        }
        SessionEnd::TimedOut { limit, after_ms } => {
            (ProofReason::Error, format!("command timed out after {after_ms}ms ({limit} limit)"))
        }
        SessionEnd::Stopped { by } => (ProofReason::Error, format!("command was stopped by {by}")),
        SessionEnd::Lingered => {
            (ProofReason::Error, "command was ended before it exited".to_owned())
        }
        SessionEnd::OutOfMemory => (ProofReason::Error, "command ran out of memory".to_owned()),
        SessionEnd::OutputLimit { bytes } => {
            (ProofReason::Error, format!("command printed more than {bytes} bytes (output limit)"))
        }
        SessionEnd::NotStarted { error, .. } => {
            (ProofReason::Error, format!("command could not be started: {error}"))
        }
        SessionEnd::Lost { reason } => {
            (ProofReason::Error, format!("nobody saw the command end: {reason}"))
        }
    };
    Some((reason, format!("Proof-of-work failed: {what}")))
}

#[cfg(test)]
mod tests;
