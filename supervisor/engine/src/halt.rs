//! When a run of several steps halts, and what it says then. What to run is decided anew for every step.

use serde::Serialize;

use crate::decide::Idle;
use crate::name::BatchName;
use crate::outcome::{Cause, StepResult, StepState};
use crate::report::{ApplyReport, ParkedReport};
use crate::shell::quoted;

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
    /// An agent has reached its usage limit.
    LimitReached,
    /// A budget is used up.
    OverBudget,
    /// The last step changed nothing and would only be run again.
    Stalled,
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
                    let is_limit = step.cause == Some(Cause::Quota) && step.retry_at.is_some();
                    let reason =
                        if is_limit { HaltReason::LimitReached } else { HaltReason::Blocked };
                    Some(halted(reason, blocker))
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
                ..halted(parked_by(parked), &parked.first.reason)
            }),
            ApplyReport::NothingReady(nothing) => {
                let reason = match nothing.why {
                    Idle::Done => HaltReason::Done,
                    Idle::FailedProof { .. } => HaltReason::ProofFailed,
                    Idle::OverBudget(_) => HaltReason::OverBudget,
                    Idle::NothingReady => HaltReason::NothingReady,
                };
                Some(Self { hint: nothing.hint.clone(), ..halted(reason, &nothing.message) })
            }
            ApplyReport::Proof(proof) if proof.gate_passed => None,
            ApplyReport::Proof(proof) => Some(Self {
                hint: proof.hint.clone(),
                ..halted(HaltReason::ProofFailed, &proof.detail)
            }),
        }
    }

    /// Says that the last step changed nothing and would only be run again.
    #[must_use]
    pub fn stalled(step: &StepResult, batch: &BatchName) -> Self {
        let StepResult { change, transition, .. } = step;
        let batch = quoted(batch.as_str());
        let message = format!(
            "The {transition} of '{change}' was reported complete, but it left nothing behind and would only run again."
        );
        let hint = format!(
            "read what its agent printed: `ratchet batch log {batch} --last`; then write what is missing yourself, or let \
             one more try run: `ratchet batch apply {batch}`"
        );
        Self { reason: HaltReason::Stalled, message, hint: Some(hint) }
    }

    /// Says that the limit of a run is reached.
    #[must_use]
    pub fn at_limit(most: u32) -> Self {
        let steps = if most == 1 { "step" } else { "steps" };
        let message = format!("The limit of {most} {steps} is reached.");
        Self { reason: HaltReason::MaxSteps, message, hint: None }
    }
}

/// Says whether nothing but an agent's limit holds the parked steps.
fn parked_by(parked: &ParkedReport) -> HaltReason {
    let waits = std::iter::once(&parked.first).chain(&parked.others);
    let all_by_limit = waits.into_iter().all(|waiting| waiting.retry_at.is_some());
    if all_by_limit { HaltReason::LimitReached } else { HaltReason::Parked }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::StepKey;
    use crate::time::Timestamp;
    use crate::transition::StepKind;

    fn step(state: StepState) -> StepResult {
        StepResult::new(state, StepKey::from_text("add-cart"), StepKind::Apply)
    }

    fn reason(report: &ApplyReport) -> Option<HaltReason> {
        Halted::after(report).map(|halted| halted.reason)
    }

    #[test]
    fn a_run_goes_on_as_long_as_steps_advance() {
        assert_eq!(reason(&ApplyReport::Step(step(StepState::Advanced))), None);
    }

    #[test]
    fn a_run_halts_where_a_person_is_needed_or_nothing_is_left() {
        let of = |state| reason(&ApplyReport::Step(step(state)));
        assert_eq!(of(StepState::Blocked), Some(HaltReason::Blocked));
        assert_eq!(of(StepState::AwaitingApproval), Some(HaltReason::AwaitingApproval));
        assert_eq!(reason(&ApplyReport::idle(&Idle::Done)), Some(HaltReason::Done));
        assert_eq!(reason(&ApplyReport::idle(&Idle::NothingReady)), Some(HaltReason::NothingReady));
    }

    #[test]
    fn a_limit_that_says_when_it_resets_is_told_apart_from_a_question() {
        let limited = StepResult {
            cause: Some(Cause::Quota),
            retry_at: Timestamp::parse("2026-11-30T22:00:00.000Z"),
            ..step(StepState::Blocked)
        };
        assert_eq!(reason(&ApplyReport::Step(limited)), Some(HaltReason::LimitReached));
    }
}
