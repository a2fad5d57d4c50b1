//! Whether a phase may start: open, or shut and by what (spec `batch-status-and-selection` 3.1). Approvals are not
//! gates in this sense; they are [`crate::approval`]'s.

use std::fmt;

use crate::fold::JournalView;
use crate::name::PhaseName;
use crate::status::PhaseState;

/// What keeps a phase shut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shut {
    /// The phase before it is not done.
    Unfinished {
        /// The phase before it.
        phase: PhaseName,
    },
    /// The phase before it is done, and its proof-of-work failed under `hard-gate`.
    FailedProof {
        /// The phase before it.
        phase: PhaseName,
        /// What the record says.
        detail: String,
    },
}

/// Says what keeps a phase shut; `None` if it is open. `before` is the phase in front of it, if there is one.
///
/// A proof that has not run keeps nothing shut: it is run before the phase's first step. `warn` needs no rule here, its
/// records say `gatePassed: true`.
#[must_use]
pub fn shut(before: Option<(&PhaseName, PhaseState)>, journal: &JournalView) -> Option<Shut> {
    let (phase, state) = before?;
    match state {
        PhaseState::Done => failed_proof(phase, journal),
        PhaseState::Pending | PhaseState::InProgress | PhaseState::Blocked => {
            Some(Shut::Unfinished { phase: phase.clone() })
        }
    }
}

/// Says whether the current record of a phase's proof lets nothing pass; `None` if it does, or if there is none.
#[must_use]
pub fn failed_proof(phase: &PhaseName, journal: &JournalView) -> Option<Shut> {
    let record = journal.proofs.get(phase.as_str()).filter(|record| !record.gate_passed)?;
    Some(Shut::FailedProof { phase: phase.clone(), detail: record.detail.clone() })
}

impl Shut {
    /// Returns the phase that keeps the other one shut.
    #[must_use]
    pub fn phase(&self) -> &PhaseName {
        match self {
            Self::Unfinished { phase } | Self::FailedProof { phase, .. } => phase,
        }
    }
}

impl fmt::Display for Shut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfinished { phase } => f.write_str(phase.as_str()),
            Self::FailedProof { phase, detail } => {
                write!(f, "{phase} — proof-of-work failed: {detail}")
            }
        }
    }
}

#[cfg(test)]
mod tests;
