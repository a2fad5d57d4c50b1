//! One project on disk: the door for everything that starts no process. Nothing here is async or makes a thread.
//!
//! It finds, reads, writes and answers; what the facts mean is decided in [`ratchet_engine`].

use std::path::Path;

use ratchet_engine::change::ChangeFacts;
use ratchet_engine::manifest::Manifest;
use ratchet_engine::name::{AgentName, BatchName};
use ratchet_engine::permission::{Escalation, Posture};
use ratchet_engine::settings::{Assignment, Settings, parse_assignment, resolve};
use ratchet_engine::snapshot::Snapshot;
use ratchet_engine::status::{BatchStatus, derive};
use ratchet_engine::time::Timestamp;
use ratchet_telemetry::redact;
use secrecy::ExposeSecret as _;

use crate::clock::Clock;
use crate::environment::Environment;
use crate::error::Error;
use crate::store::layout::{self, Layout, RATCHET_DIR};
use crate::store::limits::Limits;
use crate::store::manifest::{self, ReadError};
use crate::store::run_state::RunState;
use crate::store::{change, settings, snapshot};

mod archive;
mod changes;
mod create;
pub mod guidance;
mod list;
pub mod planning;
pub(crate) mod report;
pub mod setup;
pub mod spawns;
mod validate;
pub mod verb;
mod waiting;

#[cfg(test)]
mod tests;

pub use archive::{
    ArchiveOutlook, Archived, ArchivedBatch, Archiving, Checks, FeatureChanges, StoreUpdate,
    unfinished,
};
pub use changes::{CreatedChange, ListedChange, ListedSpec, NewChange, Order, WorkState};
pub use create::{CreatedBatch, SCAFFOLD};
pub use list::{InvalidRow, ListRow, ListedBatch};
pub use report::{Invalidated, Report, Reported};
pub use spawns::{Current, LoggedStep, StepState};
pub use validate::{Found, Scope, Strictness, Subject, Validated, ValidationIssue};

/// A project: its place, the environment of this invocation, and the clock.
#[derive(Debug, Clone)]
pub struct Project {
    layout: Layout,
    environment: Environment,
    clock: Clock,
}

/// Where a permission posture is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostureHome {
    /// `.ratchet/config.yaml`.
    Project,
    /// The user's own configuration.
    User,
}

impl Project {
    /// Finds the project that the working directory is in: the nearest folder upwards that holds a *folder* `.ratchet`,
    /// else the working directory itself (spec `cli-core` 1).
    ///
    /// # Errors
    /// Fails if the working directory is gone.
    pub fn find(environment: Environment) -> Result<Self, Error> {
        let cwd = environment
            .cwd()
            .canonicalize()
            .map_err(|source| Error::NoWorkingDirectory { source })?;
        let holds_ratchet = |folder: &&Path| folder.join(RATCHET_DIR).is_dir();
        let root = cwd.ancestors().find(holds_ratchet).unwrap_or(&cwd);
        Ok(Self::of(root, environment))
    }

