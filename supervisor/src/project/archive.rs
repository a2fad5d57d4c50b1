//! Finished work is put away: a change with what it adds to the feature store, a batch with its changes
//! (spec `cli-core` 9, `batch-status-and-selection` 7.8). Whether to go on with unfinished work is asked by the CLI.
//!
//! The feature store changes in one instant, the links in standards and the change's folder after it. A call that was cut
//! off anywhere is finished by the same call.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ratchet_engine::change::ChangeFacts;
use ratchet_engine::name::{BatchName, ChangeName};
use ratchet_engine::status::{BatchStatus, ChangeState};
use serde::Serialize;

use super::planning::PlanningError;
use super::validate::change::{Rules, check_plan, check_standards};
use super::{Project, ValidationIssue};
use crate::error::Error;
use crate::fault::{self, Point};
pub use crate::store::features::FeatureChanges;
use crate::store::features::Promotion;
use crate::store::file::{Doing, FileError, Of as _, folder_of, sync_folder};
use crate::store::inflight::{Inflight, InflightError};
use crate::store::layout::{ChangeDir, RunHome};
use crate::store::lock::StepLock;
use crate::store::metadata::declared_tags;
use crate::store::{change, features, journal, links, os_lock, swap};

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

/// How a change is put away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Archiving {
    /// Whether bad features and standards keep it.
    pub checks: Checks,
    /// Whether its features go into the store.
    pub store: StoreUpdate,
}

/// Whether a change is checked before it is put away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checks {
    /// It is.
    #[default]
    Made,
    /// It is not: `--no-validate`. What would leave the store is refused all the same.
    Waived,
}

/// Whether the feature store takes the change's features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreUpdate {
    /// It does.
    #[default]
    Made,
    /// It does not: `--skip-features`.
    Skipped,
}

