//! Takes a snapshot: survey, read what is not known, name the whole.

use std::collections::BTreeMap;
use std::fs;

use crate::cache::{Cache, Known};
use crate::entry::{Entry, Listing, Oid, SnapshotId};
use crate::error::WorkspaceError;
use crate::excludes;
use crate::folder::Folder;
use crate::import::{Commit, Edit, Import, Read};
use crate::name::TreePath;
use crate::rules::{Matcher, Rules};
use crate::stamp::{Moment, Stamp};
use crate::store::{Store, refused};
use crate::survey::{Found, Notes, Shape, Survey, survey};
use crate::workspace::Workspace;

/// How often a workspace is looked at that changes while it is read.
const MOST_ROUNDS: usize = 5;

/// By which rules a snapshot is taken.
#[derive(Debug, Clone, Copy)]
pub enum Base<'a> {
    /// A folder of a person's: by these rules, by those of the repository around it, and with everything that git tracks.
    Project(&'a Rules),
    /// What came of a snapshot that was laid out: by its rules, and with every path of it.
    Snapshot(SnapshotId),
}

/// A snapshot that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its name.
    pub id: SnapshotId,
    /// How many paths it holds.
    pub paths: usize,
    /// How many files had to be read for it.
    pub read: usize,
    /// What it does not hold.
    pub notes: Notes,
}

/// By what a workspace is looked at, worked out.
pub(crate) struct View {
    pub(crate) rules: Rules,
    pub(crate) tracked: Listing,
}

impl View {
    pub(crate) fn of(workspace: &Workspace, base: Base<'_>) -> Result<Self, WorkspaceError> {
        let store = workspace.store();
        match base {
            Base::Project(rules) => {
                let mut rules = rules.clone();
                let mut tracked = Listing::new();
                if let Some(around) = excludes::around(workspace.root(), store.git())? {
                    rules.excludes.splice(0..0, around.excludes);
                    tracked.extend(around.tracked);
                }
                Ok(Self { rules, tracked })
            }
            Base::Snapshot(id) => Ok(Self { rules: store.rules(id)?, tracked: store.listing(id)? }),
        }
    }
}

/// A workspace as it is now: what is known of each path.
pub(crate) struct Taken {
    pub(crate) snapshot: Snapshot,
    pub(crate) entries: Vec<Known>,
}

/// Takes a snapshot; the caller holds the workspace's lock.
pub(crate) fn take(workspace: &Workspace, view: &View) -> Result<Taken, WorkspaceError> {
    let cache = workspace.store().cache(workspace.name());
    let had_cache = cache.is_some();
    match take_from(workspace, view, cache) {
        // What the cache speaks of may have been removed from under it.
        Err(WorkspaceError::Git { .. }) if had_cache => {
            let path = workspace.store().file(workspace.name(), "cache");
            fs::remove_file(&path).map_err(|error| WorkspaceError::disk(&path, error))?;
            take_from(workspace, view, None)
        }
        other => other,
    }
}

fn take_from(
    workspace: &Workspace,
    view: &View,
    cache: Option<Cache>,
) -> Result<Taken, WorkspaceError> {
    let store = workspace.store();
    let folder = Folder::open(workspace.root())?;
    let matcher = Matcher::of(&view.rules);
    let rules = serde_json::to_vec(&view.rules).map_err(|error| refused(error.to_string()))?;
    let mut reading = Reading::of(store, &folder, cache.as_ref());
    let (entries, notes) = reading.rounds(|| survey(&folder, &matcher, &view.tracked))?;
    let read = reading.read;
    let taken = |id| Snapshot { id, paths: entries.len(), read, notes: notes.clone() };
    let import = reading.import.take();
    if let Some(cache) =
        cache.as_ref().filter(|cache| cache.rules == rules && same(&cache.entries, &entries))
    {
        let snapshot = taken(cache.snapshot);
        import.map_or(Ok(()), Import::end)?;
        if cache.entries != entries {
            let files = cache.files;
            remember(
                workspace,
                Cache { snapshot: snapshot.id, files, rules, entries: entries.clone() },
            )?;
        }
        return Ok(Taken { snapshot, entries });
    }
    let import = import.map_or_else(|| Import::start(store.git()), Ok)?;
    let commit = Commit {
        reference: &Store::latest(workspace.name()),
        from: cache.as_ref().map(|cache| cache.files),
        edits: edits(cache.as_ref().map_or(&[], |cache| &cache.entries), &entries),
        rules: &rules,
        empty: entries
            .iter()
            .filter(|known| known.entry == Entry::EmptyFolder)
            .map(|known| &known.path)
            .collect(),
    };
    let (name, files) = import.commit(&commit)?;
    let snapshot = taken(SnapshotId::new(name));
    remember(workspace, Cache { snapshot: snapshot.id, files, rules, entries: entries.clone() })?;
    Ok(Taken { snapshot, entries })
}

