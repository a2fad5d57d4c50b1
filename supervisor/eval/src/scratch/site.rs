//! The copy that one job works in: what differs, undoing it, and nothing else.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::copy::{Means, put, remove};
use super::manifest::{Kind, Stamp, walk};
use super::origin::Ignored;
use super::{Origin, ScratchError, diff, disk};
use crate::harness::site::{Capture, Site, SiteError};
use crate::mutation::scope::Change;

/// One job's copy.
#[derive(Debug)]
pub struct JobCopy<'o> {
    origin: &'o Origin,
    tree: PathBuf,
    warm: PathBuf,
    room: PathBuf,
    project: PathBuf,
    /// What must be in the tree, and how it is stamped there; by the bytes of its path, for there are many.
    known: HashMap<OsString, Known>,
    /// The number of the look at the tree that is under way, or was the last.
    round: u32,
    /// The time of the last fault that was planted here.
    last_fault: SystemTime,
    /// What differed when it was looked at last, while nothing runs here.
    seen: Option<Differences>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    stamp: Stamp,
    from: From,
    /// In which round it was there.
    seen: u32,
}

/// Where a file is restored from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Pristine,
    Warm,
}

/// What differs from what is known.
#[derive(Debug, Default)]
struct Differences {
    /// There, and not known or not as known.
    present: BTreeMap<PathBuf, Stamp>,
    /// Known, and not there.
    missing: Vec<PathBuf>,
}

/// Whose a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The project's code.
    Project,
    /// Nobody's: version control ignores it.
    Ignored,
    /// The repository's.
    Git,
}

impl<'o> JobCopy<'o> {
    pub(super) fn new(origin: &'o Origin, folder: PathBuf) -> Result<Self, ScratchError> {
        let tree = folder.join("tree");
        fs::create_dir_all(&tree).map_err(disk(&tree))?;
        let warm = folder.join("warm");
        fs::create_dir(&warm).map_err(disk(&warm))?;
        let mut copy = Self {
            origin,
            project: tree.join(origin.prefix()),
            tree,
            warm,
            room: folder.join("diff"),
            known: HashMap::new(),
            round: 0,
            last_fault: SystemTime::UNIX_EPOCH,
            seen: None,
        };
        let mut paths = Vec::new();
        walk(&origin.tree, |path, _| paths.push(path)).map_err(disk(&origin.tree))?;
        for path in paths {
            copy.put(&path, From::Pristine)?;
        }
        Ok(copy)
    }

    /// Puts a file where it belongs, which must be free, and remembers how it looks.
    fn put(&mut self, path: &Path, from: From) -> Result<(), ScratchError> {
        let source = self.source(path, from);
        let to = self.tree.join(path);
        put(&source, &to, self.means(path, from)).map_err(disk(&to))?;
        match Stamp::look(&to) {
            Ok(stamp) => {
                self.know(path, stamp, from);
            }
            // A socket or a pipe is not copied.
            Err(_) => drop(self.known.remove(path.as_os_str())),
        }
        Ok(())
    }

    fn know(&mut self, path: &Path, stamp: Stamp, from: From) {
        self.known.insert(path.as_os_str().to_owned(), Known { stamp, from, seen: self.round });
    }

    fn known(&self, path: &Path) -> Option<&Known> {
        self.known.get(path.as_os_str())
    }

    /// Puts back what is known and not there.
    fn put_missing(&mut self, path: &Path) -> Result<(), ScratchError> {
        match self.known(path).map(|known| known.from) {
            Some(from) if self.tree.join(path).symlink_metadata().is_err() => self.put(path, from),
            Some(_) | None => Ok(()),
        }
    }

    fn source(&self, path: &Path, from: From) -> PathBuf {
        match from {
            From::Pristine => self.origin.tree.join(path),
            From::Warm => self.warm.join(path),
        }
    }

    fn means(&self, path: &Path, from: From) -> Means {
        let shared = self.origin.ignored == Ignored::Link
            && from == From::Pristine
            && self.owner_of_known(path) == Owner::Ignored;
        if shared { Means::Link } else { Means::Copy }
    }

    fn owner_of_known(&self, path: &Path) -> Owner {
        if is_gits(path) {
            Owner::Git
        } else if self.origin.tracked.contains(path) {
            Owner::Project
        } else {
            Owner::Ignored
        }
    }

    fn differences(&mut self) -> Result<Differences, ScratchError> {
        self.round += 1;
        let (round, known) = (self.round, &mut self.known);
        let mut differences = Differences::default();
        let compare = |path: PathBuf, stamp: Stamp| {
            let known = known.get_mut(path.as_os_str());
            let same = known.is_some_and(|known| {
                known.seen = round;
                known.stamp == stamp
            });
            if !same {
                differences.present.insert(path, stamp);
            }
        };
        walk(&self.tree, compare).map_err(disk(&self.tree))?;
        let missing = self.known.iter().filter(|(_, known)| known.seen != round);
        differences.missing = missing.map(|(path, _)| PathBuf::from(path)).collect();
        differences.missing.sort();
        Ok(differences)
    }

