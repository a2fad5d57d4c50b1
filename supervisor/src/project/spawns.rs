//! The spawns of a batch as a caller sees them: the one that runs, those that were, and what they printed.
//!
//! Nothing is started or judged here. How a spawn's folder works is `ratchet-spawn`'s business.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ratchet_engine::journal::ReadEntry;
use ratchet_engine::name::{BatchName, SpawnId, StepKey};
use ratchet_engine::transition::StepKind;
use ratchet_spawn::{DirectoryError, SpawnDir, Standing, probe, request_stop};
use ratchet_workspace::{Diff, Store, WorkspaceError};
use serde::Serialize;
use thiserror::Error;
use tokio::time::timeout;

use super::Project;

use crate::error::Error;
use crate::follow;
use crate::request::StopReason;
use crate::runtime::remote::errand::{Errand, base_of, result_of};
use crate::store::inflight::Inflight;
use crate::store::layout::{RunHome, spawns_root};
use crate::store::lock::is_held;
use crate::store::{change, journal, trace};

/// How often somebody who waits for the end of a spawn that has not begun looks whether it is still to begin.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A step that was run, as `batch log` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoggedStep {
    /// The spawn.
    pub spawn: String,
    /// Whose step it was.
    pub change: String,
    /// What kind of step; absent for a proof-of-work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition: Option<StepKind>,
    /// When its outcome was recorded.
    pub at: String,
    /// The kind of its outcome entry.
    pub kind: String,
    /// The text of its outcome entry.
    pub message: String,
    /// What it printed is still stored.
    pub output: bool,
    /// The very image it ran in, if it ran in a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// A step that has begun and is not over, whoever watches it.
#[derive(Debug)]
pub struct Current {
    /// The step.
    pub step: Inflight,
    /// Its spawn.
    pub dir: SpawnDir,
    /// How far it is.
    pub state: StepState,
}

/// How far a step is that is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepState {
    /// Its command is still to start: it waits for room, or for what it needs to run.
    Waiting,
    /// Its command runs.
    Running,
}

/// A spawn that cannot be looked at.
#[derive(Debug, Error)]
pub enum SpawnsError {
    /// The text is no spawn id.
    #[error("'{id}' is not a spawn id")]
    NoId {
        /// The text.
        id: String,
        /// Why.
        source: ratchet_spawn::SpawnIdError,
    },
    /// Its folder is not there, or cannot be used.
    #[error("what the spawn printed cannot be read")]
    NoOutput(#[source] DirectoryError),
    /// The disk refused.
    #[error("the spawn {spawn} cannot be reached")]
    Unreachable {
        /// The spawn.
        spawn: String,
        /// Why.
        source: std::io::Error,
    },
}

impl SpawnsError {
    /// Returns a name that never changes.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoId { .. } | Self::NoOutput(DirectoryError::NotASpawn { .. }) => "bad-spawn-id",
            Self::NoOutput(DirectoryError::NotFound { .. }) => "output-gone",
            Self::NoOutput(DirectoryError::Exists { .. } | DirectoryError::Disk { .. })
            | Self::Unreachable { .. } => "spawn-unreachable",
        }
    }

    /// Says what to type next.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::NoId { .. } | Self::NoOutput(_) => {
                "'ratchet batch log' lists the spawns whose output is stored".to_owned()
            }
            Self::Unreachable { .. } => "mend the cause and run the command again".to_owned(),
        }
    }
}

impl Project {
    /// Returns the step of a batch that runs now, whoever watches it.
    ///
    /// # Errors
    /// Fails if the intent on disk cannot be read.
    pub fn running(&self, batch: &BatchName) -> Result<Option<Current>, Error> {
        self.running_in(&RunHome::Batch(batch.clone()))
    }

    /// Returns the step of a run home that runs now, whoever watches it.
    ///
    /// # Errors
    /// As [`Project::running`].
    pub fn running_in(&self, home: &RunHome) -> Result<Option<Current>, Error> {
        let run = self.layout().run(home);
        let Some(step) = Inflight::read(&run)? else { return Ok(None) };
        let Some(dir) = dir_of(&step)? else { return Ok(None) };
        let standing = probe(&dir).map_err(|source| unreachable_spawn(&step.spawn, source))?;
        let state = match standing {
            Standing::Running(_) => Some(StepState::Running),
            Standing::NeverStarted => is_held(self.layout(), home).then_some(StepState::Waiting),
            Standing::Abandoned | Standing::Ended(_) | Standing::Lost(_) => None,
        };
        Ok(state.map(|state| Current { step, dir, state }))
    }

    /// Asks the step of a batch that runs now to stop, and returns it. Who watches it records that.
    ///
    /// # Errors
    /// As [`Project::running`], and if the request cannot be written.
    pub fn cancel(&self, batch: &BatchName) -> Result<Option<Current>, Error> {
        self.stop(&RunHome::Batch(batch.clone()), StopReason::Cancel)
    }

    /// Asks the step of a run home that runs now to stop, and returns it. Who watches it records that, and who asked. One
    /// that was only intended, by somebody who has died since, is given up.
    ///
    /// # Errors
    /// As [`Project::cancel`].
    pub fn stop(&self, home: &RunHome, by: StopReason) -> Result<Option<Current>, Error> {
        let Some(current) = self.running_in(home)? else {
            self.give_up(home)?;
            return Ok(None);
        };
        request_stop(&current.dir, &by.request())
            .map_err(|source| unreachable_spawn(&current.step.spawn, source))?;
        Ok(Some(current))
    }

