//! `ratchet validate`: everything that is wrong with a change, with the features of a capability, or with a batch's
//! manifest, as a list (spec `cli-core` 8, `batch-manifest-and-settings` 2.4).
//!
//! The rules are the engine's; here the files are read and the findings get their places.

use ratchet_engine::level::Level;
use ratchet_engine::name::{BatchName, ChangeName};
use ratchet_engine::nearest::nearest;
use serde::Serialize;

use super::Project;
use crate::error::Error;

mod batch;
pub(super) mod change;

/// What can be validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A change.
    Change(ChangeName),
    /// The features of a capability.
    Spec(String),
    /// A batch's manifest.
    Batch(BatchName),
}

/// What is looked for under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Changes.
    Change,
    /// Capabilities.
    Spec,
    /// Batches.
    Batch,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One thing.
    One(Subject),
    /// A change and a capability.
    Ambiguous,
    /// Nothing; these names are near.
    Nothing(Vec<String>),
}

/// Whether warnings count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Only errors make something invalid.
    Lenient,
    /// Warnings do, too.
    Strict,
}

/// What was found; one of the `items` of `validate --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Validated {
    /// Its name.
    pub id: String,
    /// `change`, `spec` or `batch`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Nothing makes it invalid.
    pub valid: bool,
    /// Everything that was found.
    pub issues: Vec<ValidationIssue>,
    /// How long it took, in milliseconds; not told of a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ValidationIssue {
    /// How much it weighs.
    pub level: Level,
    /// Where.
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
    /// Finds what a name stands for: a change, else a capability, else a batch; or only one of these kinds.
    ///
    /// # Errors
    /// Fails if a folder is there and cannot be read.
    pub fn find_subject(&self, name: &str, scope: Option<Scope>) -> Result<Found, Error> {
        let wants = |kind| scope.is_none_or(|scope| scope == kind);
        let changes = if wants(Scope::Change) { self.change_names()? } else { Vec::new() };
        let specs = if wants(Scope::Spec) { self.list_specs()? } else { Vec::new() };
        let batches = if wants(Scope::Batch) { self.batch_names()? } else { Vec::new() };
        let change = changes.iter().find(|change| change.as_str() == name);
        let spec = specs.iter().find(|spec| spec.id == name);
        let batch = batches.iter().find(|batch| batch.as_str() == name);
        Ok(match (change, spec, batch) {
            (Some(_), Some(_), _) => Found::Ambiguous,
            (Some(change), None, _) => Found::One(Subject::Change(change.clone())),
            (None, Some(spec), _) => Found::One(Subject::Spec(spec.id.clone())),
            (None, None, Some(batch)) => Found::One(Subject::Batch(batch.clone())),
            (None, None, None) => {
                let known = changes
                    .iter()
                    .map(ChangeName::as_str)
                    .chain(specs.iter().map(|spec| spec.id.as_str()))
                    .chain(batches.iter().map(BatchName::as_str));
                Found::Nothing(nearest(name, known).into_iter().map(str::to_owned).collect())
            }
        })
    }

    /// Lists everything of these kinds, sorted by name.
    ///
    /// # Errors
    /// Fails if a folder is there and cannot be read.
    pub fn subjects(&self, scopes: &[Scope]) -> Result<Vec<Subject>, Error> {
        let mut found = Vec::new();
        for scope in scopes {
            match scope {
                Scope::Change => {
                    found.extend(self.change_names()?.into_iter().map(Subject::Change))
                }
                Scope::Spec => {
                    found.extend(self.list_specs()?.into_iter().map(|spec| Subject::Spec(spec.id)));
                }
                Scope::Batch => found.extend(self.batch_names()?.into_iter().map(Subject::Batch)),
            }
        }
        found.sort_by(|one, other| one.id().cmp(other.id()));
        Ok(found)
    }

    /// Checks several things.
    ///
    /// # Errors
    /// Fails only if a file cannot be read at all.
    pub fn validate(
        &self,
        subjects: &[Subject],
        strictness: Strictness,
    ) -> Result<Vec<Validated>, Error> {
        // What all of them are held against is read once.
        let rules = change::Rules::read(self)?;
        let check = |subject: &Subject| {
            let begin = self.now().unix_ms();
            let issues = match subject {
                Subject::Change(change) => change::check(self, change, &rules)?,
                Subject::Spec(capability) => change::check_spec(self, capability)?,
                Subject::Batch(batch) => batch::check(self, batch)?,
            };
            let weighs = |issue: &ValidationIssue| match issue.level {
                Level::Error => true,
                Level::Warning => strictness == Strictness::Strict,
                Level::Info => false,
            };
            let took = u64::try_from(self.now().unix_ms() - begin).unwrap_or_default();
            Ok(Validated {
                id: subject.id().to_owned(),
                kind: subject.kind(),
                valid: !issues.iter().any(weighs),
                issues,
                duration_ms: (!matches!(subject, Subject::Batch(_))).then_some(took),
            })
        };
        subjects.iter().map(check).collect()
    }
}

impl Subject {
    /// Returns its name.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Change(name) => name.as_str(),
            Self::Spec(id) => id,
            Self::Batch(name) => name.as_str(),
        }
    }

    /// Returns the word for what it is.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Change(_) => "change",
            Self::Spec(_) => "spec",
            Self::Batch(_) => "batch",
        }
    }
}
