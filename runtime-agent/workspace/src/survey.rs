//! Walks a folder and tells what of it belongs to a snapshot: shapes and stamps, no bytes.
//!
//! `.gitignore` files count as git has them: the nearest first, an ignored folder is not entered, and what is tracked
//! is never ignored. Git's own directories are never entered, at any depth.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::Gitignore;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::entry::{Entry, Listing, Oid};
use crate::error::WorkspaceError;
use crate::folder::Folder;
use crate::name::{TEMPORARY, TreePath, is_git};
use crate::rules::{Matcher, Place, patterns};
use crate::stamp::Stamp;

/// The largest `.gitignore` that is read, in bytes.
const LARGEST_IGNORE: u64 = 4 * 1024 * 1024;

/// How many paths are named in each list of the notes.
const MOST_NOTED: usize = 100;

/// How deep folders may lie in each other.
const DEEPEST: usize = 1000;

/// What a person may want to know of what a snapshot does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// Submodules: the commit they are pinned to travels, their content does not.
    pub pinned: Vec<String>,
    /// Folders that are git repositories of their own: their files travel, their history does not.
    pub repositories: Vec<String>,
    /// Left out: sockets, devices, and names that mean something else on another file system.
    pub left_out: Vec<String>,
}

/// What is at a path, as far as can be seen without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    File,
    Program,
    Link,
    Pin(Oid),
    EmptyFolder,
}

/// A path that belongs to the snapshot.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) path: TreePath,
    pub(crate) shape: Shape,
    /// Of a file or a link.
    pub(crate) stamp: Option<Stamp>,
}

/// Everything that belongs to the snapshot, in the order of the paths.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) found: Vec<Found>,
    pub(crate) notes: Notes,
}

/// Walks a folder. Whatever `tracked` names is in, ignored or not, if it is there.
pub(crate) fn survey(
    folder: &Folder,
    matcher: &Matcher,
    tracked: &Listing,
) -> Result<Survey, WorkspaceError> {
    let mut walk = Walk {
        folder,
        matcher,
        tracked,
        survey: Survey::default(),
        visited: Vec::new(),
        waiting: Vec::new(),
    };
    walk.waiting.push(Level { path: Vec::new(), depth: 0, scope: Scope::Shown(None) });
    while let Some(level) = walk.waiting.pop() {
        walk.level(&level)?;
    }
    Ok(walk.finish())
}

/// A folder to be looked into.
#[derive(Debug)]
struct Level {
    path: Vec<u8>,
    depth: usize,
    scope: Scope,
}

/// What of a folder is in.
#[derive(Debug, Clone)]
enum Scope {
    /// Whatever these patterns do not ignore.
    Shown(Option<Rc<Patterns>>),
    /// Everything.
    Always,
    /// The folder is ignored: only what is tracked, or always in.
    Ignored,
}

/// Whether anything is in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Inside {
    Nothing,
    Something,
}

/// The patterns of a folder, and of those above it.
#[derive(Debug)]
struct Patterns {
    own: Gitignore,
    above: Option<Rc<Self>>,
}

struct Walk<'a> {
    folder: &'a Folder,
    matcher: &'a Matcher,
    tracked: &'a Listing,
    survey: Survey,
    /// Folders that are shown, and whether anything at all is in them.
    visited: Vec<(Vec<u8>, Inside)>,
    waiting: Vec<Level>,
}

