//! `batch.yaml` as checked values: what is wanted, never how far it is (spec `batch-manifest-and-settings` 2).

use serde::Serialize;

use crate::name::{ChangeName, PhaseName};
use crate::settings::Layer;

/// A batch as its author wrote it.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The `name` member. The folder's name, not this, is the batch's name (OQ-29).
    pub name: String,
    /// The `created` member, free text.
    pub created: Option<String>,
    /// The `settings` member: the nearest layer of the settings cascade.
    pub settings: Layer,
    /// The phases, in order. Names are unique, and so are change names over the whole batch (OQ-14).
    pub phases: Vec<Phase>,
}

/// One ordered slice of a batch, closed by a proof-of-work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// Unique within the batch.
    pub name: PhaseName,
    /// What the phase is for.
    pub goal: String,
    /// How its author recognises that it worked.
    pub success: String,
    /// The command that closes the phase.
    #[serde(rename = "proofOfWork")]
    pub proof: ProofOfWork,
    /// The changes in file order; empty means "not decomposed yet".
    pub changes: Vec<ChangeIntent>,
}

/// One wanted change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeIntent {
    /// Unique within the batch.
    pub name: ChangeName,
    /// Changes of the same phase that come first.
    pub after: Vec<ChangeName>,
    /// The definition of done.
    pub done: String,
}

/// The command that proves a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProofOfWork {
    /// How the author thinks of the check; both kinds run alike.
    pub kind: ProofKind,
    /// The bash command, run as it is.
    pub run: String,
    /// The pass condition, trimmed text of spec `step-and-outcome` 9.3.
    pub pass: String,
}

/// The kinds of proof-of-work that `batch apply` can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProofKind {
    /// A command from inside the project.
    Integration,
    /// A command that treats the project as a black box.
    Blackbox,
}

impl ProofKind {
    /// Returns the word used in files and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Integration => "integration",
            Self::Blackbox => "blackbox",
        }
    }
}
