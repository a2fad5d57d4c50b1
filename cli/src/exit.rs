//! Every exit code, and the only place where one is chosen.

use std::process::ExitCode;

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

impl Exit {
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
