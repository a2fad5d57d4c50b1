//! Brings the result of a snapshot back into the folder that it was taken of: all of it, or nothing.
//!
//! A path that was changed here as well is a conflict, and nothing is written. Else an intent is put on the disk
//! ([`intent`]), each path changes places with what was built beside it ([`exchange`]), and what came out is looked at: if it is
//! not what was expected, somebody was faster, and everything goes back. Killed at any moment, the next call goes on where
//! the last one was, in the same direction.

mod exchange;
mod intent;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::blobs::Blobs;
use crate::changes::{Change, between};
use crate::content::remove_empty;
use crate::entry::{Entry, Listing, Oid, SnapshotId};
use crate::error::WorkspaceError;
use crate::folder::Folder;
use crate::name::TreePath;
use crate::rules::{Matcher, Place, Rules};
use crate::snapshot::{Base, View, take};
use crate::store::refused;
use crate::workspace::Workspace;

use exchange::{Done, Step};
use intent::{Intent, Phase};

/// How many paths of a conflict are named.
const MOST_NAMED: usize = 1000;

/// What came of bringing a result in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All of it is in.
    Applied {
        /// How many paths the result changed.
        paths: usize,
    },
    /// Nothing is in: these paths were changed here too.
    Conflict {
        /// Which, in order; not more than a thousand.
        paths: Vec<TreePath>,
    },
}

impl Workspace {
    /// Brings into the folder what leads from `base`, taken of it, to `result`. Asked again for the same two it gives the same
    /// answer and does nothing.
    ///
    /// # Errors
    /// If one of them is not here or is none of ours, if the result touches what never travels, or if the disk or git refuses;
    /// what was begun is then finished by the next call.
    pub fn apply(
        &self,
        rules: &Rules,
        base: SnapshotId,
        result: SnapshotId,
    ) -> Result<Outcome, WorkspaceError> {
        let _one_at_a_time = self.store().lock(self.name())?;
        if let Some(intent) = self.resumed()?
            && intent.base == base
            && intent.result == result
            && let Some(outcome) = intent.outcome()
        {
            return Ok(outcome);
        }
        let changes = self.store().changes(base, result)?;
        self.check(base, &changes)?;
        let mut view = View::of(self, Base::Project(rules))?;
        // What is ignored here is looked at too, if the result speaks of it.
        let spoken_of =
            changes.iter().filter(|change| leaf(change.old).or(leaf(change.new)).is_some());
        let unread = Entry::File(Oid::from_bytes([0; 20]));
        view.tracked.extend(spoken_of.map(|change| (change.path.clone(), unread)));
        let now = take(self, &view)?;
        let entries = now.entries.into_iter().map(|known| (known.path, known.entry)).collect();
        let conflicts = conflicts(&changes, &entries);
        let mut intent = Intent {
            base,
            result,
            now: now.snapshot.id,
            paths: changes.len(),
            phase: Phase::Undone { conflicts },
        };
        if let Phase::Undone { conflicts } = &intent.phase
            && conflicts.is_empty()
        {
            self.store().keep(&self.before(), intent.now)?;
            intent.phase = Phase::Forward;
        }
        intent.write(self)?;
        let intent = self.run(intent)?;
        self.store().let_go(&self.before())?;
        intent.outcome().ok_or_else(|| refused("nothing came of it"))
    }

    /// Finishes what a process that was killed had begun; `None` if there is nothing to finish.
    ///
    /// # Errors
    /// As [`Workspace::apply`].
    pub fn resume(&self) -> Result<Option<Outcome>, WorkspaceError> {
        let _one_at_a_time = self.store().lock(self.name())?;
        let begun = Intent::read(self)?.filter(|intent| intent.outcome().is_none());
        let ended = begun.map(|intent| self.go_on(intent)).transpose()?;
        Ok(ended.and_then(|intent| intent.outcome()))
    }

    /// Gives the last intent, carried out.
    fn resumed(&self) -> Result<Option<Intent>, WorkspaceError> {
        match Intent::read(self)? {
            Some(intent) if intent.outcome().is_none() => self.go_on(intent).map(Some),
            other => Ok(other),
        }
    }

    fn go_on(&self, intent: Intent) -> Result<Intent, WorkspaceError> {
        // What lies about would keep folders from going.
        self.sweep(&intent)?;
        let intent = self.run(intent)?;
        self.store().let_go(&self.before())?;
        Ok(intent)
    }

    /// Names what the folder was before, in the store.
    fn before(&self) -> String {
        format!("{}-before", self.name())
    }

    /// Refuses a result that speaks of what never travels.
    fn check(&self, base: SnapshotId, changes: &[Change]) -> Result<(), WorkspaceError> {
        let matcher = Matcher::of(&self.store().rules(base)?);
        for Change { path, new, .. } in changes {
            let place = if new.is_some_and(|entry| entry.is_folder()) {
                Place::Folder
            } else {
                Place::Leaf
            };
            if matcher.never_beneath(path.as_path(), place) {
                return Err(refused(format!("it changes {path}, which never travels")));
            }
        }
        Ok(())
    }