impl Walk<'_> {
    fn level(&mut self, level: &Level) -> Result<(), WorkspaceError> {
        let here = match self.folder.enter(&level.path) {
            Ok(here) => here,
            // Gone, or something else by now: the next survey sees what it is.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if level.depth > 0 => return Ok(()),
            Err(error) => return Err(self.folder.error(&level.path, error)),
        };
        if level.depth > DEEPEST {
            return Err(self.folder.error(&level.path, Errno::NAMETOOLONG));
        }
        let scope = match &level.scope {
            Scope::Shown(above) => Scope::Shown(own_patterns(&here, &level.path, above.clone())),
            other => other.clone(),
        };
        let mut inside = Inside::Nothing;
        let mut entries =
            Dir::read_from(&here).map_err(|error| self.folder.error(&level.path, error))?;
        while let Some(entry) = entries.read() {
            let entry = entry.map_err(|error| self.folder.error(&level.path, error))?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") && !name.starts_with(TEMPORARY) {
                inside = Inside::Something;
                self.name(level, &scope, &here, name, entry.file_type())?;
            }
        }
        if level.depth > 0 && !matches!(scope, Scope::Ignored) {
            self.visited.push((level.path.clone(), inside));
        }
        Ok(())
    }

    fn name(
        &mut self,
        level: &Level,
        scope: &Scope,
        here: &OwnedFd,
        name: &[u8],
        file_type: FileType,
    ) -> Result<(), WorkspaceError> {
        let mut path = Vec::with_capacity(level.path.len() + 1 + name.len());
        if !level.path.is_empty() {
            path.extend_from_slice(&level.path);
            path.push(b'/');
        }
        path.extend_from_slice(name);
        if is_git(name) {
            match name {
                b".git" if level.path.is_empty() => {}
                b".git" => note(&mut self.survey.notes.repositories, &level.path),
                _ => note(&mut self.survey.notes.left_out, &path),
            }
            return Ok(());
        }
        let Ok(path) = TreePath::new(path) else {
            note(&mut self.survey.notes.left_out, name);
            return Ok(());
        };
        let file_type = match file_type {
            FileType::Unknown => match statat(here, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(Errno::NOENT) => return Ok(()),
                Err(error) => return Err(self.folder.error(path.as_bytes(), error)),
            },
            known => known,
        };
        if file_type == FileType::Directory {
            self.inner(level, scope, path);
            return Ok(());
        }
        if self.is_in(&path, scope) {
            self.leaf(here, name, path)?;
        }
        Ok(())
    }

    /// Decides about a folder in a folder.
    fn inner(&mut self, level: &Level, scope: &Scope, path: TreePath) {
        if self.matcher.never(path.as_path(), Place::Folder) {
            return;
        }
        if let Some(Entry::Pin(oid)) = self.tracked.get(&path) {
            note(&mut self.survey.notes.pinned, path.as_bytes());
            self.survey.found.push(Found { shape: Shape::Pin(*oid), stamp: None, path });
            return;
        }
        let scope = if self.matcher.always(path.as_bytes()) {
            Scope::Always
        } else {
            match scope {
                Scope::Always => Scope::Always,
                Scope::Shown(patterns)
                    if !self.ignored(path.as_path(), Place::Folder, patterns) =>
                {
                    Scope::Shown(patterns.clone())
                }
                Scope::Shown(_) | Scope::Ignored => Scope::Ignored,
            }
        };
        if matches!(scope, Scope::Ignored)
            && !self.tracked_beneath(&path)
            && !self.matcher.always_beneath(path.as_bytes())
        {
            return;
        }
        self.waiting.push(Level { path: path.as_bytes().to_vec(), depth: level.depth + 1, scope });
    }

    fn tracked_beneath(&self, folder: &TreePath) -> bool {
        let first = [folder.as_bytes(), b"/"].concat();
        let next = self
            .tracked
            .range::<[u8], _>((std::ops::Bound::Included(&first[..]), std::ops::Bound::Unbounded))
            .next();
        next.is_some_and(|(path, _)| path.as_bytes().starts_with(&first))
    }

    /// Tells whether a file or a link is in.
    fn is_in(&self, path: &TreePath, scope: &Scope) -> bool {
        if self.matcher.never(path.as_path(), Place::Leaf) {
            return false;
        }
        let shown = match scope {
            Scope::Always => true,
            Scope::Shown(patterns) => !self.ignored(path.as_path(), Place::Leaf, patterns),
            Scope::Ignored => false,
        };
        shown || self.tracked.contains_key(path) || self.matcher.always(path.as_bytes())
    }

    fn ignored(&self, path: &Path, place: Place, patterns: &Option<Rc<Patterns>>) -> bool {
        let mut next = patterns.as_ref();
        while let Some(level) = next {
            match level.own.matched(path, place == Place::Folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = level.above.as_ref(),
            }
        }
        self.matcher.excludes.matched(path, place == Place::Folder).is_ignore()
    }

    fn leaf(&mut self, here: &OwnedFd, name: &[u8], path: TreePath) -> Result<(), WorkspaceError> {
        let stat = match statat(here, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(self.folder.error(path.as_bytes(), error)),
        };
        match shape(FileType::from_raw_mode(stat.st_mode), stat.st_mode) {
            Some(shape) => {
                self.survey.found.push(Found { path, shape, stamp: Some(Stamp::of(&stat)) })
            }
            None => note(&mut self.survey.notes.left_out, path.as_bytes()),
        }
        Ok(())
    }

    /// Tells whether something below a folder is in, or a folder that is shown.
    fn holds(&self, folder: &[u8]) -> bool {
        let first = [folder, &b"/"[..]].concat();
        let at = self.survey.found.partition_point(|found| found.path.as_bytes() < &first[..]);
        let found = self
            .survey
            .found
            .get(at)
            .is_some_and(|found| found.path.as_bytes().starts_with(&first));
        let at = self.visited.partition_point(|(other, _)| other[..] < first[..]);
        found || self.visited.get(at).is_some_and(|(other, _)| other.starts_with(&first))
    }

    /// Puts everything in order, and finds the folders in which nothing is.
    fn finish(mut self) -> Survey {
        self.survey.found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        self.visited.sort_unstable();
        let mut empty = Vec::new();
        for (folder, inside) in &self.visited {
            let Ok(path) = TreePath::new(folder.clone()) else { continue };
            // One that holds only what is ignored is no empty folder, unless it was one when it was laid out.
            let is_empty = match inside {
                Inside::Nothing => true,
                Inside::Something => {
                    self.tracked.get(&path) == Some(&Entry::EmptyFolder) && !self.holds(folder)
                }
            };
            if is_empty {
                empty.push(Found { path, shape: Shape::EmptyFolder, stamp: None });
            }
        }
        if !empty.is_empty() {
            self.survey.found.append(&mut empty);
            self.survey.found.sort_by(|one, other| one.path.cmp(&other.path));
        }
        self.survey
    }
}