fn remember(workspace: &Workspace, cache: Cache) -> Result<(), WorkspaceError> {
    cache.write(&workspace.store().file(workspace.name(), "cache"))
}

/// Tells whether two lists hold the same, whatever their stamps.
fn same(one: &[Known], other: &[Known]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| (&one.path, one.entry) == (&other.path, other.entry))
}

/// What leads from one list to another: what goes first, since a file may give way to a folder.
fn edits<'a>(from: &'a [Known], to: &'a [Known]) -> Vec<Edit<'a>> {
    let before: BTreeMap<_, _> = from.iter().map(|known| (&known.path, known.entry)).collect();
    let after: BTreeMap<_, _> = to.iter().map(|known| (&known.path, known.entry)).collect();
    let gone = before
        .iter()
        .filter(|(path, entry)| entry.in_git().is_some() && !after.contains_key(*path));
    let mut edits: Vec<_> = gone.map(|(path, _)| Edit::Remove(path)).collect();
    // A path that is an empty folder now may have been a file.
    edits.extend(after.iter().filter_map(|(path, entry)| {
        let was_in_git = before.get(*path).is_some_and(|old| old.in_git().is_some());
        (entry.in_git().is_none() && was_in_git).then_some(Edit::Remove(path))
    }));
    edits.extend(after.into_iter().filter_map(|(path, entry)| {
        (before.get(path) != Some(&entry)).then_some(Edit::Put(path, entry))
    }));
    edits
}

/// Reads what is not known, until nothing changes any more.
struct Reading<'a> {
    store: &'a Store,
    folder: &'a Folder,
    known: BTreeMap<&'a TreePath, &'a Known>,
    /// What was read in this call: it spares a second reading only if its stamp can be relied on.
    fresh: BTreeMap<TreePath, Known>,
    import: Option<Import>,
    names: Vec<Oid>,
    read: usize,
}

impl<'a> Reading<'a> {
    fn of(store: &'a Store, folder: &'a Folder, cache: Option<&'a Cache>) -> Self {
        let known = cache.map_or_else(BTreeMap::new, |cache| {
            cache.entries.iter().map(|known| (&known.path, known)).collect()
        });
        Self {
            store,
            folder,
            known,
            fresh: BTreeMap::new(),
            import: None,
            names: Vec::new(),
            read: 0,
        }
    }

    fn rounds(
        &mut self,
        look: impl Fn() -> Result<Survey, WorkspaceError>,
    ) -> Result<(Vec<Known>, Notes), WorkspaceError> {
        let mut last = None;
        for _ in 0..MOST_ROUNDS {
            let survey = look()?;
            match self.round(&survey.found)? {
                Round::Whole(entries) => return Ok((entries, survey.notes)),
                Round::Changed(path) => last = Some(path),
            }
        }
        match last {
            Some(path) => Err(WorkspaceError::Changing { path }),
            None => Err(refused("nothing was read")),
        }
    }

