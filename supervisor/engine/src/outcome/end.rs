//! What the end of a process says about its step, in words. Each way to end badly has its own: a limit, a stop and a
//! lost process are no exit codes (OQ-55).

use super::SessionEnd;
use crate::transition::StepKind;

impl SessionEnd {
    /// Says how the process ended, if it did not end well; follows "Agent …".
    pub(super) fn failure(&self) -> Option<String> {
        match self {
            Self::Exited(0) | Self::Lingered => None,
            Self::Exited(code) => Some(format!("exited with code {code}")),
            Self::NotStarted { .. } => Some("could not be started".to_owned()),
            Self::Signaled(signal) => Some(format!("exited via signal {signal}")),
            Self::TimedOut { limit, after_ms } => {
                Some(format!("timed out after {after_ms}ms ({limit} limit)"))
            }
            Self::Stopped { by } => Some(format!("was stopped by {by}")),
            Self::OutOfMemory => Some("ran out of memory and was killed".to_owned()),
            Self::OutputLimit { bytes } => {
                Some(format!("was stopped for printing more than {bytes} bytes (output limit)"))
            }
            Self::Lost { reason } => Some(format!("was lost ({reason})")),
        }
    }

    /// Gives the sentence about a step whose agent ended badly and said nothing.
    pub(super) fn failure_message(&self, kind: StepKind) -> String {
        match self {
            Self::Exited(_) | Self::Signaled(_) | Self::Lingered => {
                format!("Agent failed during {kind}.")
            }
            Self::NotStarted { error, .. } => {
                format!("Agent could not be started for {kind}: {error}.")
            }
            Self::TimedOut { limit, after_ms } => {
                format!("Agent timed out after {after_ms}ms during {kind} ({limit} limit).")
            }
            Self::Stopped { by } => format!("Agent was stopped by {by} during {kind}."),
            Self::OutOfMemory => format!("Agent ran out of memory during {kind}."),
            Self::OutputLimit { bytes } => {
                format!("Agent printed more than {bytes} bytes during {kind} (output limit).")
            }
            Self::Lost { reason } => format!("Agent was lost during {kind} ({reason})."),
        }
    }

    /// Gives why nothing was started, if nothing was: the binary and where it was looked for.
    pub(super) fn never_started(&self) -> Option<&str> {
        match self {
            Self::NotStarted { error, .. } => Some(error),
            Self::Exited(_)
            | Self::Signaled(_)
            | Self::TimedOut { .. }
            | Self::Stopped { .. }
            | Self::Lingered
            | Self::OutOfMemory
            | Self::OutputLimit { .. }
            | Self::Lost { .. } => None,
        }
    }

    /// Gives a note on an end that counts as good and still is unusual.
    pub(super) fn note(&self) -> Option<&'static str> {
        match self {
            Self::Lingered => Some(
                "the agent printed its final event, did not exit by itself and was ended \
                 (lingered)",
            ),
            Self::Exited(_)
            | Self::Signaled(_)
            | Self::TimedOut { .. }
            | Self::Stopped { .. }
            | Self::OutOfMemory
            | Self::OutputLimit { .. }
            | Self::NotStarted { .. }
            | Self::Lost { .. } => None,
        }
    }
}
