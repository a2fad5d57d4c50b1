//! What a caller can ask for.

use ratchet_engine::name::{BatchName, ChangeName};
use ratchet_engine::permission::Escalation;
use ratchet_engine::settings::StandaloneFlags;
use ratchet_engine::transition::Transition;

use crate::project::verb::Readiness;

/// Asks for the next step of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyRequest {
    /// The batch.
    pub batch: BatchName,
    /// Whether the manifest may raise the permission posture.
    pub escalation: Escalation,
    /// Whether the caller agreed to `RATCHET_BATCH_AGENT_CMD`.
    pub agent_override: OverrideConsent,
    /// What becomes of the step when its caller goes away. Asked only by a supervisor that is another process.
    pub leave: Leave,
    /// Whether an agent whose usage limit was reached is left alone until it resets.
    pub limits: LimitPolicy,
}

/// Asks for one forced transition of a change that belongs to no batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeStepRequest {
    /// The change.
    pub change: ChangeName,
    /// What to do to it.
    pub transition: Transition,
    /// What the change is for; only a propose has one.
    pub objective: Option<String>,
    /// Text from `-m`, verbatim.
    pub guidance: Option<String>,
    /// Settings from flags.
    pub flags: StandaloneFlags,
    /// Whether a change that is not ready is moved all the same.
    pub readiness: Readiness,
    /// Whether the caller agreed to `RATCHET_BATCH_AGENT_CMD`.
    pub agent_override: OverrideConsent,
    /// What becomes of the step when its caller goes away. Asked only by a supervisor that is another process.
    pub leave: Leave,
    /// As in [`ApplyRequest`].
    pub limits: LimitPolicy,
}

/// Whether the caller gave `--allow-agent-override`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideConsent {
    /// The flag was given.
    Given,
    /// It was not; fine unless the project demands it.
    NotGiven,
}

/// What becomes of a step whose caller goes away, or runs out of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leave {
    /// It goes on, and its outcome is recorded.
    #[default]
    GoesOn,
    /// The caller owns it: it is stopped, and recorded as stopped.
    Stops,
}

/// What a usage limit that an agent has hit means for the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LimitPolicy {
    /// The agent is not started before it resets.
    #[default]
    Heeded,
    /// `--ignore-limit`: it is started all the same.
    Ignored,
}

/// Who asked for a step to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// A person pressed Ctrl-C.
    Interrupt,
    /// The process was told to end, by SIGTERM.
    Terminate,
    /// `ratchet batch cancel`.
    Cancel,
    /// The agent printed its final event and did not exit.
    Linger,
}

impl StopReason {
    /// Gives the request that the shim is sent.
    pub(crate) fn request(self) -> ratchet_spawn::StopRequest {
        ratchet_spawn::StopRequest { by: self.as_str().to_owned(), grace_ms: None }
    }

    /// Returns the word that the exit record keeps.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Terminate => "SIGTERM",
            Self::Cancel => "cancel",
            Self::Linger => "linger",
        }
    }
}
