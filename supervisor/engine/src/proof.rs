//! Proof-of-work: pass conditions, the verdict over a run, and its record (spec `step-and-outcome` 9).

use serde::{Deserialize, Serialize};

use crate::settings::ProofPolicy;

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

/// How a pass condition is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionKind {
    /// Exit 0 is enough.
    ExitZero,
    /// `contains:`
    Contains,
    /// `regex:`
    Regex,
    /// Any other text must be in the output.
    Substring,
}
