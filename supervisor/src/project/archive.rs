//! Finished work is put away: a change with what it adds to the feature store, a batch with its changes
//! (spec `cli-core` 9, `batch-status-and-selection` 7.8). Whether to go on with unfinished work is asked by the CLI.
//!
//! Standards and their links (spec `cli-core` 9.1, 9.4) are not here.

use std::fs;
use std::path::{Path, PathBuf};

use ratchet_engine::change::ChangeFacts;
use ratchet_engine::name::{BatchName, ChangeName};
use ratchet_engine::status::{BatchStatus, ChangeState};
use serde::Serialize;

use super::Project;
use crate::error::Error;
pub use crate::store::features::FeatureChanges;
use crate::store::file::{Doing, FileError, Of as _, folder_of, sync_folder};
use crate::store::inflight::{Inflight, InflightError};
use crate::store::layout::RunHome;
use crate::store::lock::StepLock;
use crate::store::{change, features, journal};

/// A change that was put away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// The change.
    pub change: ChangeName,
    /// Where it is now.
    #[serde(serialize_with = "crate::lossy::path")]
    pub path: PathBuf,
    /// What it did to the feature store.
    pub features: FeatureChanges,
}

/// A batch that was put away; what `batch archive --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArchivedBatch {
    /// The batch.
    pub batch_name: BatchName,
    /// Changes that were put away with it, in phase order.
    pub archived_changes: Vec<ChangeName>,
    /// Changes that had been put away before.
    pub skipped_archived: Vec<ChangeName>,
    /// Changes that were never begun.
    pub skipped_pending: Vec<ChangeName>,
    /// Where the batch is now.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::lossy::optional_path"
    )]
    pub archive_path: Option<PathBuf>,
    /// Set when a person said no, and nothing was moved.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
}

impl ArchivedBatch {
    /// Makes the answer for a person who said no.
    #[must_use]
    pub fn aborted(batch: BatchName) -> Self {
        Self { aborted: true, ..Self::nothing_yet(batch) }
    }

    fn nothing_yet(batch_name: BatchName) -> Self {
        Self {
            batch_name,
            archived_changes: Vec::new(),
            skipped_archived: Vec::new(),
            skipped_pending: Vec::new(),
            archive_path: None,
            aborted: false,
        }
    }
}

/// Names the changes of a batch that are not done: what a person is asked about before the batch is put away.
#[must_use]
pub fn unfinished(status: &BatchStatus) -> Vec<&ChangeName> {
    let changes = status.phases.iter().flat_map(|phase| &phase.changes);
    changes.filter(|change| change.status != ChangeState::Done).map(|change| &change.name).collect()
}

impl Project {
    /// Puts a change away: its features go into the store, its folder to `changes/archive/<date>-<change>`.
    ///
    /// # Errors
    /// [`Error::ChangeNotFound`], [`Error::ArchiveExists`], [`Error::ChangeNotArchivable`] or a running step; then
    /// nothing was moved. After a failed write the same call goes on where it stopped.
    pub fn archive_change(&self, change: &ChangeName) -> Result<Archived, Error> {
        let folder = self.layout().change(change);
        if !change::facts_of(self.layout(), change)?.exists || !folder.dir().is_dir() {
            return Err(Error::ChangeNotFound { name: change.to_string() });
        }
        let Leaving { target, promotion, _lock } = self.leaving(change)?;
        features::carry_out(self.layout(), &promotion)?;
        move_folder(folder.dir(), &target)?;
        Ok(Archived { change: change.clone(), path: target, features: promotion.changes })
    }

    /// Puts a batch away, its changes first, in phase order; the batch itself goes last, so that a call that failed in
    /// the middle can be repeated.
    ///
    /// # Errors
    /// As [`Project::archive_change`]: whatever stands in the way of one change is found before anything is moved.
    pub fn archive_batch(&self, batch: &BatchName) -> Result<ArchivedBatch, Error> {
        let manifest = self.manifest(batch)?;
        let target = self.layout().archived_batch(&self.now().date(), batch);
        refuse_taken(&target)?;
        let home = RunHome::Batch(batch.clone());
        let lock = self.nothing_runs(&home)?;
        let mut report = ArchivedBatch::nothing_yet(batch.clone());
        let names = || manifest.changes().map(|(_, change)| &change.name);
        let facts = change::facts(self.layout(), names())?;
        for name in names().filter(|name| facts[*name].exists && !facts[*name].archived) {
            self.leaving(name)?;
        }
        for (_, change) in manifest.changes() {
            let name = change.name.clone();
            match facts.get(&name).copied().unwrap_or_default() {
                ChangeFacts { archived: true, .. } => report.skipped_archived.push(name),
                ChangeFacts { exists: false, .. } => report.skipped_pending.push(name),
                ChangeFacts { exists: true, archived: false, .. } => {
                    self.archive_change(&name)?;
                    report.archived_changes.push(name);
                }
            }
        }
        let run = self.layout().run(&home);
        journal::with_lock(&run, |_| {
            // Released where it was taken, or its file would be put away too. A step that starts now cannot write its
            // intent before the folder is gone, and starts nothing without one.
            drop(lock);
            move_folder(&self.layout().batch(batch), &target)
        })?;
        report.archive_path = Some(target);
        Ok(report)
    }

    /// Looks at everything that could keep a change from being put away.
    fn leaving(&self, change: &ChangeName) -> Result<Leaving, Error> {
        let target = self.layout().archived_change(&self.now().date(), change);
        refuse_taken(&target)?;
        let home = RunHome::Change(change.clone());
        let has_run_state = self.layout().run(&home).dir().is_dir();
        let lock = if has_run_state { Some(self.nothing_runs(&home)?) } else { None };
        let promotion = features::plan(self.layout(), &self.layout().change(change))?;
        if promotion.problems.is_empty() {
            return Ok(Leaving { target, promotion, _lock: lock });
        }
        Err(Error::ChangeNotArchivable { change: change.clone(), problems: promotion.problems })
    }

    /// Makes sure that no step runs and that none starts while the lock is held.
    fn nothing_runs(&self, home: &RunHome) -> Result<StepLock, Error> {
        let lock = StepLock::acquire(self.layout(), home, self.now())?;
        match Inflight::read(&self.layout().run(home))? {
            None => Ok(lock),
            Some(found) => {
                Err(InflightError::Unfinished { spawn: found.spawn, key: found.key }.into())
            }
        }
    }
}

/// A change that nothing keeps from being put away.
struct Leaving {
    target: PathBuf,
    promotion: features::Promotion,
    _lock: Option<StepLock>,
}

fn refuse_taken(target: &Path) -> Result<(), Error> {
    match target.symlink_metadata() {
        Ok(_) => Err(Error::ArchiveExists { path: target.to_owned() }),
        Err(_) => Ok(()),
    }
}

fn move_folder(from: &Path, to: &Path) -> Result<(), FileError> {
    let archive = folder_of(to);
    fs::create_dir_all(archive).of(archive, Doing::MakeFolder)?;
    fs::rename(from, to).of(from, Doing::Move)?;
    sync_folder(archive)?;
    sync_folder(folder_of(from))
}