    /// Shows what a spawn on a worker left that could not be brought in, at most `most` bytes of it, as git shows a diff; `None`
    /// if nothing of it is kept.
    ///
    /// # Errors
    /// If its snapshots cannot be read.
    pub fn kept_result(&self, spawn: &str, most: usize) -> Result<Option<Diff>, Error> {
        let dir = self.spawn_dir(spawn)?;
        let Ok(errand) = Errand::read(&dir) else { return Ok(None) };
        let search_path = self.environment().var_os("PATH").unwrap_or_default();
        let diff = || -> Result<Option<Diff>, WorkspaceError> {
            let store = Store::open(&errand.store, search_path)?;
            let spawn = dir.id().as_str();
            match (store.kept(&base_of(spawn))?, store.kept(&result_of(spawn))?) {
                (Some(base), Some(result)) => store.diff(base, result, most).map(Some),
                (_, _) => Ok(None),
            }
        };
        diff().map_err(Error::spawn_failed)
    }

    /// Waits until nothing is left of a spawn that ran in a run home, or nobody is left who would start it.
    ///
    /// # Errors
    /// Fails if the spawn can no longer be followed.
    pub async fn end_of(&self, home: &RunHome, dir: &SpawnDir) -> Result<(), Error> {
        loop {
            match timeout(LOOK_AGAIN, follow::end_of(dir)).await {
                Ok(ended) => return ended,
                // One that is given up has ended by that.
                Err(_) => self.give_up(home)?,
            }
        }
    }

    /// Makes sure that an intended spawn never starts if nobody is left who would start it: the shim may have been on its
    /// way when its asker died. The next step takes the intent back.
    fn give_up(&self, home: &RunHome) -> Result<(), Error> {
        let Some(inflight) = Inflight::read(&self.layout().run(home))? else { return Ok(()) };
        if is_held(self.layout(), home) {
            return Ok(());
        }
        let Some(dir) = dir_of(&inflight)? else { return Ok(()) };
        let _whoever_comes_next_looks = ratchet_spawn::abandon(&dir)
            .map_err(|source| unreachable_spawn(&inflight.spawn, source))?;
        Ok(())
    }

    /// Lists the concluded steps of a batch, oldest first; of one key, if one is given.
    ///
    /// # Errors
    /// Fails if the journal cannot be read.
    pub fn logged(
        &self,
        batch: &BatchName,
        of: Option<&StepKey>,
    ) -> Result<Vec<LoggedStep>, Error> {
        let run = self.layout().run(&RunHome::Batch(batch.clone()));
        let entries = journal::conclusions(&run)?;
        let wanted = |entry: &ReadEntry<'_>| of.is_none_or(|key| entry.change == key.as_str());
        Ok(entries.into_iter().filter(wanted).map(|entry| self.logged_step(entry)).collect())
    }

    /// Returns the latest entry of a batch's journal.
    ///
    /// # Errors
    /// Fails if the journal cannot be read.
    pub fn latest_entry(&self, batch: &BatchName) -> Result<Option<ReadEntry<'static>>, Error> {
        let run = self.layout().run(&RunHome::Batch(batch.clone()));
        Ok(journal::latest(&run)?)
    }

    /// Lists the run homes with an intent that nobody has concluded.
    ///
    /// # Errors
    /// Fails if the project's folders cannot be read.
    pub fn unfinished(&self) -> Result<Vec<RunHome>, Error> {
        let batches = self.batch_names()?.into_iter().map(RunHome::Batch);
        let changes = change::names(self.layout())?.into_iter().map(RunHome::Change);
        let has_intent = |home: &RunHome| self.layout().run(home).inflight().exists();
        let in_project = batches.chain(changes).filter(has_intent);
        let copies = self.layout().steps().map(|steps| trace::homes_of(steps, self.root()));
        let all: BTreeSet<_> = in_project.chain(copies.unwrap_or_default()).collect();
        Ok(all.into_iter().collect())
    }

    /// Finds the folder of a spawn.
    ///
    /// # Errors
    /// [`SpawnsError`] if there is none of that id.
    pub fn spawn_dir(&self, id: &str) -> Result<SpawnDir, Error> {
        let root = spawns_root(self.environment()).ok_or(Error::NoHome)?;
        Ok(open(&root, id)?)
    }

    fn logged_step(&self, entry: ReadEntry<'static>) -> LoggedStep {
        let spawn = entry.spawn.unwrap_or_default().into_owned();
        LoggedStep {
            output: self.spawn_dir(&spawn).is_ok(),
            spawn,
            change: entry.change.into_owned(),
            transition: entry.transition,
            at: entry.at.into_owned(),
            kind: entry.kind_text.into_owned(),
            message: entry.message.into_owned(),
            image: entry.image.map(Cow::into_owned),
        }
    }
}

/// Opens the folder of an intended spawn; `None` if somebody removed it: the next apply says so.
fn dir_of(inflight: &Inflight) -> Result<Option<SpawnDir>, SpawnsError> {
    match open(&inflight.place.spawns, inflight.spawn.as_str()) {
        Err(SpawnsError::NoOutput(DirectoryError::NotFound { .. })) => Ok(None),
        opened => opened.map(Some),
    }
}

fn open(root: &Path, id: &str) -> Result<SpawnDir, SpawnsError> {
    let id = ratchet_spawn::SpawnId::parse(id)
        .map_err(|source| SpawnsError::NoId { id: id.to_owned(), source })?;
    SpawnDir::open(root, &id).map_err(SpawnsError::NoOutput)
}

fn unreachable_spawn(spawn: &SpawnId, source: std::io::Error) -> SpawnsError {
    SpawnsError::Unreachable { spawn: spawn.to_string(), source }
}
