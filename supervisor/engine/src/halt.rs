//! When a run of several steps halts, and what it says then. What to run is decided anew for every step.

use serde::Serialize;

use crate::decide::Idle;
use crate::outcome::StepState;
use crate::report::ApplyReport;

/// Why a run halted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Halted {
    /// Why, for machines.
    pub reason: HaltReason,
    /// Why, in one sentence.
    pub message: String,
    /// What to type next, where that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Why a run halted, for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HaltReason {
    /// Everything is done.
    Done,
    /// A step asks a question.
    Blocked,
    /// A step asks for approval.
    AwaitingApproval,
    /// Steps that were parked before hold everything.
    Parked,
    /// Everything that is left is blocked or gated.
    NothingReady,
    /// A proof-of-work failed and keeps its gate shut.
    ProofFailed,
    /// As many steps were run as were asked for.
    MaxSteps,
}

impl Halted {
    /// Says whether a run halts after this, and why.
    #[must_use]
    pub fn after(report: &ApplyReport) -> Option<Self> {
        let halted =
            |reason, message: &str| Self { reason, message: message.to_owned(), hint: None };
        match report {
            ApplyReport::Step(step) => match step.state {
                StepState::Advanced => None,
                StepState::Blocked => {
                    let blocker = step.blocker.as_deref().unwrap_or("A step needs input.");
                    Some(halted(HaltReason::Blocked, blocker))
                }
                StepState::AwaitingApproval => {
                    let request = step.approval_request.as_deref();
                    let request = request.unwrap_or("A step waits for approval.");
                    Some(halted(HaltReason::AwaitingApproval, request))
                }
                StepState::NothingReady => {
                    let message = step.message.as_deref().unwrap_or("Nothing is ready.");
                    Some(halted(HaltReason::NothingReady, message))
                }
            },
            ApplyReport::Parked(parked) => Some(Self {
                hint: Some(parked.first.hint.clone()),
                ..halted(HaltReason::Parked, &parked.first.reason)
            }),
            ApplyReport::NothingReady(nothing) => {
                let reason = match nothing.why {
                    Idle::Done => HaltReason::Done,
                    Idle::FailedProof { .. } => HaltReason::ProofFailed,
                    Idle::NothingReady => HaltReason::NothingReady,
                };
                Some(halted(reason, &nothing.message))
            }
            ApplyReport::Proof(proof) if proof.gate_passed => None,
            ApplyReport::Proof(proof) => Some(halted(HaltReason::ProofFailed, &proof.detail)),
        }
    }

    /// Says that the limit of a run is reached.
    #[must_use]
    pub fn at_limit(most: u32) -> Self {
        let message = format!("The limit of {most} steps is reached.");
        Self { reason: HaltReason::MaxSteps, message, hint: None }
    }
}
