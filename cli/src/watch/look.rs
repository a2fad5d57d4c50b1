//! What one look at the disk found, as values. How it is found is `commands/watch/gather.rs`'s business.

use std::collections::BTreeMap;

use ratchet_engine::name::{AgentName, BatchName, ChangeName, PhaseName, SpawnId, StepKey};
use ratchet_engine::status::BatchStatus;
use ratchet_engine::time::Timestamp;
use ratchet_engine::transition::{StepKind, Transition};
use ratchet_engine::usage::Usd;
use ratchet_supervisor::project::StepState;

/// All that is shown, at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    /// The batches, in the order of their names.
    pub(crate) batches: Vec<Watched>,
    /// Why not everything could be looked at.
    pub(crate) problem: Option<String>,
}

/// One batch.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    pub(crate) name: BatchName,
    /// How it stands; or why that cannot be told, in the words of the commands.
    pub(crate) found: Result<Found, String>,
}

/// A batch that can be read.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) status: BatchStatus,
    /// The next move of each change that has one.
    pub(crate) moves: BTreeMap<ChangeName, Transition>,
    /// The proof of each phase.
    pub(crate) proofs: BTreeMap<PhaseName, Proof>,
    pub(crate) budget: Budget,
    /// The step that is not over.
    pub(crate) step: Option<Step>,
    /// What of its files cannot be made out.
    pub(crate) warnings: Vec<String>,
}

/// A phase's proof-of-work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proof {
    /// The command.
    pub(crate) run: String,
    pub(crate) verdict: ProofVerdict,
}

/// What is recorded of a proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProofVerdict {
    NotRun,
    Passed,
    /// It failed and lets the next phase begin all the same.
    Warned {
        why: String,
    },
    /// It failed and keeps the gate shut.
    Failed {
        why: String,
    },
}

/// What a batch may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Budget {
    pub(crate) usd: Option<Usd>,
    pub(crate) tokens: Option<u64>,
}

/// A step that has begun and is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) spawn: SpawnId,
    pub(crate) key: StepKey,
    /// `None` for a proof-of-work.
    pub(crate) kind: Option<StepKind>,
    pub(crate) agent: Option<AgentName>,
    pub(crate) state: StepState,
    /// When it was intended; `None` if the note cannot be read.
    pub(crate) since: Option<Timestamp>,
}

impl Step {
    /// Says what it does: `apply of add-cart`, or `proof-of-work:checkout`.
    pub(crate) fn what(&self) -> String {
        match self.kind {
            Some(kind) => format!("{kind} of {}", self.key),
            None => self.key.to_string(),
        }
    }

    /// Says for how long it has been going on, as a clock shows it.
    pub(crate) fn elapsed(&self, now: Timestamp) -> String {
        let since = self.since.unwrap_or(now);
        // A clock that was set back shows nothing below zero.
        let seconds = (now.unix_ms() - since.unix_ms()).max(0) / 1000;
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        match hours {
            0 => format!("{minutes:02}:{seconds:02}"),
            _ => format!("{hours}:{minutes:02}:{seconds:02}"),
        }
    }
}
