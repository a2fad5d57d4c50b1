//! A hash of what a person approves, so that a later step can tell whether it changed since (OQ-2).
//!
//! It only makes a note, so nothing here fails: what cannot be read goes into the hash as just that. Nor may it hold a
//! step up: of a work tree at most `MOST_BYTES` are read, and of the files beyond that the size and the time of the last
//! change stand for the content.

use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ratchet_engine::name::ChangeName;
use ratchet_engine::transition::StepKind;
use sha2::{Digest as _, Sha256};

use super::file;
use super::layout::{ChangeDir, Layout, RATCHET_DIR};

/// How much content is read for one hash, in bytes; what fits is taken in the order of the paths.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// Stands in the hash for what cannot be read.
const CLOSED: &[u8] = b"?";

/// Hashes what stands for approval after a step of this kind: the change's plan and features after a propose, else the
/// whole work tree without what git ignores and without run state.
#[must_use]
pub fn approval_hash(layout: &Layout, change: &ChangeName, kind: Option<StepKind>) -> String {
    let tree = Tree { root: layout.root(), budget: MOST_BYTES };
    match kind {
        Some(StepKind::Propose) => {
            let change = layout.change(change);
            tree.hash([walk(&change.plan()), walk(&change.features())])
        }
        Some(StepKind::Apply | StepKind::Verify | StepKind::Decompose | StepKind::Pr) | None => {
            tree.hash([walk(layout.root())])
        }
    }
}

fn walk(top: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(top);
    // What counts depends on the project alone: not on the user's own git settings, and not on whether it is in git yet.
    walk.hidden(false).git_global(false).require_git(false).ignore(false).parents(false);
    walk.filter_entry(|entry| entry.depth() == 0 || !is_left_out(entry.path()));
    walk
}

fn is_left_out(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let in_ratchet = || path.components().any(|part| part.as_os_str() == RATCHET_DIR);
    name == ".git" || name == ChangeDir::RUN || (name == "run" && in_ratchet())
}

/// What is hashed, and how much of its content may still be read.
struct Tree<'a> {
    root: &'a Path,
    budget: u64,
}

/// What is known of a path before it is looked at.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Here,
    /// A folder that may not be looked into.
    Closed,
}

impl Tree<'_> {
    /// Hashes files by path, kind and content, in the order of their paths.
    fn hash(mut self, walks: impl IntoIterator<Item = WalkBuilder>) -> String {
        let mut paths: Vec<(PathBuf, Seen)> = Vec::new();
        for entry in walks.into_iter().flat_map(|walk| walk.build()) {
            match entry {
                Ok(entry) => paths.push((entry.into_path(), Seen::Here)),
                Err(error) if error.io_error().is_some_and(is_absent) => {}
                Err(error) => {
                    let path = path_of(&error).unwrap_or(self.root).to_owned();
                    paths.push((path, Seen::Closed));
                }
            }
        }
        paths.sort_unstable();
        let mut hash = Sha256::new();
        for (path, seen) in &paths {
            self.add(&mut hash, path, seen);
        }
        format!("sha256:{}", hex::encode(hash.finalize()))
    }

    /// Adds one file or link; every part has its length before it, so that no two trees read alike.
    fn add(&mut self, hash: &mut Sha256, path: &Path, seen: &Seen) {
        let meta = match (seen, fs::symlink_metadata(path)) {
            (Seen::Here, Ok(meta)) if meta.is_file() || meta.is_symlink() => meta,
            (Seen::Here, Ok(_)) => return,
            (_, Err(error)) if is_absent(&error) => return,
            (Seen::Closed, _) | (Seen::Here, Err(_)) => return self.add_closed(hash, path),
        };
        self.add_name(hash, path);
        let is_program = meta.permissions().mode() & 0o111 != 0;
        if meta.is_symlink() {
            add_link(hash, path);
        } else if let Some(left) = self.budget.checked_sub(meta.len()) {
            self.budget = left;
            match content(path, &meta) {
                Ok(content) => {
                    hash.update(if is_program { b"x" } else { b"f" });
                    hash.update(content);
                }
                Err(_) => hash.update(CLOSED),
            }
        } else {
            hash.update(if is_program { b"X" } else { b"F" });
            hash.update(meta.size().to_le_bytes());
            hash.update(meta.mtime().to_le_bytes());
            hash.update(meta.mtime_nsec().to_le_bytes());
        }
    }

    fn add_closed(&self, hash: &mut Sha256, path: &Path) {
        self.add_name(hash, path);
        hash.update(CLOSED);
    }

    fn add_name(&self, hash: &mut Sha256, path: &Path) {
        let name = path.strip_prefix(self.root).unwrap_or(path).as_os_str().as_bytes();
        hash.update(name.len().to_le_bytes());
        hash.update(name);
    }
}