/// Tells the shape of what is no folder; `None` for what no snapshot holds.
pub(crate) fn shape(file_type: FileType, mode: u32) -> Option<Shape> {
    match file_type {
        FileType::RegularFile if mode & 0o100 != 0 => Some(Shape::Program),
        FileType::RegularFile => Some(Shape::File),
        FileType::Symlink => Some(Shape::Link),
        _ => None,
    }
}

/// Reads the patterns of a folder. As in git, a `.gitignore` that is a link counts for nothing.
fn own_patterns(
    here: impl AsFd,
    folder: &[u8],
    above: Option<Rc<Patterns>>,
) -> Option<Rc<Patterns>> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let Ok(fd) = openat(here, c".gitignore", flags, Mode::empty()) else { return above };
    let file = File::from(fd);
    let mut bytes = Vec::new();
    let regular = file.metadata().is_ok_and(|meta| meta.is_file());
    if !regular || file.take(LARGEST_IGNORE).read_to_end(&mut bytes).is_err() {
        return above;
    }
    let text = String::from_utf8_lossy(&bytes);
    let own = patterns(folder, text.trim_start_matches('\u{feff}').lines());
    Some(Rc::new(Patterns { own, above }))
}

fn note(list: &mut Vec<String>, path: &[u8]) {
    if list.len() < MOST_NOTED {
        list.push(String::from_utf8_lossy(path).into_owned());
    }
}