    fn round(&mut self, found: &[Found]) -> Result<Round, WorkspaceError> {
        let mut entries = Vec::with_capacity(found.len());
        let mut marks = Vec::new();
        let mut changed = None;
        for Found { path, shape, stamp } in found {
            let known = match (shape, stamp) {
                (Shape::Pin(oid), _) => Some((Entry::Pin(*oid), None)),
                (Shape::EmptyFolder, _) => Some((Entry::EmptyFolder, None)),
                (_, Some(stamp)) => {
                    self.recall(path, *shape, *stamp).map(|entry| (entry, Some(*stamp)))
                }
                (_, None) => None,
            };
            if let Some((entry, stamp)) = known {
                entries.push(Known { path: path.clone(), entry, stamp });
                continue;
            }
            let moment = Moment::now();
            if self.import.is_none() {
                self.import = Some(Import::start(self.store.git())?);
            }
            let Some(import) = self.import.as_mut() else { continue };
            self.read += 1;
            match import.read(self.folder, path)? {
                Read::Whole { mark, shape, stamp } => {
                    let stamp = stamp.settled(moment).then_some(stamp);
                    marks.push((entries.len(), mark, shape));
                    entries.push(Known { path: path.clone(), entry: Entry::EmptyFolder, stamp });
                }
                Read::Changed => changed = Some(path.clone()),
            }
        }
        if let Some(import) = self.import.as_mut().filter(|_| !marks.is_empty()) {
            self.names = import.names()?;
        }
        for (at, mark, shape) in marks {
            let place = usize::try_from(mark).unwrap_or(usize::MAX) - 1;
            let oid = self
                .names
                .get(place)
                .copied()
                .ok_or_else(|| refused("a file has no name in the store"))?;
            entries[at].entry = of_shape(shape, oid);
            if changed.is_some() {
                self.fresh.insert(entries[at].path.clone(), entries[at].clone());
            }
        }
        Ok(changed.map_or(Round::Whole(entries), Round::Changed))
    }

    /// Says what a file holds, if that is known by its stamp.
    fn recall(&self, path: &TreePath, shape: Shape, stamp: Stamp) -> Option<Entry> {
        let known = self.fresh.get(path).or_else(|| self.known.get(path).copied())?;
        let oid = known.entry.in_git()?.1;
        let same_kind = matches!(known.entry, Entry::Link(_)) == (shape == Shape::Link);
        (known.stamp == Some(stamp) && same_kind).then(|| of_shape(shape, oid))
    }
}

enum Round {
    Whole(Vec<Known>),
    Changed(TreePath),
}

fn of_shape(shape: Shape, oid: Oid) -> Entry {
    match shape {
        Shape::Program => Entry::Program(oid),
        Shape::Link => Entry::Link(oid),
        Shape::Pin(oid) => Entry::Pin(oid),
        Shape::File => Entry::File(oid),
        Shape::EmptyFolder => Entry::EmptyFolder,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::testing::{Place, changing, write};

    fn take(workspace: &Workspace) -> Result<Snapshot, WorkspaceError> {
        workspace.snapshot(Base::Project(&Rules::default()))
    }

    #[test]
    fn a_file_that_goes_on_changing_is_named_and_no_half_of_it_is_taken() {
        let place = Place::new();
        let workspace = place.workspace(&place.store("store"), "w");
        write(workspace.root(), &[("growing", "x"), ("still", "x")]);
        let grow = |path: &Path| {
            if path.ends_with("growing") {
                fs::write(path, [&fs::read(path).unwrap()[..], b"more"].concat()).unwrap();
            }
        };
        match changing(grow, || take(&workspace)) {
            Err(WorkspaceError::Changing { path }) => assert_eq!(path.to_string(), "growing"),
            other => panic!("{other:?}"),
        }
        assert_eq!(take(&workspace).unwrap().paths, 2);
    }

    #[test]
    fn a_file_that_changes_once_or_goes_away_is_taken_as_it_is_in_the_end() {
        let place = Place::new();
        let store = place.store("store");
        let workspace = place.workspace(&store, "w");
        write(workspace.root(), &[("once", "x"), ("goes", "x")]);
        let change = |path: &Path| {
            if path.ends_with("once") && fs::read(path).unwrap() == b"x" {
                fs::write(path, "xx").unwrap();
            } else if path.ends_with("goes") {
                fs::remove_file(path).unwrap();
            }
        };
        let taken = changing(change, || take(&workspace)).unwrap();
        assert_eq!(taken.id, take(&workspace).unwrap().id);
        assert_eq!(store.listing(taken.id).unwrap().len(), 1);
    }
}