    /// Says whose each path is that differs; a folder is nobody's.
    fn owners(&self, differences: &Differences) -> Result<BTreeMap<PathBuf, Owner>, ScratchError> {
        let mut owners = BTreeMap::new();
        let mut unknown = Vec::new();
        let present = differences.present.iter().filter(|(_, stamp)| stamp.kind != Kind::Folder);
        let missing = differences
            .missing
            .iter()
            .filter(|path| self.known(path).is_some_and(|known| known.stamp.kind != Kind::Folder));
        for path in present.map(|(path, _)| path).chain(missing) {
            if self.known(path).is_some() || is_gits(path) {
                owners.insert(path.clone(), self.owner_of_known(path));
            } else {
                unknown.push(path.as_path());
            }
        }
        let ignored = self.origin.ignores(&unknown)?;
        for path in unknown {
            let owner = if ignored.contains(path) { Owner::Ignored } else { Owner::Project };
            owners.insert(path.to_owned(), owner);
        }
        Ok(owners)
    }

    /// Undoes what differs, as far as `undo` says.
    fn undo(
        &mut self,
        differences: &Differences,
        undo: impl Fn(Option<Owner>) -> bool,
    ) -> Result<(), ScratchError> {
        if differences.present.is_empty() && differences.missing.is_empty() {
            return Ok(());
        }
        self.refuse_shared(differences)?;
        let owners = self.owners(differences)?;
        let wanted = |path: &Path| undo(owners.get(path).copied());
        // What is too much goes first: it may stand where something is missing. A folder goes before what is in it.
        for (path, stamp) in &differences.present {
            let to = self.tree.join(path);
            match self.known(path) {
                Some(known) if known.stamp.kind == Kind::Folder && stamp.kind == Kind::Folder => {
                    let mode = Permissions::from_mode(known.stamp.mode & 0o7777);
                    fs::set_permissions(&to, mode).map_err(disk(&to))?;
                }
                Some(_) | None if wanted(path) => remove(&to).map_err(disk(&to))?,
                Some(_) | None => {}
            }
        }
        let differing = differences.present.keys().filter(|path| self.known(path).is_some());
        let back = differing.chain(&differences.missing).filter(|path| wanted(path));
        let mut back: Vec<PathBuf> = back.cloned().collect();
        back.sort();
        for path in back {
            for folder in path.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
                self.put_missing(folder)?;
            }
            self.put_missing(&path)?;
        }
        Ok(())
    }

    /// A file that all copies share and that was written to cannot be restored from anywhere.
    fn refuse_shared(&self, differences: &Differences) -> Result<(), ScratchError> {
        if self.origin.ignored != Ignored::Link {
            return Ok(());
        }
        for (path, stamp) in &differences.present {
            let Some(known) = self.known(path) else { continue };
            if known.stamp.is_still_shared(stamp)
                && known.stamp.is_written(stamp)
                && self.owner_of_known(path) == Owner::Ignored
                && known.from == From::Pristine
            {
                return Err(ScratchError::SharedFileWritten { path: path.display().to_string() });
            }
        }
        Ok(())
    }

    /// Reads both sides of a file; `None` if it is the same on both.
    fn change(&self, path: &Path) -> Option<Change> {
        let known = self.known(path);
        let old_path = known.map(|known| self.source(path, known.from));
        let new_path = self.tree.join(path);
        let now = Stamp::look(&new_path).ok();
        let old = old_path.as_deref().and_then(content);
        let new = now.and_then(|_| content(&new_path));
        let mode = |stamp: Option<Stamp>| stamp.map(|stamp| (stamp.kind, stamp.mode & 0o111 != 0));
        let same_mode = match (known, now) {
            (Some(known), Some(_)) => mode(Some(known.stamp)) == mode(now),
            _ => true,
        };
        if old == new && same_mode {
            return None;
        }
        let mode_only = old == new;
        Some(Change { path: path.to_string_lossy().into_owned(), old, new, mode_only })
    }

    fn gather(&self, differences: &Differences) -> Result<Capture, ScratchError> {
        let owners = self.owners(differences)?;
        let mut capture = Capture::default();
        let mut paths = Vec::new();
        for (path, owner) in &owners {
            match owner {
                Owner::Ignored => capture.ignored.push(path.to_string_lossy().into_owned()),
                Owner::Git => {
                    capture.moved = capture.moved.or_else(|| self.moved(path));
                }
                Owner::Project => {
                    if let Some(change) = self.change(path) {
                        capture.changes.push(change);
                        paths.push(path.clone());
                    }
                }
            }
        }
        if !paths.is_empty() {
            let old = |path: &Path| self.known(path).map(|known| self.source(path, known.from));
            let new = |path: &Path| {
                let here = self.tree.join(path);
                here.symlink_metadata().is_ok().then_some(here)
            };
            capture.diff = diff::between(&self.origin.git, &self.room, &old, &new, &paths)?;
            capture.line = diff::first_line(&capture.diff);
        }
        Ok(capture)
    }

    /// Says what it means that a file of the repository differs; objects and the index mean nothing.
    fn moved(&self, path: &Path) -> Option<String> {
        let inside = path.strip_prefix(".git").ok()?;
        if !self.tree.join(".git/HEAD").is_file() {
            return Some("the agent removed .git".to_owned());
        }
        let text = inside.to_string_lossy();
        if text == "HEAD" || text == "packed-refs" || text.starts_with("refs/heads/") {
            return Some("the agent moved HEAD: it committed or switched branches".to_owned());
        }
        (text == "refs/stash").then(|| "the agent stashed its change".to_owned())
    }

    /// Applies a diff, as an attempt would have made it.
    ///
    /// # Errors
    /// Git's: the diff does not fit.
    pub fn apply(&self, diff: &[u8]) -> Result<(), ScratchError> {
        let arguments = ["apply", "--whitespace=nowarn", "-"];
        self.origin.git.tell(&self.tree, &arguments, &[], diff)?;
        Ok(())
    }

    /// Gives each file that differs a time that no build of it has seen: tools that compare times, in whole seconds some of
    /// them, would take the fault for what they know.
    fn freshen(&mut self, differences: &Differences) -> Result<(), ScratchError> {
        #[expect(clippy::disallowed_methods, reason = "a file's time, which no decision reads")]
        let now = SystemTime::now();
        let time = now.max(self.last_fault + Duration::from_secs(2));
        self.last_fault = time;
        for (path, stamp) in &differences.present {
            let here = self.tree.join(path);
            let Ok(now) = Stamp::look(&here) else { continue };
            // What was restored in the meantime keeps its time.
            let is_fault = self.known(path).is_none_or(|known| known.stamp != now);
            if stamp.kind == Kind::File && is_fault && !is_gits(path) {
                let file = File::options().read(true).open(&here).map_err(disk(&here))?;
                file.set_times(FileTimes::new().set_modified(time)).map_err(disk(&here))?;
            }
        }
        Ok(())
    }

    /// Keeps what the green baseline left in ignored files, so that no attempt has to build everything again.
    fn keep_warm(&mut self) -> Result<(), ScratchError> {
        let differences = self.differences()?;
        self.refuse_shared(&differences)?;
        let owners = self.owners(&differences)?;
        let is_ignored = |path: &Path| owners.get(path) == Some(&Owner::Ignored);
        for path in differences.missing.iter().filter(|path| is_ignored(path)) {
            self.known.remove(path.as_os_str());
        }
        for (path, stamp) in &differences.present {
            if !is_ignored(path) || stamp.kind == Kind::Other {
                continue;
            }
            self.know_folders_above(path)?;
            let to = self.warm.join(path);
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder).map_err(disk(folder))?;
            }
            remove(&to).map_err(disk(&to))?;
            let here = self.tree.join(path);
            put(&here, &to, Means::Copy).map_err(disk(&to))?;
            self.know(path, *stamp, From::Warm);
        }
        Ok(())
    }

    fn know_folders_above(&mut self, path: &Path) -> Result<(), ScratchError> {
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            if self.known(folder).is_none() {
                let warm = self.warm.join(folder);
                fs::create_dir_all(&warm).map_err(disk(&warm))?;
                let here = self.tree.join(folder);
                let stamp = Stamp::look(&here).map_err(disk(&here))?;
                self.know(folder, stamp, From::Warm);
            }
        }
        Ok(())
    }
}

