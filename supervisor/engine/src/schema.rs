//! A workflow: which artifacts a change has, which come before which, and when it may be applied (spec `cli-core` 3.4).
//!
//! Where a workflow's files lie, and which outputs are on disk, is the store's. Called schema because its file is.

use std::collections::{BTreeMap, BTreeSet};

mod read;
#[cfg(test)]
mod tests;

pub use read::{SchemaError, parse};

/// A workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// Its name.
    pub name: String,
    /// Its artifacts, in the order in which they are to be made; of those that wait for the same, the first by name.
    pub artifacts: Vec<Artifact>,
    /// When and how its changes are applied.
    pub apply: Option<Apply>,
}

/// Something that a change is planned with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its id.
    pub id: String,
    /// The file or the pattern of files that it is, below the change's folder.
    pub generates: String,
    /// What it is.
    pub description: String,
    /// The file of its template.
    pub template: String,
    /// How it is made.
    pub instruction: Option<String>,
    /// The artifacts that have to be there first, as they stand in the file.
    pub requires: Vec<String>,
}

/// When and how changes are applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apply {
    /// The artifacts that have to be there.
    pub requires: Vec<String>,
    /// The file with the tasks, below the change's folder.
    pub tracks: Option<String>,
    /// How it is done.
    pub instruction: Option<String>,
}

/// How far an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ArtifactState {
    /// It is there.
    Done,
    /// It can be made.
    Ready,
    /// Others have to be made first.
    Blocked,
}

impl Schema {
    /// Finds an artifact.
    #[must_use]
    pub fn artifact(&self, id: &str) -> Option<&Artifact> {
        self.artifacts.iter().find(|artifact| artifact.id == id)
    }

    /// Lists the ids, in the order of the work.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.artifacts.iter().map(|artifact| artifact.id.as_str())
    }

    /// Names the artifacts that have to be there before a change is applied; all, if the workflow does not say.
    #[must_use]
    pub fn apply_requires(&self) -> Vec<&str> {
        match &self.apply {
            Some(apply) => apply.requires.iter().map(String::as_str).collect(),
            None => self.ids().collect(),
        }
    }

    /// Names what waits for an artifact, sorted.
    #[must_use]
    pub fn unlocks(&self, id: &str) -> Vec<&str> {
        let waits = |artifact: &&Artifact| artifact.requires.iter().any(|needed| needed == id);
        let found: BTreeSet<&str> =
            self.artifacts.iter().filter(waits).map(|artifact| artifact.id.as_str()).collect();
        found.into_iter().collect()
    }

    /// Finds the first artifact that can be made.
    #[must_use]
    pub fn next(&self, done: &BTreeSet<&str>) -> Option<&Artifact> {
        self.artifacts.iter().find(|artifact| artifact.state(done) == ArtifactState::Ready)
    }
}

impl Artifact {
    /// Says how far it is, when these are done.
    #[must_use]
    pub fn state(&self, done: &BTreeSet<&str>) -> ArtifactState {
        if done.contains(self.id.as_str()) {
            ArtifactState::Done
        } else if self.missing(done).is_empty() {
            ArtifactState::Ready
        } else {
            ArtifactState::Blocked
        }
    }

    /// Names what it waits for, when these are done; sorted.
    #[must_use]
    pub fn missing<'a>(&'a self, done: &BTreeSet<&str>) -> Vec<&'a str> {
        let open = self.requires.iter().map(String::as_str).filter(|id| !done.contains(id));
        open.collect::<BTreeSet<&str>>().into_iter().collect()
    }
}

/// Puts artifacts in order; `Err` holds the way round a circle.
fn ordered(artifacts: Vec<Artifact>) -> Result<Vec<Artifact>, Vec<String>> {
    let mut waiting: BTreeMap<String, Artifact> =
        artifacts.into_iter().map(|artifact| (artifact.id.clone(), artifact)).collect();
    let mut order: Vec<Artifact> = Vec::new();
    while !waiting.is_empty() {
        let is_free = |artifact: &Artifact| {
            artifact.requires.iter().all(|needed| !waiting.contains_key(needed))
        };
        let free: Vec<String> =
            waiting.values().filter(|artifact| is_free(artifact)).map(|a| a.id.clone()).collect();
        if free.is_empty() {
            return Err(circle(&waiting));
        }
        order.extend(free.iter().filter_map(|id| waiting.remove(id)));
    }
    Ok(order)
}

/// Walks round among artifacts that all wait for each other.
fn circle(waiting: &BTreeMap<String, Artifact>) -> Vec<String> {
    let mut way: Vec<String> = Vec::new();
    let mut at = waiting.keys().next();
    while let Some(id) = at {
        if let Some(begin) = way.iter().position(|seen| seen == id) {
            way.push(id.clone());
            return way.split_off(begin);
        }
        way.push(id.clone());
        at = waiting[id].requires.iter().find(|needed| waiting.contains_key(*needed));
    }
    way
}
