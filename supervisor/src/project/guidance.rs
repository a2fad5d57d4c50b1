//! What an agent is told before it makes an artifact: `ratchet instructions <artifact>` (spec `cli-core` 7.2). Carrying out
//! a plan and checking it is [`work`]'s.

use std::path::PathBuf;

use ratchet_engine::name::ChangeName;
use ratchet_engine::schema::Artifact;
use ratchet_engine::standard::Standard;
use serde::Serialize;

use super::Project;
use super::planning::{Planned, PlanningError, PlanningHome};
use crate::error::Error;
use crate::store::{settings, standards};

pub mod work;

pub use work::{Readiness, Work, WorkInstructions};

/// How an artifact is made; what `instructions <artifact> --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Instructions {
    /// The change.
    pub change_name: ChangeName,
    /// The artifact.
    pub artifact_id: String,
    /// The workflow.
    pub schema_name: String,
    /// The change's folder.
    #[serde(serialize_with = "crate::lossy::path")]
    pub change_dir: PathBuf,
    /// Where changes are planned.
    pub planning_home: PlanningHome,
    /// Where it goes, as the workflow says it.
    pub output_path: String,
    /// The same, absolute.
    #[serde(serialize_with = "crate::lossy::path")]
    pub resolved_output_path: PathBuf,
    /// The files that are there, absolute.
    #[serde(serialize_with = "crate::lossy::paths")]
    pub existing_output_paths: Vec<PathBuf>,
    /// What it is.
    pub description: String,
    /// How it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// What the project says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What the project wants kept to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// What it looks like.
    pub template: String,
    /// The project's standards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub standards: Vec<Standard>,
    /// What it is made from.
    pub dependencies: Vec<Dependency>,
    /// What waits for it.
    pub unlocks: Vec<String>,
    /// Rules of the project for artifacts that the workflow does not have; told apart from the answer.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Something an artifact is made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dependency {
    /// Its id.
    pub id: String,
    /// It is there.
    pub done: bool,
    /// Where it goes, as the workflow says it.
    pub path: String,
    /// What it is.
    pub description: String,
}

impl Project {
    /// Says how an artifact of a change is made.
    ///
    /// # Errors
    /// [`PlanningError`].
    pub fn instructions(
        &self,
        artifact: Option<&str>,
        change: Option<&str>,
        schema: Option<&str>,
    ) -> Result<Instructions, Error> {
        let planned = self.planned(change, schema)?;
        let artifact = found(&planned, artifact)?;
        let config = settings::read_project(self.layout())?;
        let unknown =
            config.rules.keys().filter(|id| planned.schema().artifact(id).is_none()).cloned();
        let warnings = unknown
            .map(|id| {
                format!(".ratchet/config.yaml: rules.{id}: the workflow has no such artifact")
            })
            .collect();
        let done = planned.done();
        let dependency = |id: &String| {
            let needed = planned.schema().artifact(id)?;
            Some(Dependency {
                id: id.clone(),
                done: done.contains(id.as_str()),
                path: needed.generates.clone(),
                description: needed.description.clone(),
            })
        };
        let paths = planned.paths(artifact);
        let template = planned.workflow.template(&artifact.template)?.ok_or_else(|| {
            PlanningError::NoSuchTemplate {
                name: artifact.template.clone(),
                schema: planned.schema().name.clone(),
            }
        })?;
        Ok(Instructions {
            artifact_id: artifact.id.clone(),
            schema_name: planned.schema().name.clone(),
            change_dir: planned.folder.dir().to_owned(),
            planning_home: self.planning_home()?,
            output_path: paths.output_path,
            resolved_output_path: paths.resolved_output_path,
            existing_output_paths: paths.existing_output_paths,
            description: artifact.description.clone(),
            instruction: artifact.instruction.clone(),
            context: config.context,
            rules: config.rules.get(&artifact.id).cloned().unwrap_or_default(),
            template,
            standards: standards::read_all(self.layout())?,
            dependencies: artifact.requires.iter().filter_map(dependency).collect(),
            unlocks: planned
                .schema()
                .unlocks(&artifact.id)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            warnings,
            change_name: planned.change.clone(),
        })
    }

    /// Reads a template of a workflow.
    ///
    /// # Errors
    /// [`PlanningError::NoSuchTemplate`], or no such workflow.
    pub fn template(&self, name: &str, schema: Option<&str>) -> Result<String, Error> {
        let schema = schema.unwrap_or(settings::DEFAULT_SCHEMA);
        let workflow = crate::store::workflow::load(self.layout(), self.environment(), schema)
            .map_err(PlanningError::Workflow)?;
        let missing =
            || PlanningError::NoSuchTemplate { name: name.to_owned(), schema: schema.to_owned() };
        Ok(workflow.template(name)?.ok_or_else(missing)?)
    }
}

fn found<'a>(planned: &'a Planned, artifact: Option<&str>) -> Result<&'a Artifact, PlanningError> {
    let known = || planned.schema().ids().map(str::to_owned).collect();
    let Some(name) = artifact else {
        return Err(PlanningError::ArtifactNeeded { known: known() });
    };
    let schema = planned.schema().name.clone();
    let missing =
        || PlanningError::NoSuchArtifact { name: name.to_owned(), schema, known: known() };
    planned.schema().artifact(name).ok_or_else(missing)
}