/// Whether a path is a repository's: the copy's own, or one that an attempt has made inside of it.
fn is_gits(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

/// Reads a file, or where a link leads.
fn content(path: &Path) -> Option<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt as _;
    match Stamp::look(path).ok()?.kind {
        Kind::File => fs::read(path).ok(),
        Kind::Link => fs::read_link(path).ok().map(|to| to.as_os_str().as_bytes().to_vec()),
        Kind::Folder | Kind::Other => None,
    }
}

impl Site for JobCopy<'_> {
    fn project(&self) -> &Path {
        &self.project
    }

    fn capture(&mut self) -> Result<Capture, SiteError> {
        let differences = self.differences()?;
        let capture = self.gather(&differences)?;
        self.seen = Some(differences);
        Ok(capture)
    }

    fn settle(&mut self) -> Result<(), SiteError> {
        let differences = match self.seen.take() {
            Some(seen) => seen,
            None => self.differences()?,
        };
        self.undo(&differences, |owner| owner == Some(Owner::Ignored))?;
        Ok(self.freshen(&differences)?)
    }

    fn adopt(&mut self) -> Result<(), SiteError> {
        self.keep_warm()?;
        self.reset()
    }

    fn reset(&mut self) -> Result<(), SiteError> {
        self.seen = None;
        let differences = self.differences()?;
        self.undo(&differences, |_| true)?;
        // All else was seen to be as it was just now, and nothing of the attempt runs any more: the shim has seen to that.
        for path in differences.present.keys().chain(&differences.missing) {
            let now = Stamp::look(&self.tree.join(path)).ok();
            if now != self.known(path).map(|known| known.stamp) {
                return Err(SiteError::NotRestored { path: path.display().to_string() });
            }
        }
        Ok(())
    }
}
