//! `ratchet validate <batch>`: everything that is wrong with a manifest, as a list
//! (spec `batch-manifest-and-settings` 2.4).

use ratchet_engine::dag;
use ratchet_engine::manifest::Manifest;
use ratchet_engine::name::BatchName;
use serde::Serialize;

use super::Project;
use crate::error::Error;

/// What was found; one of the `items` of `validate --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ValidatedBatch {
    /// The folder's name.
    pub id: BatchName,
    /// Always `batch`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Nothing is wrong.
    pub valid: bool,
    /// Everything that is.
    pub issues: Vec<ValidationIssue>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ValidationIssue {
    /// Always `ERROR`.
    pub level: &'static str,
    /// Where in the manifest.
    pub path: String,
    /// What.
    pub message: String,
    /// The line, from 1, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl Project {
    /// Checks a batch's manifest and the order of its changes.
    ///
    /// # Errors
    /// Fails only if the manifest cannot be read at all.
    pub fn validate_batch(&self, batch: &BatchName) -> Result<ValidatedBatch, Error> {
        let issues: Vec<ValidationIssue> = match self.manifest(batch) {
            Ok(manifest) => {
                let doubts = manifest.doubts.iter().cloned().map(ValidationIssue::from);
                doubts.chain(order_issues(&manifest)).collect()
            }
            Err(Error::Manifest { error, .. }) => {
                error.into_issues().into_iter().map(ValidationIssue::from).collect()
            }
            Err(error) => return Err(error),
        };
        let valid = issues.is_empty();
        Ok(ValidatedBatch { id: batch.clone(), kind: "batch", valid, issues })
    }
}

fn order_issues(manifest: &Manifest) -> Vec<ValidationIssue> {
    let mut issues = Vec::new();
    for phase in &manifest.phases {
        issues.extend(dag::misordered(phase).into_iter().map(|found| ValidationIssue {
            level: "ERROR",
            path: format!("phases.{}", found.phase),
            message: found.error.to_string(),
            line: found.place.map(|(line, _)| line),
            column: found.place.map(|(_, column)| column),
        }));
    }
    issues
}

impl From<ratchet_engine::manifest::Issue> for ValidationIssue {
    fn from(issue: ratchet_engine::manifest::Issue) -> Self {
        Self {
            level: "ERROR",
            path: issue.path,
            message: issue.message,
            line: issue.line,
            column: issue.column,
        }
    }
}
