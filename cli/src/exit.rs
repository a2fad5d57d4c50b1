//! Every exit code, and the only place where one is chosen.

use std::process::ExitCode;

use ratchet_engine::decide::Idle;
use ratchet_engine::outcome::StepState;
use ratchet_engine::park::ParkKind;
use ratchet_engine::report::ApplyReport;

use crate::args::Stepping;
use crate::signals::Signal;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: the question was answered, or a step's outcome was recorded, whatever it was (Q7).
    Success,
    /// 1: it could not be done, or `validate` found the item invalid; the reason is on standard error.
    Failure,
    /// 10, with `--exit-code`: a person must answer.
    Blocked,
    /// 11, with `--exit-code`: a person must approve.
    AwaitingApproval,
    /// 12, with `--exit-code`: there was nothing to run.
    NothingReady,
    /// 13, with `--exit-code`: a proof-of-work failed and keeps its gate shut.
    ProofFailed,
    /// 14, with `--exit-code`: an evaluation failed.
    EvalFailed,
    /// Dies by the signal that stopped it, so that the parent sees just that (128 + n in a shell).
    BySignal(Signal),
}

/// Whether outcomes are told by the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeStyle {
    /// As the original: every recorded outcome exits 0.
    Recorded,
    /// `--exit-code`.
    Outcome,
}

impl CodeStyle {
    /// Reads the flag.
    pub(crate) fn of(stepping: Stepping) -> Self {
        if stepping.exit_code { Self::Outcome } else { Self::Recorded }
    }

    /// Returns the exit of an outcome that was recorded.
    pub(crate) fn exit(self, outcome: Exit) -> Exit {
        match self {
            Self::Recorded => Exit::Success,
            Self::Outcome => outcome,
        }
    }
}

impl Exit {
    /// Tells what one `batch apply` came to.
    pub(crate) fn of_report(report: &ApplyReport) -> Self {
        match report {
            ApplyReport::Step(step) => Self::of_step(step.state),
            ApplyReport::Parked(parked) => Self::of_park(parked.first.kind),
            ApplyReport::NothingReady(nothing) => match nothing.why {
                Idle::FailedProof { .. } => Self::ProofFailed,
                Idle::Done | Idle::OverBudget(_) | Idle::NothingReady => Self::NothingReady,
            },
            ApplyReport::Proof(proof) if proof.gate_passed => Self::Success,
            ApplyReport::Proof(_) => Self::ProofFailed,
        }
    }

    /// Tells what a parked step waits for: the same at every look, as when it was parked.
    pub(crate) fn of_park(kind: ParkKind) -> Self {
        match kind {
            ParkKind::Blocked => Self::Blocked,
            ParkKind::AwaitingApproval => Self::AwaitingApproval,
        }
    }

    /// Tells how a step ended.
    pub(crate) fn of_step(state: StepState) -> Self {
        match state {
            StepState::Advanced => Self::Success,
            StepState::Blocked => Self::Blocked,
            StepState::AwaitingApproval => Self::AwaitingApproval,
            StepState::NothingReady => Self::NothingReady,
        }
    }

    /// Turns the exit into what `main` returns. For a signal this does not return.
    pub(crate) fn leave(self) -> ExitCode {
        match self {
            Self::Success => ExitCode::SUCCESS,
            Self::Failure => ExitCode::FAILURE,
            Self::Blocked => ExitCode::from(10),
            Self::AwaitingApproval => ExitCode::from(11),
            Self::NothingReady => ExitCode::from(12),
            Self::ProofFailed => ExitCode::from(13),
            Self::EvalFailed => ExitCode::from(14),
            Self::BySignal(signal) => signal.die(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::decide::Halt;
    use ratchet_engine::name::{PhaseName, StepKey};
    use ratchet_engine::park::NewPark;
    use ratchet_engine::time::Timestamp;
    use ratchet_engine::transition::StepKind;

    use super::*;

    #[test]
    fn a_state_has_the_same_code_at_every_look() {
        let parked = |kind| {
            let key = StepKey::from_text("api");
            let park = NewPark {
                key: key.clone(),
                kind,
                reason: "why".into(),
                transition: StepKind::Apply,
                retry: false,
                cause: None,
                retry_at: None,
            };
            let halt = Halt { key, park: park.at(Timestamp::from_unix_ms(0)) };
            Exit::of_report(&ApplyReport::parked(&[halt]).unwrap())
        };
        assert_eq!(parked(ParkKind::Blocked), Exit::of_step(StepState::Blocked));
        assert_eq!(parked(ParkKind::AwaitingApproval), Exit::of_step(StepState::AwaitingApproval));
        let phase = PhaseName::parse("p1").unwrap();
        let shut = ApplyReport::idle(&Idle::FailedProof { phase, gated_by: "p1".into() });
        assert_eq!(Exit::of_report(&shut), Exit::ProofFailed);
        assert_eq!(Exit::of_report(&ApplyReport::idle(&Idle::Done)), Exit::NothingReady);
    }
}
