//! `batch.yaml` as checked values: what is wanted, never how far it is (spec `batch-manifest-and-settings` 2).
//!
//! [`parse`] is the only way in, for every command. The order of changes is checked apart, in [`crate::dag`]: a manifest
//! with a cycle can still be read, so that it can be shown and mended.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::name::{ChangeName, PhaseName};
use crate::settings::{Layer, Word};
use crate::yaml::{self, YamlError};

mod read;
#[cfg(test)]
mod tests;

pub use crate::yaml::reader::Issue;

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
    /// What `validate` refuses and every other command only tells: conditions that prove little (2.2).
    pub doubts: Vec<Issue>,
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
    /// Where it begins in the file, if it comes from one: line and column, from 1.
    #[serde(skip)]
    pub place: Option<(u32, u32)>,
}

/// The command that proves a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofOfWork {
    /// How the author thinks of the check; both kinds run alike.
    pub kind: ProofKind,
    /// The bash command, run as it is.
    pub run: String,
    /// The pass condition, trimmed text of spec `step-and-outcome` 9.3.
    pub pass: String,
}

/// The kinds of proof-of-work that `batch apply` can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProofKind {
    /// A command from inside the project.
    Integration,
    /// A command that treats the project as a black box.
    Blackbox,
}

const NOT_YAML: &str = "Failed to parse batch manifest YAML";

/// Says why a text is no manifest. The texts are those of spec 2.1, so the cause is in them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// The text is not YAML.
    #[error("{NOT_YAML}: {0}")]
    NotYaml(YamlError),
    /// The document is no map.
    #[error("Batch manifest must be a YAML object")]
    NotAMap,
    /// The map is no manifest.
    #[error("Invalid batch manifest:{}", lines(.issues))]
    Invalid {
        /// Everything that is wrong, never empty.
        issues: Vec<Issue>,
    },
    /// A phase asks for a proof that `batch apply` cannot run.
    #[error(
        "llm-judge proof-of-work is not yet supported by batch apply; use integration or blackbox."
    )]
    UnsupportedProof {
        /// Where the first such phase says so.
        path: String,
        /// The line, from 1.
        line: u32,
        /// The column, from 1.
        column: u32,
    },
}

/// Parses and checks a manifest.
///
/// # Errors
/// Says what is wrong; of a map that is no manifest, everything at once.
pub fn parse(text: &str) -> Result<Manifest, ManifestError> {
    let root = yaml::parse(text).map_err(ManifestError::NotYaml)?;
    read::manifest(&root)
}

/// As [`parse`], from bytes.
///
/// # Errors
/// As [`parse`]; bytes that are not UTF-8 are not YAML.
pub fn parse_bytes(bytes: &[u8]) -> Result<Manifest, ManifestError> {
    let root = yaml::parse_bytes(bytes).map_err(ManifestError::NotYaml)?;
    read::manifest(&root)
}

impl Manifest {
    /// Walks over all changes with their phases, in file order.
    pub fn changes(&self) -> impl Iterator<Item = (&Phase, &ChangeIntent)> {
        self.phases.iter().flat_map(|phase| phase.changes.iter().map(move |change| (phase, change)))
    }

    /// Returns the phase of a name.
    #[must_use]
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name.as_str() == name)
    }
}

impl ManifestError {
    /// Says where it is wrong, if that is known: the first issue's path and reason, or the path of the proof.
    #[must_use]
    pub fn location(&self) -> Option<String> {
        match self {
            Self::NotYaml(_) | Self::NotAMap => None,
            Self::Invalid { issues } => issues.first().map(ToString::to_string),
            Self::UnsupportedProof { path, .. } => Some(path.clone()),
        }
    }

    /// Gives what is wrong as a list, each with its place, as `ratchet validate` prints it.
    #[must_use]
    pub fn into_issues(self) -> Vec<Issue> {
        // Its place is said by members of its own.
        let message = match &self {
            Self::NotYaml(error) => format!("{NOT_YAML}: {}", error.problem),
            Self::NotAMap | Self::Invalid { .. } | Self::UnsupportedProof { .. } => {
                self.to_string()
            }
        };
        let one =
            |path: &str, line, column| vec![Issue { path: path.to_owned(), message, line, column }];
        match self {
            Self::NotYaml(error) => one("batch.yaml", Some(error.line), Some(error.column)),
            Self::NotAMap => one("batch.yaml", None, None),
            Self::Invalid { issues } => issues,
            Self::UnsupportedProof { path, line, column } => one(&path, Some(line), Some(column)),
        }
    }
}

impl ProofKind {
    /// Returns the word used in files and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Word::as_str(self)
    }
}

impl Word for ProofKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("integration", Self::Integration), ("blackbox", Self::Blackbox)];
}

fn lines(issues: &[Issue]) -> String {
    issues.iter().map(|issue| format!("\n  {issue}")).collect()
}