    /// Carries an intent out, from wherever it is.
    fn run(&self, mut intent: Intent) -> Result<Intent, WorkspaceError> {
        if let Phase::Forward = intent.phase {
            let (from, to) = (self.store().listing(intent.now)?, self.target(&intent)?);
            intent.phase = match self.move_all(&from, &to, Way::Forward)? {
                None => Phase::Done,
                Some(path) => Phase::Back { conflicts: vec![path] },
            };
            intent.write(self)?;
        }
        if let Phase::Back { conflicts } = &intent.phase {
            let conflicts = conflicts.clone();
            let (from, to) = (self.target(&intent)?, self.store().listing(intent.now)?);
            // A path that somebody else has meanwhile is theirs.
            self.move_all(&from, &to, Way::Back)?;
            intent.phase = Phase::Undone { conflicts };
            intent.write(self)?;
        }
        Ok(intent)
    }

    /// Lists the folder as it will be: as it is now, with the changes.
    fn target(&self, intent: &Intent) -> Result<Listing, WorkspaceError> {
        let mut listing = self.store().listing(intent.now)?;
        for Change { path, new, .. } in self.store().changes(intent.base, intent.result)? {
            match new {
                Some(entry) => listing.insert(path, entry),
                None => listing.remove(&path),
            };
        }
        Ok(listing)
    }

    /// Moves the folder from one listing to another, and gives the first path that holds neither.
    fn move_all(
        &self,
        from: &Listing,
        to: &Listing,
        way: Way,
    ) -> Result<Option<TreePath>, WorkspaceError> {
        let folder = Folder::open(self.root())?;
        let mut blobs = Blobs::start(self.store().git())?;
        let changes = between(from, to);
        let (puts, removals): (Vec<_>, Vec<_>) =
            changes.iter().partition(|change| leaf(change.new).is_some());
        let mut foreign = None;
        let mut emptied = BTreeSet::new();
        for change in removals.iter().rev() {
            let done = Step { folder: &folder, change }.remove(&mut blobs)?;
            note(&mut foreign, done, &change.path);
            emptied.insert(change.path.split().0.to_vec());
            fault()?;
        }
        for path in emptied.iter().rev() {
            remove_empty(&folder, path, |path| stays(to, path))?;
        }
        for change in puts {
            if foreign.is_some() && way == Way::Forward {
                break;
            }
            let done = Step { folder: &folder, change }.put(&mut blobs)?;
            note(&mut foreign, done, &change.path);
            fault()?;
        }
        for change in removals.iter().filter(|change| change.new.is_some()) {
            Step { folder: &folder, change }.make_folder()?;
        }
        folder.sync()?;
        Ok(foreign)
    }
    /// Clears away what a killed process had built or set aside. What is neither is somebody's, and stays.
    fn sweep(&self, intent: &Intent) -> Result<(), WorkspaceError> {
        let folder = Folder::open(self.root())?;
        let mut blobs = Blobs::start(self.store().git())?;
        for change in between(&self.store().listing(intent.now)?, &self.target(intent)?) {
            Step { folder: &folder, change: &change }.sweep(&mut blobs)?;
        }
        Ok(())
    }
}

/// Where a folder is moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To the result; the first path of somebody else's ends it.
    Forward,
    /// To what was, as far as nobody else has a path.
    Back,
}

fn note(foreign: &mut Option<TreePath>, done: Done, path: &TreePath) {
    match done {
        Done::Foreign if foreign.is_none() => *foreign = Some(path.clone()),
        Done::Foreign | Done::Moved => {}
    }
}

/// Leaves out folders: one that is there, or is not, is no conflict.
fn leaf(entry: Option<Entry>) -> Option<Entry> {
    entry.filter(|entry| !entry.is_folder())
}

fn stays(listing: &Listing, folder: &[u8]) -> bool {
    listing.contains_key(folder) || below(listing, folder).next().is_some()
}

/// Gives what a listing has below a folder.
fn below<'a>(listing: &'a Listing, folder: &[u8]) -> impl Iterator<Item = &'a TreePath> {
    let first = [folder, b"/"].concat();
    let range = listing.range::<[u8], _>((Bound::Included(&first[..]), Bound::Unbounded));
    range.map(|(path, _)| path).take_while(move |path| path.as_bytes().starts_with(&first))
}

/// Finds the paths that both sides changed, and those where one put a folder and the other a file.
fn conflicts(changes: &[Change], now: &Listing) -> Vec<TreePath> {
    let new: BTreeMap<&[u8], Option<Entry>> =
        changes.iter().map(|change| (change.path.as_bytes(), change.new)).collect();
    let goes = |path: &[u8]| new.get(path).is_some_and(|new| leaf(*new).is_none());
    let mut conflicts = BTreeSet::new();
    for Change { path, old, new } in changes {
        let here = leaf(now.get(path).copied());
        if here != leaf(*old) && here != leaf(*new) {
            conflicts.insert(path.clone());
        }
        if leaf(*new).is_some() {
            conflicts.extend(
                below(now, path.as_bytes()).filter(|inner| !goes(inner.as_bytes())).cloned(),
            );
        }
        if new.is_some() {
            let in_the_way = path
                .folders()
                .filter(|above| leaf(now.get(*above).copied()).is_some() && !goes(above));
            conflicts.extend(in_the_way.filter_map(|above| TreePath::new(above).ok()));
        }
    }
    conflicts.into_iter().take(MOST_NAMED).collect()
}

/// Where a test has the process die.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "it fails in tests")]
const fn fault() -> Result<(), WorkspaceError> {
    Ok(())
}

#[cfg(test)]
pub(crate) use crate::testing::fault;

#[cfg(test)]
mod tests;
