//! Every exit code, and the only place where one is chosen.

use std::process::ExitCode;

use ratchet_engine::outcome::StepState;
use ratchet_engine::report::ApplyReport;

use crate::args::Stepping;
use crate::signals::Signal;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: the question was answered, or a step's outcome was recorded, whatever it was (Q7).
    Success,
    /// 1: nothing was done, or `validate` found the item invalid; the reason is on standard error.
    Failure,
    /// 10, with `--exit-code`: a person must answer.
    Blocked,
    /// 11, with `--exit-code`: a person must approve.
    AwaitingApproval,
    /// 12, with `--exit-code`: there was nothing to run.
    NothingReady,
    /// 13, with `--exit-code`: a proof-of-work failed and keeps its gate shut.
    ProofFailed,
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
            ApplyReport::Parked(_) | ApplyReport::NothingReady(_) => Self::NothingReady,
            ApplyReport::Proof(proof) if proof.gate_passed => Self::Success,
            ApplyReport::Proof(_) => Self::ProofFailed,
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
            Self::BySignal(signal) => signal.die(),
        }
    }
}
