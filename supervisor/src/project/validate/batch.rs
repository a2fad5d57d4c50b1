//! A batch's manifest and the order of its changes (spec `batch-manifest-and-settings` 2.4).

use ratchet_engine::dag;
use ratchet_engine::level::Level;
use ratchet_engine::manifest::{Issue, Manifest};
use ratchet_engine::name::BatchName;

use super::ValidationIssue;
use crate::error::Error;
use crate::project::Project;

pub(super) fn check(project: &Project, batch: &BatchName) -> Result<Vec<ValidationIssue>, Error> {
    match project.manifest(batch) {
        Ok(manifest) => {
            let doubts = manifest.doubts.iter().cloned().map(ValidationIssue::from);
            Ok(doubts.chain(order_issues(&manifest)).collect())
        }
        Err(Error::Manifest { error, .. }) => {
            Ok(error.into_issues().into_iter().map(ValidationIssue::from).collect())
        }
        Err(error) => Err(error),
    }
}

fn order_issues(manifest: &Manifest) -> Vec<ValidationIssue> {
    let mut issues = Vec::new();
    for phase in &manifest.phases {
        issues.extend(dag::misordered(phase).into_iter().map(|found| ValidationIssue {
            level: Level::Error,
            path: format!("phases.{}", found.phase),
            message: found.error.to_string(),
            line: found.place.map(|(line, _)| line),
            column: found.place.map(|(_, column)| column),
        }));
    }
    issues
}

impl From<Issue> for ValidationIssue {
    fn from(issue: Issue) -> Self {
        Self {
            level: Level::Error,
            path: issue.path,
            message: issue.message,
            line: issue.line,
            column: issue.column,
        }
    }
}
