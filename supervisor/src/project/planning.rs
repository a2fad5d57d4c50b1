//! How far a change is planned: its workflow, which of its artifacts are there, which comes next (spec `cli-core` 7.1).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ratchet_engine::name::ChangeName;
use ratchet_engine::schema::{Artifact, ArtifactState, Schema};
use serde::Serialize;

use super::Project;
use crate::error::Error;
use crate::store::layout::ChangeDir;
use crate::store::workflow::{self, Workflow};
use crate::store::{change, metadata, outputs};

mod refusal;

pub use refusal::PlanningError;

/// How far a change is planned; what `status --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanningStatus {
    /// The change.
    pub change_name: ChangeName,
    /// Its workflow.
    pub schema_name: String,
    /// Where it is planned.
    pub planning_home: PlanningHome,
    /// Its folder.
    #[serde(serialize_with = "crate::lossy::path")]
    pub change_root: PathBuf,
    /// Where the artifacts go, by id.
    pub artifact_paths: BTreeMap<String, ArtifactPaths>,
    /// Every artifact is there.
    pub is_complete: bool,
    /// What has to be there before it is applied.
    pub apply_requires: Vec<String>,
    /// What to type next.
    pub next_steps: Vec<String>,
    /// What an agent may do here.
    pub action_context: ActionContext,
    /// The artifacts, in the order of the work.
    pub artifacts: Vec<ArtifactRow>,
}

/// Where changes are planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanningHome {
    /// Always `repo`.
    pub kind: &'static str,
    /// The project's root.
    #[serde(serialize_with = "crate::lossy::path")]
    pub root: PathBuf,
    /// The folder of the changes.
    #[serde(serialize_with = "crate::lossy::path")]
    pub changes_dir: PathBuf,
    /// The workflow of new changes.
    pub default_schema: String,
}

/// Where an artifact goes, and what of it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactPaths {
    /// As the workflow says it.
    pub output_path: String,
    /// The same, absolute.
    #[serde(serialize_with = "crate::lossy::path")]
    pub resolved_output_path: PathBuf,
    /// The files that are there, absolute.
    #[serde(serialize_with = "crate::lossy::paths")]
    pub existing_output_paths: Vec<PathBuf>,
}

/// One artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactRow {
    /// Its id.
    pub id: String,
    /// Where it goes, as the workflow says it.
    pub output_path: String,
    /// How far it is.
    pub status: ArtifactState,
    /// What it waits for, if it does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_deps: Vec<String>,
}

/// What an agent may do here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionContext {
    mode: &'static str,
    source_of_truth: &'static str,
    planning_artifacts: Vec<String>,
    linked_context: [&'static str; 0],
    #[serde(serialize_with = "crate::lossy::paths")]
    allowed_edit_roots: Vec<PathBuf>,
    requires_affected_area_selection: bool,
    constraints: [&'static str; 2],
}

const CONSTRAINTS: [&str; 2] = [
    "Planning artifacts of the change go below changeRoot, code anywhere in the repository.",
    "Leave other changes, batch manifests and run state under .ratchet alone.",
];

/// A change with its workflow and what is there of it.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) change: ChangeName,
    pub(super) folder: ChangeDir,
    pub(super) workflow: Workflow,
    pub(super) outputs: BTreeMap<String, Vec<PathBuf>>,
}

impl Project {
    /// Lists the changes that are not archived, sorted.
    ///
    /// # Errors
    /// Fails if their folder is there and cannot be read.
    pub fn change_names(&self) -> Result<Vec<ChangeName>, Error> {
        Ok(change::folders(self.layout())?)
    }