fn add_link(hash: &mut Sha256, path: &Path) {
    match fs::read_link(path) {
        Ok(target) => {
            hash.update(b"l");
            hash.update(target.as_os_str().len().to_le_bytes());
            hash.update(target.as_os_str().as_bytes());
        }
        Err(_) => hash.update(CLOSED),
    }
}

/// Hashes a file's content, of one that grows meanwhile what was there at first.
fn content(path: &Path, meta: &Metadata) -> io::Result<impl AsRef<[u8]>> {
    let mut hash = Sha256::new();
    io::copy(&mut file::open(path)?.take(meta.len()), &mut hash)?;
    Ok(hash.finalize())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Finds the path that an error of a walk is about.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        ignore::Error::Loop { child, .. } => Some(child),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_changes_with_what_was_approved_and_with_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let name = ChangeName::parse("a").unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(".ratchet/changes/a/plan.md", "- [ ] one\n");
        put("src/main.c", "int main;");
        put(".gitignore", "build/\n");
        let hash = |kind| approval_hash(&layout, &name, Some(kind));
        let (proposed, applied) = (hash(StepKind::Propose), hash(StepKind::Apply));
        put(".ratchet/batches/b/run/journal.jsonl", "x");
        put(".ratchet/changes/a/.run/state.json", "x");
        put("build/out", "x");
        assert_eq!(
            (hash(StepKind::Propose), hash(StepKind::Apply)),
            (proposed.clone(), applied.clone())
        );
        put("src/main.c", "int other;");
        assert_eq!(hash(StepKind::Propose), proposed);
        assert_ne!(hash(StepKind::Apply), applied);
        put(".ratchet/changes/a/features/x/y.feature", "Feature: y\n");
        assert_ne!(hash(StepKind::Propose), proposed);
    }

    /// Says whether modes bind this user; they do not bind root.
    fn may_be_shut_out(path: &Path) -> bool {
        fs::File::open(path).is_err()
    }

    fn hash_within(root: &Path, budget: u64) -> String {
        Tree { root, budget }.hash([walk(root)])
    }

    #[test]
    fn what_cannot_be_read_is_a_fact_in_the_hash_and_no_obstacle() {
        let dir = tempfile::tempdir().unwrap();
        let shut = dir.path().join("pgdata");
        fs::create_dir(&shut).unwrap();
        fs::write(shut.join("inside"), "x").unwrap();
        fs::write(dir.path().join("secret"), "x").unwrap();
        let hash = || hash_within(dir.path(), MOST_BYTES);
        let open = hash();
        for path in [shut.clone(), dir.path().join("secret")] {
            let mode = fs::metadata(&path).unwrap().permissions();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
            let closed = hash();
            assert_eq!(closed, hash(), "the same every time");
            assert_eq!(closed != open, may_be_shut_out(&path), "{}", path.display());
            fs::set_permissions(&path, mode).unwrap();
        }
        assert_eq!(hash(), open);
    }

    #[test]
    fn a_path_that_cannot_be_read_is_not_one_that_is_absent_or_empty() {
        let hash = |seen: Option<Seen>| {
            let tree = Tree { root: Path::new("/p"), budget: 0 };
            let mut hash = Sha256::new();
            if seen.is_some() {
                tree.add_closed(&mut hash, Path::new("/p/a"));
            }
            hash.finalize()
        };
        assert_ne!(hash(Some(Seen::Closed)), hash(None));
        let loops = ignore::Error::Loop { ancestor: "/p".into(), child: "/p/a".into() };
        let error = ignore::Error::WithDepth { depth: 1, err: Box::new(loops) };
        assert_eq!(path_of(&error), Some(Path::new("/p/a")));
    }

    #[test]
    fn beyond_the_budget_size_and_time_stand_for_the_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("big");
        let then = std::time::SystemTime::UNIX_EPOCH;
        let put = |text: &str, time| {
            fs::write(&path, text).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        let hashes = || (hash_within(dir.path(), 4), hash_within(dir.path(), 3));
        put("four", then);
        let (read, measured) = hashes();
        put("FOUR", then);
        assert_ne!(hashes().0, read, "it fits, so its content counts");
        assert_eq!(hashes().1, measured, "it does not fit");
        put("four", then + std::time::Duration::from_secs(1));
        assert_eq!(hashes().0, read);
        assert_ne!(hashes().1, measured);
        put("fives", then);
        assert_ne!(hashes().1, measured);
    }
}
