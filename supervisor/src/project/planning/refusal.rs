//! Why a change cannot be planned, made, shown or validated, in the words that a person sees.

use std::path::PathBuf;

use ratchet_engine::feature::Fault;
use ratchet_engine::metadata::MetadataError;
use ratchet_engine::name::{ChangeName, NameError};
use thiserror::Error;

use crate::error::Error as DoorError;
use crate::store::layout::ChangeDir;
use crate::store::metadata::ReadError;
use crate::store::workflow::WorkflowError;

/// Why a change cannot be planned. Nothing was written.
#[derive(Debug, Error)]
pub enum PlanningError {
    /// A new change cannot have this name.
    #[error("{why}")]
    BadName {
        /// Which rule it breaks.
        why: NameError,
    },
    /// A change of that name is there.
    #[error("Change '{change}' already exists at .ratchet/changes/{change}")]
    Exists {
        /// The change.
        change: ChangeName,
    },
    /// The project has no folder for changes.
    #[error("No changes directory found at {}. Run 'ratchet init' first.", folder.display())]
    NoFolder {
        /// Where it would be.
        folder: PathBuf,
    },
    /// Nobody said which change is meant.
    #[error("Missing required option --change.{}", available(known))]
    ChangeNeeded {
        /// Those that are there.
        known: Vec<ChangeName>,
    },
    /// There is no change of that name.
    #[error("Change '{name}' not found.{}", available(known))]
    NoSuchChange {
        /// The name that was given.
        name: String,
        /// Those that are there.
        known: Vec<ChangeName>,
    },
    /// Nobody said which artifact is meant.
    #[error("Missing required argument <artifact>. Valid artifacts: {}", known.join(", "))]
    ArtifactNeeded {
        /// Those of the workflow.
        known: Vec<String>,
    },
    /// The workflow has no artifact of that name.
    #[error("Artifact '{name}' not found in schema '{schema}'. Valid artifacts: {}", known.join(", "))]
    NoSuchArtifact {
        /// The name that was given.
        name: String,
        /// The workflow.
        schema: String,
        /// Those of the workflow.
        known: Vec<String>,
    },
    /// The workflow has no template of that name.
    #[error("Template '{name}' not found in schema '{schema}'")]
    NoSuchTemplate {
        /// The name that was given.
        name: String,
        /// The workflow.
        schema: String,
    },
    /// There is no workflow.
    #[error(transparent)]
    Workflow(WorkflowError),
    /// A change's metadata is none.
    #[error("{} is invalid", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: MetadataError,
    },
    /// A feature of which nobody can say what is held back, because it cannot be read.
    #[error("{} cannot be shown, because it is no feature: {fault}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        fault: Fault,
    },
}

impl PlanningError {
    /// Returns a name that never changes.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadName { .. } => "bad-change-name",
            Self::Exists { .. } => "change-exists",
            Self::NoFolder { .. } => "not-initialised",
            Self::ChangeNeeded { .. } => "change-name-needed",
            Self::NoSuchChange { .. } => "change-not-found",
            Self::ArtifactNeeded { .. } | Self::NoSuchArtifact { .. } => "artifact-not-found",
            Self::NoSuchTemplate { .. } => "template-not-found",
            Self::Workflow(WorkflowError::NotFound { .. }) => "schema-not-found",
            Self::Workflow(WorkflowError::Invalid { .. }) => "bad-schema",
            Self::Workflow(WorkflowError::File(_)) => "file-error",
            Self::Metadata { .. } => "bad-metadata",
            Self::Unreadable { .. } => "bad-feature",
        }
    }

    /// Says what to type next, if anything helps.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::BadName { .. } => "for example 'ratchet new change add-search'".to_owned(),
            Self::Exists { change } => {
                format!("take another name, or go on with it: 'ratchet status --change {change}'")
            }
            Self::NoFolder { .. } | Self::ArtifactNeeded { .. } => return None,
            Self::ChangeNeeded { known } | Self::NoSuchChange { known, .. } if known.is_empty() => {
                "make one with 'ratchet new change <name>'".to_owned()
            }
            Self::ChangeNeeded { known } | Self::NoSuchChange { known, .. } => {
                format!("for example '--change {}'", known[0])
            }
            Self::NoSuchArtifact { .. } => "'apply' and 'verify' have instructions too".to_owned(),
            Self::NoSuchTemplate { .. } => {
                "for example 'ratchet template plan', 'feature', 'standard' or 'batch'".to_owned()
            }
            Self::Workflow(WorkflowError::NotFound { .. }) => {
                "a workflow is a folder .ratchet/schemas/<name>/ with a schema.yaml".to_owned()
            }
            Self::Workflow(WorkflowError::Invalid { path, .. }) => {
                format!("mend {} and run the command again", path.display())
            }
            Self::Workflow(WorkflowError::File(error)) => error.help(),
            Self::Metadata { path, .. } | Self::Unreadable { path, .. } => {
                format!("mend {} and run the command again", path.display())
            }
        })
    }
}

/// Tells a change's metadata that is none from a file that cannot be read.
pub(super) fn of_metadata(change: &ChangeDir, error: ReadError) -> DoorError {
    match error {
        ReadError::File(error) => error.into(),
        ReadError::Metadata(error) => {
            PlanningError::Metadata { path: change.metadata(), error }.into()
        }
    }
}

fn available(known: &[ChangeName]) -> String {
    if known.is_empty() {
        return " There are no changes yet.".to_owned();
    }
    let names: String = known.iter().map(|name| format!("\n  {name}")).collect();
    format!(" Available changes:{names}")
}