    /// Says how far a change is planned.
    ///
    /// # Errors
    /// [`PlanningError`].
    pub fn planning_status(
        &self,
        change: Option<&str>,
        schema: Option<&str>,
    ) -> Result<PlanningStatus, Error> {
        let planned = self.planned(change, schema)?;
        let done = planned.done();
        let schema = planned.schema();
        let row = |artifact: &Artifact| ArtifactRow {
            id: artifact.id.clone(),
            output_path: artifact.generates.clone(),
            status: artifact.state(&done),
            missing_deps: match artifact.state(&done) {
                ArtifactState::Blocked => {
                    artifact.missing(&done).into_iter().map(str::to_owned).collect()
                }
                ArtifactState::Done | ArtifactState::Ready => Vec::new(),
            },
        };
        let artifacts: Vec<ArtifactRow> = schema.artifacts.iter().map(row).collect();
        let is_complete = artifacts.iter().all(|row| row.status == ArtifactState::Done);
        let paths = |artifact: &Artifact| (artifact.id.clone(), planned.paths(artifact));
        Ok(PlanningStatus {
            schema_name: schema.name.clone(),
            planning_home: self.planning_home()?,
            change_root: planned.folder.dir().to_owned(),
            artifact_paths: schema.artifacts.iter().map(paths).collect(),
            is_complete,
            apply_requires: schema.apply_requires().into_iter().map(str::to_owned).collect(),
            next_steps: next_steps(&planned),
            action_context: ActionContext {
                mode: "repo-local",
                source_of_truth: "repo",
                planning_artifacts: schema.ids().map(str::to_owned).collect(),
                linked_context: [],
                allowed_edit_roots: vec![self.root().to_owned()],
                requires_affected_area_selection: false,
                constraints: CONSTRAINTS,
            },
            artifacts,
            change_name: planned.change.clone(),
        })
    }

    pub(super) fn planning_home(&self) -> Result<PlanningHome, Error> {
        Ok(PlanningHome {
            kind: "repo",
            root: self.root().to_owned(),
            changes_dir: self.layout().changes(),
            default_schema: self.default_schema()?,
        })
    }

    /// Finds a change and its workflow: the one that is asked for, else the change's own, else the project's.
    pub(super) fn planned(
        &self,
        change: Option<&str>,
        schema: Option<&str>,
    ) -> Result<Planned, Error> {
        let change = self.known_change(change)?;
        let folder = self.layout().change(&change);
        let name = match schema {
            Some(name) => name.to_owned(),
            None => match metadata::read(&folder) {
                Ok(Some(metadata)) => metadata.schema,
                Ok(None) => self.default_schema()?,
                Err(error) => return Err(refusal::of_metadata(&folder, error)),
            },
        };
        let workflow = workflow::load(self.layout(), self.environment(), &name)
            .map_err(PlanningError::Workflow)?;
        let found = |artifact: &Artifact| {
            (artifact.id.clone(), outputs::find(folder.dir(), &artifact.generates))
        };
        let outputs = workflow.schema.artifacts.iter().map(found).collect();
        Ok(Planned { change, folder, workflow, outputs })
    }

    /// Finds a change by its name, among those that are there: a name that leaves their folder is none of them.
    pub(super) fn known_change(&self, name: Option<&str>) -> Result<ChangeName, Error> {
        let known = self.change_names()?;
        let found = name.and_then(|name| known.iter().find(|change| change.as_str() == name));
        match (found, name) {
            (Some(change), _) => Ok(change.clone()),
            (None, Some(name)) => {
                Err(PlanningError::NoSuchChange { name: name.to_owned(), known }.into())
            }
            (None, None) => Err(PlanningError::ChangeNeeded { known }.into()),
        }
    }
}

impl Planned {
    pub(super) fn schema(&self) -> &Schema {
        &self.workflow.schema
    }

    /// Names the artifacts that are there.
    pub(super) fn done(&self) -> BTreeSet<&str> {
        let there = self.outputs.iter().filter(|(_, files)| !files.is_empty());
        there.map(|(id, _)| id.as_str()).collect()
    }

    pub(super) fn paths(&self, artifact: &Artifact) -> ArtifactPaths {
        ArtifactPaths {
            output_path: artifact.generates.clone(),
            resolved_output_path: self.folder.dir().join(&artifact.generates),
            existing_output_paths: self.outputs.get(&artifact.id).cloned().unwrap_or_default(),
        }
    }
}

fn next_steps(planned: &Planned) -> Vec<String> {
    if planned.done().len() == planned.schema().artifacts.len() {
        return vec!["All planning artifacts are complete.".to_owned()];
    }
    let next = planned.schema().next(&planned.done());
    let step = |artifact: &Artifact| {
        format!("ratchet instructions {} --change \"{}\" --json", artifact.id, planned.change)
    };
    next.map(step).into_iter().collect()
}
