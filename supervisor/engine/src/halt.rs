//! When a run of several steps halts, and what it says then. What to run is decided anew for every step.

use serde::Serialize;

use crate::decide::Idle;
use crate::name::BatchName;
use crate::outcome::{Cause, StepResult, StepState};
use crate::report::ApplyReport;
use crate::shell::quoted;
use crate::snapshot::Snapshot;
use crate::stall::{Ground, is_stalled};
use crate::time::Timestamp;

/// The limit of a run that was given none: more steps than any work takes, and an end to what goes round in circles.
pub const MOST_STEPS: u32 = 10_000;

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

/// A moment that a run may wait for instead of halting: an agent's usage limit is over then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// The first moment at which anything that is held can go on.
    pub until: Timestamp,
    /// Why, in one sentence.
    pub why: String,
    /// What to type instead of waiting.
    pub hint: Option<String>,
}

impl Pause {
    /// Finds what to wait for after a report. Only a limit that says when it resets is waited for.
    #[must_use]
    pub fn of(report: &ApplyReport) -> Option<Self> {
        match report {
            ApplyReport::Step(step) if step.cause == Some(Cause::Quota) => {
                let why = step.blocker.clone().or(step.message.clone());
                let why = why.unwrap_or_else(|| "limit reached".to_owned());
                Some(Self { until: step.retry_at?, why, hint: None })
            }
            ApplyReport::Parked(parked) => {
                let waiting = std::iter::once(&parked.first).chain(&parked.others);
                let first = waiting.filter(|waiting| waiting.retry_at.is_some());
                let first = first.min_by_key(|waiting| waiting.retry_at)?;
                let hint = Some(first.hint.clone());
                Some(Self { until: first.retry_at?, why: first.reason.clone(), hint })
            }
            ApplyReport::Step(_) | ApplyReport::NothingReady(_) | ApplyReport::Proof(_) => None,
        }
    }
}

impl From<Pause> for Halted {
    fn from(Pause { until: _, why, hint }: Pause) -> Self {
        Self { reason: HaltReason::LimitReached, message: why, hint }
    }
}

impl Halted {
    /// Says whether a run that waits for nothing halts after this, and why.
    #[must_use]
    pub fn after(report: &ApplyReport) -> Option<Self> {
        if let Some(pause) = Pause::of(report) {
            return Some(pause.into());
        }
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

    /// Halts a run whose last step changed nothing and would only be run again.
    #[must_use]
    pub fn stall(before: &Ground, report: &ApplyReport, now: &Snapshot) -> Option<Self> {
        let ApplyReport::Step(step) = report else { return None };
        is_stalled(before, step, now).then(|| Self::stalled(step, &now.batch))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::PhaseName;
    use crate::name::StepKey;
    use crate::park::ParkKind;
    use crate::report::{ParkedReport, Waiting};
    use crate::transition::StepKind;

    fn step(state: StepState) -> StepResult {
        StepResult::new(state, StepKey::from_text("add-cart"), StepKind::Apply)
    }

    fn limited(at: Option<i64>) -> StepResult {
        StepResult {
            cause: Some(Cause::Quota),
            retry_at: at.map(Timestamp::from_unix_ms),
            ..step(StepState::Blocked)
        }
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
        let phase = PhaseName::parse("p1").unwrap();
        let shut = Idle::FailedProof { phase, gated_by: "p1".into() };
        assert_eq!(reason(&ApplyReport::idle(&shut)), Some(HaltReason::ProofFailed));
    }

    #[test]
    fn a_limit_that_says_when_it_resets_is_told_apart_from_a_question() {
        let limit = ApplyReport::Step(limited(Some(5)));
        assert_eq!(Pause::of(&limit).unwrap().until, Timestamp::from_unix_ms(5));
        assert_eq!(reason(&limit), Some(HaltReason::LimitReached));
        let endless = ApplyReport::Step(limited(None));
        assert_eq!((Pause::of(&endless), reason(&endless)), (None, Some(HaltReason::Blocked)));
    }

    #[test]
    fn the_first_limit_among_parked_steps_is_the_one_to_wait_for() {
        let waiting = |name: &str, at: Option<i64>| Waiting {
            change: StepKey::from_text(name),
            kind: ParkKind::Blocked,
            cause: at.map(|_| Cause::Quota),
            retry_at: at.map(Timestamp::from_unix_ms),
            reason: name.to_owned(),
            hint: "answer it".to_owned(),
        };
        let parked = |others: Vec<Waiting>| {
            ApplyReport::Parked(ParkedReport { first: waiting("a", None), others })
        };
        let mixed = parked(vec![waiting("b", Some(9)), waiting("c", Some(7))]);
        let halted = Halted::after(&mixed).unwrap();
        assert_eq!((halted.reason, halted.message.as_str()), (HaltReason::LimitReached, "c"));
        assert_eq!(reason(&parked(Vec::new())), Some(HaltReason::Parked));
    }

    #[test]
    fn a_limit_of_steps_is_told_in_grammar() {
        assert_eq!(Halted::at_limit(1).message, "The limit of 1 step is reached.");
        assert_eq!(Halted::at_limit(3).message, "The limit of 3 steps is reached.");
    }
}