    /// Takes the project at a folder that somebody else has found, in the environment of whoever asks.
    ///
    /// # Errors
    /// [`Error::NoProject`] unless the folder is there and can be entered.
    pub fn at(root: &Path, environment: Environment) -> Result<Self, Error> {
        let gone = |source| Error::NoProject { root: root.to_owned(), source };
        let root = root.canonicalize().map_err(gone)?;
        if !root.is_dir() {
            return Err(gone(std::io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self::of(&root, environment))
    }

    fn of(root: &Path, environment: Environment) -> Self {
        environment.hide_secrets();
        let layout = Layout::new(root).with_traces(&environment);
        Self { layout, environment, clock: Clock::System }
    }

    /// Takes another clock than the system's.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Returns the paths.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the project's root.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.layout.root()
    }

    /// Returns the environment.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Tells the time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lists the batches, sorted.
    ///
    /// # Errors
    /// Fails if `.ratchet/batches` is there and cannot be read.
    pub fn batch_names(&self) -> Result<Vec<BatchName>, Error> {
        Ok(manifest::names(&self.layout)?)
    }

    /// Finds the batch that is meant: the named one, or the only one (spec `batch-status-and-selection` 8).
    ///
    /// # Errors
    /// [`Error::BatchNotFound`], [`Error::NoBatches`] or [`Error::ManyBatches`].
    pub fn resolve_batch(&self, name: Option<&str>) -> Result<BatchName, Error> {
        if let Some(name) = name {
            let known = BatchName::parse(name).ok();
            return known
                .filter(|name| manifest::exists(&self.layout, name))
                .ok_or_else(|| Error::BatchNotFound { name: name.to_owned() });
        }
        let mut names = self.batch_names()?;
        match names.len() {
            0 => Err(Error::NoBatches),
            1 => Ok(names.remove(0)),
            _ => Err(Error::ManyBatches { names }),
        }
    }

    /// Reads a batch's manifest.
    ///
    /// # Errors
    /// [`Error::Manifest`] says everything that is wrong with it.
    pub fn manifest(&self, batch: &BatchName) -> Result<Manifest, Error> {
        match manifest::read(&self.layout, batch) {
            Ok(Some(manifest)) => Ok(manifest),
            Ok(None) => Err(Error::BatchNotFound { name: batch.to_string() }),
            Err(ReadError::File(error)) => Err(error.into()),
            Err(ReadError::Manifest(error)) => {
                let path = self.layout.manifest(batch);
                Err(Error::Manifest { batch: batch.clone(), path, error })
            }
        }
    }

    /// Resolves the settings in force: of a batch, or of the project alone.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or the manifest is none.
    pub fn settings(
        &self,
        batch: Option<&BatchName>,
        escalation: Escalation,
    ) -> Result<Settings, Error> {
        let manifest = batch.map(|batch| self.manifest(batch)).transpose()?;
        self.settings_over(manifest.as_ref(), escalation)
    }

    /// Says what in the project's configuration and in the user's is ignored, and why; one line each.
    ///
    /// # Errors
    /// Fails if the project's file is there and cannot be read.
    pub fn warnings(&self) -> Result<Vec<String>, Error> {
        let mut warnings = settings::read_project(&self.layout)?.warnings;
        warnings.extend(self.user_config().warnings);
        Ok(warnings)
    }

    /// Says what of a batch's files cannot be made out and how they count: plans that cannot be read are plans without
    /// tasks, a damaged `state.json` parks nothing. One line each.
    #[must_use]
    pub fn file_warnings(&self, snapshot: &Snapshot) -> Vec<String> {
        let without_tasks = |facts: &ChangeFacts| facts.has_plan && facts.tasks_total == 0;
        let suspects = snapshot.changes.iter().filter(|(_, facts)| without_tasks(facts));
        let warning = |why: String| format!("{why}; it counts as a plan without tasks");
        let plans =
            suspects.filter_map(|(name, _)| change::plan_fault(&self.layout, name).map(warning));
        plans.chain(self.state_warning(&snapshot.batch)).collect()
    }

    fn state_warning(&self, batch: &BatchName) -> Option<String> {
        let run = self.layout.run(&layout::RunHome::Batch(batch.clone()));
        let broken = RunState::read(&run).is_ok_and(|state| state.is_broken());
        broken.then(|| {
            format!(
                "{} is damaged, so what was parked in it counts as not parked; look into the journal before you go on",
                run.state().display()
            )
        })
    }

    /// Gathers all the facts about a batch.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or the manifest is none.
    pub fn snapshot(&self, batch: &BatchName, escalation: Escalation) -> Result<Snapshot, Error> {
        let manifest = self.manifest(batch)?;
        let settings = self.settings_over(Some(&manifest), escalation)?;
        Ok(snapshot::gather(&self.layout, batch, manifest, settings, self.now())?)
    }

    /// Says until when an agent is out of use, because it hit its usage limit.
    ///
    /// # Errors
    /// Fails if what was noted is there and cannot be read.
    pub fn limited_until(&self, agent: &AgentName) -> Result<Option<Timestamp>, Error> {
        match self.limits() {
            Some(limits) => Ok(limits.until(agent, self.now())?),
            None => Ok(None),
        }
    }

    /// Returns the limits that agents have hit; a user without a home has nowhere to keep them.
    pub(crate) fn limits(&self) -> Option<Limits> {
        layout::limits_file(&self.environment).map(Limits::at)
    }

    /// Derives the status of a batch from facts that were gathered.
    ///
    /// # Errors
    /// [`Error::Dag`] if the changes of a phase have no order.
    pub fn status_of(&self, snapshot: &Snapshot) -> Result<BatchStatus, Error> {
        derive(snapshot).map_err(|error| Error::Dag { batch: snapshot.batch.clone(), error })
    }

    /// Gathers the facts and derives the status.
    ///
    /// # Errors
    /// As [`Project::snapshot`] and [`Project::status_of`].
    pub fn status(&self, batch: &BatchName) -> Result<BatchStatus, Error> {
        self.status_of(&self.snapshot(batch, Escalation::Clamped)?)
    }

    /// Checks `key=value` and writes it to the project's configuration (spec `batch-manifest-and-settings` 4.2).
    ///
    /// # Errors
    /// Leaves the file byte for byte as it was.
    pub fn set_setting(&self, text: &str) -> Result<Assignment, Error> {
        let assignment = parse_assignment(text)?;
        settings::assign(&self.layout, &assignment)?;
        Ok(assignment)
    }

    /// Tells whether the project or the user has said anything about permissions; if so, nobody needs to be asked
    /// (spec `batch-manifest-and-settings` 13).
    ///
    /// # Errors
    /// Fails if the project's file is there and cannot be read.
    pub fn has_permissions(&self) -> Result<bool, Error> {
        let project = settings::read_project(&self.layout)?.batch.permissions;
        Ok(project.is_some() || self.user_config().permissions.is_some())
    }

    /// Keeps a permission posture for later invocations.
    ///
    /// # Errors
    /// Leaves the file as it was.
    pub fn save_posture(&self, home: PostureHome, posture: Posture) -> Result<(), Error> {
        match home {
            PostureHome::Project => Ok(settings::save_project_posture(&self.layout, posture)?),
            PostureHome::User => {
                let path = layout::user_config(&self.environment).ok_or(Error::NoHome)?;
                Ok(settings::save_user_posture(&path, posture)?)
            }
        }
    }

    fn user_config(&self) -> settings::UserConfig {
        settings::read_user(layout::user_config(&self.environment).as_deref())
    }

    fn settings_over(
        &self,
        manifest: Option<&Manifest>,
        escalation: Escalation,
    ) -> Result<Settings, Error> {
        let project = settings::read_project(&self.layout)?;
        let user = self.user_config().permissions;
        let manifest = manifest.map(|manifest| &manifest.settings);
        let settings = resolve(user.as_ref(), &project.batch, manifest, escalation);
        redact::know(settings.auth_token.iter().map(|token| token.expose_secret().as_bytes()));
        Ok(settings)
    }
}
