//! Changes and the feature store at a glance, and new changes (spec `cli-core` 6 and 7.5).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ratchet_engine::name::ChangeName;
use ratchet_engine::time::Timestamp;
use serde::Serialize;

use super::Project;
use super::planning::PlanningError;
use crate::error::Error;
use crate::store::file::{self, Doing, Of as _};
use crate::store::{change, features, workflow};

/// What a change is made with.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewChange<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is for; kept in its README.md.
    pub description: Option<&'a str>,
    /// Its workflow, if not the project's.
    pub schema: Option<&'a str>,
}

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedChange {
    /// Its name.
    pub id: ChangeName,
    /// Its folder, absolute.
    #[serde(serialize_with = "crate::lossy::path")]
    pub path: PathBuf,
    /// Its `.ratchet.yaml`, absolute.
    #[serde(serialize_with = "crate::lossy::path")]
    pub metadata_path: PathBuf,
    /// Its workflow.
    pub schema: String,
}

/// A change in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedChange {
    /// Its name.
    pub name: ChangeName,
    /// Ticked tasks.
    pub completed_tasks: u64,
    /// All tasks.
    pub total_tasks: u64,
    /// When the newest of its files was written.
    pub last_modified: Timestamp,
    /// How far it is.
    pub status: WorkState,
}

/// How far a change's tasks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkState {
    /// There are none.
    NoTasks,
    /// Some are open.
    InProgress,
    /// None is open.
    Complete,
}

/// A capability of the feature store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedSpec {
    /// The folder's name.
    pub id: String,
    /// How many features it has.
    pub features: usize,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The newest first.
    Recent,
    /// By name.
    Name,
}

impl Project {
    /// Makes a new change.
    ///
    /// # Errors
    /// A name that is none, a workflow that is nowhere, a change that is there already; then nothing was written.
    pub fn create_change(&self, new: NewChange<'_>) -> Result<CreatedChange, Error> {
        let id = ChangeName::parse_new(new.name).map_err(|why| PlanningError::BadName { why })?;
        let schema = match new.schema {
            Some(schema) => schema.to_owned(),
            None => self.default_schema()?,
        };
        workflow::load(self.layout(), self.environment(), &schema)
            .map_err(PlanningError::Workflow)?;
        let folder = self.layout().change(&id);
        let parent = self.layout().changes();
        fs::create_dir_all(&parent).of(&parent, Doing::MakeFolder)?;
        match fs::create_dir(folder.dir()) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(PlanningError::Exists { change: id }.into());
            }
            made => made.of(folder.dir(), Doing::MakeFolder)?,
        }
        if let Some(text) = new.description.map(str::trim).filter(|text| !text.is_empty()) {
            file::create(&folder.readme(), format!("# {id}\n\n{text}\n").as_bytes())?;
        }
        change::stamp(self.layout(), &id, &schema, &self.now().date())?;
        let (path, metadata_path) = (folder.dir().to_owned(), folder.metadata());
        Ok(CreatedChange { id, path, metadata_path, schema })
    }

    /// Lists the changes that are not archived.
    ///
    /// # Errors
    /// [`PlanningError::NoFolder`] if the project has no folder for them.
    pub fn list_changes(&self, order: Order) -> Result<Vec<ListedChange>, Error> {
        if !self.layout().changes().is_dir() {
            return Err(PlanningError::NoFolder { folder: self.layout().changes() }.into());
        }
        let names = change::folders(self.layout())?;
        let facts = change::facts(self.layout(), &names)?;
        let listed = |name: ChangeName| {
            let facts = facts.get(&name).copied().unwrap_or_default();
            let last_modified = newest(self.layout().change(&name).dir());
            let (total, complete) = (facts.tasks_total, facts.tasks_complete);
            ListedChange {
                name,
                completed_tasks: complete,
                total_tasks: total,
                last_modified,
                status: match total {
                    0 => WorkState::NoTasks,
                    _ if complete == total => WorkState::Complete,
                    _ => WorkState::InProgress,
                },
            }
        };
        let mut listed: Vec<ListedChange> = names.into_iter().map(listed).collect();
        if order == Order::Recent {
            listed.sort_by_key(|change| std::cmp::Reverse(change.last_modified));
        }
        Ok(listed)
    }

    /// Lists the capabilities of the feature store, by name.
    ///
    /// # Errors
    /// Fails if the store is there and cannot be read.
    pub fn list_specs(&self) -> Result<Vec<ListedSpec>, Error> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for path in features::stored(self.layout())? {
            let capability = path.iter().next().unwrap_or_default().to_string_lossy().into_owned();
            *counts.entry(capability).or_default() += 1;
        }
        let spec = |(id, features)| ListedSpec { id, features };
        Ok(counts.into_iter().map(spec).collect())
    }

    /// Returns the workflow of new changes.
    pub(super) fn default_schema(&self) -> Result<String, Error> {
        Ok(crate::store::settings::read_project(self.layout())?.schema)
    }
}

/// Finds when the newest file below a folder was written; if there is none, when the folder was.
fn newest(folder: &Path) -> Timestamp {
    let time = |path: &Path| {
        let since =
            path.symlink_metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    };
    let mut found = None;
    let mut folders = vec![folder.to_owned()];
    while let Some(entries) = folders.pop().map(fs::read_dir) {
        for entry in entries.into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) | Err(_) => found = found.max(time(&entry.path())),
            }
        }
    }
    Timestamp::from_unix_ms(found.or_else(|| time(folder)).unwrap_or_default())
}