/// A change that is about to be put away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveOutlook {
    /// The change.
    pub change: ChangeName,
    /// Its tasks.
    pub facts: ChangeFacts,
    /// What is wrong with its plan; that keeps nothing.
    pub plan: Vec<ValidationIssue>,
    /// What is wrong with its features and standards; that keeps it.
    pub faults: Vec<String>,
    /// What it would do to the feature store.
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
    /// Looks at a change that is to be put away; nothing is written.
    ///
    /// # Errors
    /// No such change, or a taken place in the archive.
    pub fn archive_outlook(&self, change: Option<&str>) -> Result<ArchiveOutlook, Error> {
        if !self.layout().changes().is_dir() {
            return Err(PlanningError::NoFolder { folder: self.layout().changes() }.into());
        }
        let change = self.known_change(change)?;
        let folder = self.layout().change(&change);
        refuse_taken(&self.layout().archived_change(&self.now().date(), &change))?;
        let rules = Rules::read(self)?;
        let promotion = features::plan(self.layout(), &folder)?;
        let standards = check_standards(&folder, &rules);
        let standards = standards.iter().map(|issue| format!("{}: {}", issue.path, issue.message));
        let has_plan = folder.plan().exists();
        Ok(ArchiveOutlook {
            facts: change::facts_of(self.layout(), &change)?,
            plan: if has_plan { check_plan(&folder) } else { Vec::new() },
            faults: promotion.faults.into_iter().chain(standards).collect(),
            features: promotion.changes,
            change,
        })
    }

    /// Puts a change away: its features go into the store, its folder to `changes/archive/<date>-<change>`.
    ///
    /// # Errors
    /// [`Error::ChangeNotFound`], [`Error::ArchiveExists`], [`Error::ChangeNotArchivable`] or a running step; then
    /// nothing was moved. After a failed write the same call goes on where it stopped.
    pub fn archive_change(&self, change: &ChangeName, how: Archiving) -> Result<Archived, Error> {
        let folder = self.layout().change(change);
        if !change::facts_of(self.layout(), change)?.exists || !folder.dir().is_dir() {
            return Err(Error::ChangeNotFound { name: change.to_string() });
        }
        let ratchet = self.layout().ratchet();
        // Another archive would build its store out of the one that this replaces.
        let _one_at_a_time = os_lock::wait_for_folder(&ratchet)?;
        let Leaving { target, promotion, _lock } = self.leaving(change, how.checks)?;
        let features = match how.store {
            StoreUpdate::Skipped => FeatureChanges::default(),
            StoreUpdate::Made => {
                self.promote(&folder, &promotion)?;
                promotion.changes
            }
        };
        move_folder(folder.dir(), &target)?;
        Ok(Archived { change: change.clone(), path: target, features })
    }

    fn promote(&self, change: &ChangeDir, promotion: &Promotion) -> Result<(), Error> {
        let links = links::edits(self.layout(), change, &promotion.changes)?;
        let touches_links = !links.is_empty() || !declared_tags(change).is_empty();
        let edits = [promotion.edits(), links].concat();
        swap::apply(self.layout(), self.environment(), &edits)?;
        if touches_links {
            links::rebuild(self.layout())?;
            fault::at(Point::Linked, self.environment());
        }
        Ok(())
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
            self.leaving(name, Checks::Made)?;
        }
        for (_, change) in manifest.changes() {
            let name = change.name.clone();
            match facts.get(&name).copied().unwrap_or_default() {
                ChangeFacts { archived: true, .. } => report.skipped_archived.push(name),
                ChangeFacts { exists: false, .. } => report.skipped_pending.push(name),
                ChangeFacts { exists: true, archived: false, .. } => {
                    self.archive_change(&name, Archiving::default())?;
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
    fn leaving(&self, change: &ChangeName, checks: Checks) -> Result<Leaving, Error> {
        let target = self.layout().archived_change(&self.now().date(), change);
        refuse_taken(&target)?;
        let home = RunHome::Change(change.clone());
        let has_run_state = self.layout().run(&home).dir().is_dir();
        let lock = if has_run_state { Some(self.nothing_runs(&home)?) } else { None };
        let promotion = features::plan(self.layout(), &self.layout().change(change))?;
        let mut problems = promotion.problems.clone();
        if checks == Checks::Made {
            problems.extend(promotion.faults.iter().cloned());
            let rules = Rules::read(self)?;
            let standards = check_standards(&self.layout().change(change), &rules);
            problems.extend(standards.iter().map(|one| format!("{}: {}", one.path, one.message)));
        }
        if problems.is_empty() {
            return Ok(Leaving { target, promotion, _lock: lock });
        }
        Err(Error::ChangeNotArchivable { change: change.clone(), problems })
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
    promotion: Promotion,
    _lock: Option<StepLock>,
}

fn refuse_taken(target: &Path) -> Result<(), Error> {
    match target.symlink_metadata() {
        Ok(_) => Err(Error::ArchiveExists { path: target.to_owned() }),
        Err(_) => Ok(()),
    }
}

fn move_folder(from: &Path, to: &Path) -> Result<(), FileError> {
    move_folder_by(from, to, |from, to| fs::rename(from, to))
}

/// Moves a folder by renaming it; where that is refused because another file system begins, by a copy that is renamed
/// into its place when it is whole.
fn move_folder_by(
    from: &Path,
    to: &Path,
    rename: impl Fn(&Path, &Path) -> io::Result<()>,
) -> Result<(), FileError> {
    let archive = folder_of(to);
    fs::create_dir_all(archive).of(archive, Doing::MakeFolder)?;
    match rename(from, to) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::CrossesDevices | io::ErrorKind::PermissionDenied
            ) =>
        {
            let copy = tempfile::Builder::new().prefix(".moving-").tempdir_in(archive);
            let copy = copy.of(archive, Doing::MakeFolder)?;
            let inside = copy.path().join("folder");
            copy_folder(from, &inside)?;
            fs::rename(&inside, to).of(to, Doing::Move)?;
            fs::remove_dir_all(from).of(from, Doing::Remove)?;
        }
        renamed => renamed.of(from, Doing::Move)?,
    }
    sync_folder(archive)?;
    sync_folder(folder_of(from))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::create_dir_all(to).of(to, Doing::MakeFolder)?;
    for entry in fs::read_dir(from).of(from, Doing::Read)? {
        let entry = entry.of(from, Doing::Read)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().of(&source, Doing::Read)?;
        if kind.is_dir() {
            copy_folder(&source, &target)?;
            continue;
        }
        let copied = match kind.is_symlink() {
            true => fs::read_link(&source).and_then(|to| std::os::unix::fs::symlink(to, &target)),
            false => fs::copy(&source, &target).map(drop),
        };
        copied.of(&source, Doing::Move)?;
    }
    sync_folder(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-L13
    #[test]
    fn a_folder_is_moved_over_the_border_of_a_file_system_as_a_copy() {
        let moved = |refusal: io::ErrorKind| {
            let dir = tempfile::tempdir().unwrap();
            let (from, to) = (dir.path().join("from"), dir.path().join("archive/to"));
            fs::create_dir_all(from.join("deep")).unwrap();
            fs::write(from.join("deep/file"), "text").unwrap();
            std::os::unix::fs::symlink("deep/file", from.join("link")).unwrap();
            let done = move_folder_by(&from, &to, |_, _| Err(refusal.into()));
            let whole = fs::read_to_string(to.join("link")).ok();
            (
                done.is_ok(),
                whole,
                from.exists(),
                fs::read_dir(dir.path().join("archive")).unwrap().count(),
            )
        };
        for refusal in [io::ErrorKind::CrossesDevices, io::ErrorKind::PermissionDenied] {
            assert_eq!(moved(refusal), (true, Some("text".to_owned()), false, 1));
        }
        assert_eq!(moved(io::ErrorKind::StorageFull), (false, None, true, 0));
    }
}
