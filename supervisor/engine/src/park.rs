//! A step that waits for a person, and what frees it (spec `step-and-outcome` 4 and 5.4).

use serde::Serialize;

use crate::name::StepKey;
use crate::transition::StepKind;

/// One parked step, as `state.json` holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Park {
    /// When it was parked, as written in the file.
    pub parked_at: String,
    /// Whose step it is.
    pub key: StepKey,
    /// Why it waits.
    pub kind: ParkKind,
    /// The question, or the summary to approve.
    pub reason: String,
    /// A person's answer.
    pub answer: Option<String>,
    /// A person's reason to reject.
    pub feedback: Option<String>,
    /// A person's decision.
    pub approved: Option<bool>,
    /// The step that was parked, so that a rejected one can run again (OQ-5). Absent in the original tool's files.
    pub transition: Option<StepKind>,
}

/// Why a step waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParkKind {
    /// A question is open.
    Blocked,
    /// A decision is open.
    AwaitingApproval,
}

/// What a park means for the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing<'a> {
    /// Nothing runs until a person acts.
    Unresolved,
    /// The question was answered.
    Answered(&'a str),
    /// The result was approved.
    Approved,
    /// The result was rejected with this feedback.
    Rejected(&'a str),
}
