//! A change: its metadata, features, plan and standards; and the features of a capability (spec `cli-core` 8).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ratchet_engine::feature;
use ratchet_engine::level::Level;
use ratchet_engine::metadata::{Metadata, MetadataError};
use ratchet_engine::name::ChangeName;
use ratchet_engine::plan;
use ratchet_engine::standard::shared_tags;

use super::ValidationIssue;
use crate::error::{Error, with_causes};
use crate::project::Project;
use crate::store::file::{self, Limit};
use crate::store::layout::ChangeDir;
use crate::store::{features, metadata, standards, workflow};

/// What every change is held against.
pub(crate) struct Rules {
    tags: BTreeSet<String>,
    shared: Vec<String>,
    schemas: BTreeSet<String>,
}

impl Rules {
    pub(crate) fn read(project: &Project) -> Result<Self, Error> {
        let standards = standards::read_all(project.layout())?;
        let schemas = workflow::names(project.layout(), project.environment());
        Ok(Self {
            shared: shared_tags(&standards).into_iter().map(str::to_owned).collect(),
            tags: standards.into_iter().map(|standard| standard.tag).collect(),
            schemas: schemas.into_iter().collect(),
        })
    }
}

/// Checks a change.
pub(crate) fn check(
    project: &Project,
    change: &ChangeName,
    rules: &Rules,
) -> Result<Vec<ValidationIssue>, Error> {
    let folder = project.layout().change(change);
    let mut issues = check_metadata(&folder, rules);
    issues.extend(check_features(&folder)?);
    issues.extend(check_plan(&folder));
    issues.extend(check_standards(&folder, rules));
    Ok(issues)
}

/// Checks the features of a change. It must have some.
fn check_features(folder: &ChangeDir) -> Result<Vec<ValidationIssue>, Error> {
    check_files(&folder.features(), &features::of_change(folder)?, Path::new(""))
}

/// Checks the features of a capability in the store.
pub(super) fn check_spec(project: &Project, id: &str) -> Result<Vec<ValidationIssue>, Error> {
    let stored = features::stored(project.layout())?;
    let (capability, own): (_, Vec<PathBuf>) =
        (Path::new(id), stored.into_iter().filter(|path| path.starts_with(id)).collect());
    check_files(&project.layout().features(), &own, capability)
}

fn check_files(
    folder: &Path,
    files: &[PathBuf],
    capability: &Path,
) -> Result<Vec<ValidationIssue>, Error> {
    if files.is_empty() {
        let path = Path::new("features").join(capability).display().to_string();
        let path = path.trim_end_matches('/').to_owned();
        let message = "no .feature file was found; write at least one".to_owned();
        return Ok(vec![error(path, message)]);
    }
    let mut issues = Vec::new();
    for file in files {
        let shown = format!("features/{}", file.display());
        match file::read_if_there(&folder.join(file), Limit::TEXT) {
            Ok(bytes) => issues.extend(feature_issues(&shown, &bytes.unwrap_or_default())),
            Err(unreadable) => issues.push(error(shown, with_causes(&unreadable))),
        }
    }
    Ok(issues)
}

fn feature_issues(path: &str, bytes: &[u8]) -> Vec<ValidationIssue> {
    let issue = |fault: feature::Fault| ValidationIssue {
        level: fault.flaw.level(),
        path: match fault.scenario {
            Some(index) => format!("{path}#scenario[{index}]"),
            None => path.to_owned(),
        },
        message: fault.flaw.to_string(),
        line: Some(fault.place.line),
        column: Some(fault.place.column),
    };
    feature::check(&String::from_utf8_lossy(bytes)).into_iter().map(issue).collect()
}

/// Checks a change's plan.
pub(crate) fn check_plan(folder: &ChangeDir) -> Vec<ValidationIssue> {
    let path = || "plan.md".to_owned();
    let bytes = match file::read_if_there(&folder.plan(), Limit::TEXT) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return vec![error(path(), "the plan is missing".to_owned())],
        Err(unreadable) => return vec![error(path(), with_causes(&unreadable))],
    };
    let issue = |fault: plan::PlanFault| ValidationIssue {
        level: fault.flaw.level(),
        path: path(),
        message: fault.flaw.to_string(),
        line: fault.line,
        column: None,
    };
    plan::check(&String::from_utf8_lossy(&bytes)).into_iter().map(issue).collect()
}

/// Checks that the standards have one tag each, and that the change names none that is not there.
pub(crate) fn check_standards(folder: &ChangeDir, rules: &Rules) -> Vec<ValidationIssue> {
    let shared = rules.shared.iter().map(|tag| {
        let message = format!("more than one standard has the tag '{tag}'");
        error("standards".to_owned(), message)
    });
    let declared: BTreeSet<String> = metadata::declared_tags(folder).into_iter().collect();
    let unknown = declared.into_iter().filter(|tag| !rules.tags.contains(tag)).map(|tag| {
        let message = format!("no standard in .ratchet/standards has the tag '{tag}'");
        error(".ratchet.yaml".to_owned(), message)
    });
    shared.chain(unknown).collect()
}

fn check_metadata(folder: &ChangeDir, rules: &Rules) -> Vec<ValidationIssue> {
    let path = || ".ratchet.yaml".to_owned();
    match metadata::read(folder) {
        Ok(None) => {
            let message = "there is no .ratchet.yaml, so the project's workflow applies".to_owned();
            vec![ValidationIssue { level: Level::Warning, ..error(path(), message) }]
        }
        Ok(Some(Metadata { schema, .. })) if !rules.schemas.contains(&schema) => {
            vec![error(path(), format!("schema: there is no workflow '{schema}'"))]
        }
        Ok(Some(_)) => Vec::new(),
        Err(metadata::ReadError::Metadata(MetadataError::Member { member, why, line, column })) => {
            let issue = error(path(), format!("{member}: {why}"));
            vec![ValidationIssue { line: Some(line), column: Some(column), ..issue }]
        }
        Err(other) => vec![error(path(), with_causes(&other))],
    }
}

fn error(path: String, message: String) -> ValidationIssue {
    ValidationIssue { level: Level::Error, path, message, line: None, column: None }
}
