//! What an agent is told before it carries out a plan, or checks the result: `ratchet instructions apply` and `verify`
//! (spec `cli-core` 7.3). Whoever carries it out does not see what is held back; whoever checks it sees everything (Q24).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ratchet_engine::change;
use ratchet_engine::feature;
use ratchet_engine::name::ChangeName;
use serde::Serialize;

use super::super::Project;
use super::super::planning::{Planned, PlanningError};
use crate::error::Error;
use crate::store::file::{self, Doing, FileError, Limit, Of as _, folder_of};

/// What an agent is about to do with a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Carry it out.
    Apply,
    /// Check what came of it.
    Verify,
}

/// How far a plan can be worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// Something is missing.
    Blocked,
    /// No task is open.
    AllDone,
    /// It can be worked on.
    Ready,
}

/// How a plan is carried out or checked; what `instructions apply --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkInstructions {
    /// The change.
    pub change_name: ChangeName,
    /// Its folder.
    #[serde(serialize_with = "crate::lossy::path")]
    pub change_dir: PathBuf,
    /// Its workflow.
    pub schema_name: String,
    /// What is to be read, by artifact.
    #[serde(serialize_with = "crate::lossy::path_lists")]
    pub context_files: BTreeMap<String, Vec<PathBuf>>,
    /// How many tasks are done.
    pub progress: TaskProgress,
    /// The tasks.
    pub tasks: Vec<ListedTask>,
    /// How far it can be worked on.
    pub state: Readiness,
    /// What is missing, if that is why it is blocked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_artifacts: Vec<String>,
    /// How it is done.
    pub instruction: String,
}

/// How many tasks are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TaskProgress {
    /// All of them.
    pub total: usize,
    /// Those that are ticked.
    pub complete: usize,
    /// Those that are open.
    pub remaining: usize,
}

/// A task of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedTask {
    /// Its number, from 1.
    pub id: String,
    /// What is to be done.
    pub description: String,
    /// It is ticked.
    pub done: bool,
}

impl Project {
    /// Says how a change's plan is carried out or checked. For [`Work::Apply`], features with something held back are
    /// copied without it, and the copies are named.
    ///
    /// # Errors
    /// [`PlanningError`], or a copy that cannot be written.
    pub fn work_instructions(
        &self,
        work: Work,
        change: Option<&str>,
        schema: Option<&str>,
    ) -> Result<WorkInstructions, Error> {
        let planned = self.planned(change, schema)?;
        let done = planned.done();
        let missing: Vec<String> = planned
            .schema()
            .apply_requires()
            .into_iter()
            .filter(|id| !done.contains(id))
            .map(str::to_owned)
            .collect();
        let apply = planned.schema().apply.as_ref();
        let tracked = apply.and_then(|apply| apply.tracks.as_deref());
        let plan = match tracked {
            Some(file) => file::read_if_there(&planned.folder.dir().join(file), Limit::TEXT)?,
            None => None,
        };
        let text = plan.as_deref().map(String::from_utf8_lossy);
        let tasks = text.as_deref().map_or_else(Vec::new, listed);
        let complete = tasks.iter().filter(|task| task.done).count();
        let progress =
            TaskProgress { total: tasks.len(), complete, remaining: tasks.len() - complete };
        let (state, instruction) = match (missing.as_slice(), tracked, &text) {
            ([_, ..], _, _) => {
                (Readiness::Blocked, format!("Make these first: {}.", missing.join(", ")))
            }
            ([], Some(file), None) => {
                (Readiness::Blocked, format!("{file} is missing; make it first."))
            }
            ([], Some(file), Some(_)) if tasks.is_empty() => {
                (Readiness::Blocked, format!("{file} has no tasks; write them first."))
            }
            ([], Some(_), Some(_)) if progress.remaining == 0 => {
                (Readiness::AllDone, how(work, Readiness::AllDone, None))
            }
            ([], _, _) => {
                let own = apply.and_then(|apply| apply.instruction.as_deref());
                (Readiness::Ready, how(work, Readiness::Ready, own))
            }
        };
        Ok(WorkInstructions {
            change_dir: planned.folder.dir().to_owned(),
            schema_name: planned.schema().name.clone(),
            context_files: context_files(&planned, work)?,
            progress,
            tasks,
            state,
            missing_artifacts: missing,
            instruction,
            change_name: planned.change,
        })
    }
}

fn listed(text: &str) -> Vec<ListedTask> {
    // A box without a text is no task that anybody could carry out.
    let tasks = change::tasks(text).into_iter().filter(|task| !task.description.is_empty());
    let listed = |(number, task): (usize, change::Task)| ListedTask {
        id: number.to_string(),
        description: task.description,
        done: task.done,
    };
    (1..).zip(tasks).map(listed).collect()
}

fn how(work: Work, state: Readiness, own: Option<&str>) -> String {
    let text = match (work, state) {
        (Work::Verify, _) => {
            "Read every file under contextFiles, hold the code against each scenario, the plan and the standards, and end \
             with 'Ready for archive' or '<n> critical issue(s) found'."
        }
        (Work::Apply, Readiness::AllDone) => {
            "Every task is ticked. Verify the change, then archive it."
        }
        (Work::Apply, Readiness::Ready | Readiness::Blocked) => own.unwrap_or(
            "Read the files under contextFiles, carry out the open tasks in order, and tick each when it is done.",
        ),
    };
    text.trim().to_owned()
}

/// Names the files to read. Copies of an earlier call go first: a stale one must not be read.
fn context_files(planned: &Planned, work: Work) -> Result<BTreeMap<String, Vec<PathBuf>>, Error> {
    if work == Work::Verify {
        let there = planned.outputs.iter().filter(|(_, files)| !files.is_empty());
        return Ok(there.map(|(id, files)| (id.clone(), files.clone())).collect());
    }
    let copies = planned.folder.apply_context();
    match fs::remove_dir_all(&copies) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed.of(&copies, Doing::Remove)?,
    }
    let root = planned.folder.dir().canonicalize().of(planned.folder.dir(), Doing::Read)?;
    let mut context = BTreeMap::new();
    for (id, files) in planned.outputs.iter().filter(|(_, files)| !files.is_empty()) {
        let shown = |file: &PathBuf| {
            let is_feature = file.extension().is_some_and(|extension| extension == "feature");
            let below = file.strip_prefix(&root).ok().filter(|_| is_feature);
            match below {
                Some(below) => copy(file, &copies.join(id).join(below)),
                None => Ok(file.clone()),
            }
        };
        context.insert(id.clone(), files.iter().map(shown).collect::<Result<_, Error>>()?);
    }
    Ok(context)
}

/// Writes a feature without what is held back, and gives the place of the copy.
fn copy(source: &Path, target: &Path) -> Result<PathBuf, Error> {
    let gone = || FileError::new(source, Doing::Read, io::ErrorKind::NotFound.into());
    let bytes = file::read_if_there(source, Limit::TEXT)?.ok_or_else(gone)?;
    let text = String::from_utf8_lossy(&bytes);
    let kept = feature::without_holdouts(&text)
        .map_err(|fault| PlanningError::Unreadable { path: source.to_owned(), fault })?;
    let folder = folder_of(target);
    fs::create_dir_all(folder).of(folder, Doing::MakeFolder)?;
    file::create(target, kept.as_bytes())?;
    Ok(target.to_owned())
}
