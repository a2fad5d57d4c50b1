//! A hash of what a person approves, so that a later step can tell whether it changed since (OQ-2).

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ratchet_engine::name::ChangeName;
use ratchet_engine::transition::StepKind;
use sha2::{Digest as _, Sha256};

use super::file::{Doing, FileError, Of as _};
use super::layout::{ChangeDir, Layout, RATCHET_DIR};

/// Hashes what stands for approval after a step of this kind: the change's plan and features after a propose, else the
/// whole work tree without what git ignores and without run state.
///
/// # Errors
/// Fails if something is there and cannot be read.
pub fn approval_hash(
    layout: &Layout,
    change: &ChangeName,
    kind: Option<StepKind>,
) -> Result<String, FileError> {
    match kind {
        Some(StepKind::Propose) => {
            let change = layout.change(change);
            hash_of(layout.root(), [walk(&change.plan()), walk(&change.features())])
        }
        Some(StepKind::Apply | StepKind::Verify | StepKind::Decompose | StepKind::Pr) | None => {
            hash_of(layout.root(), [walk(layout.root())])
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

/// Hashes files by path, kind and content, in the order of their paths.
fn hash_of(root: &Path, walks: impl IntoIterator<Item = WalkBuilder>) -> Result<String, FileError> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in walks.into_iter().flat_map(|walk| walk.build()) {
        match entry {
            Ok(entry) => paths.push(entry.into_path()),
            Err(error) if error.io_error().is_some_and(|e| e.kind() == io::ErrorKind::NotFound) => {
            }
            Err(error) => {
                let text = error.to_string();
                let error = error.into_io_error().unwrap_or_else(|| io::Error::other(text));
                return Err(FileError::new(root, Doing::Read, error));
            }
        }
    }
    paths.sort_unstable();
    let mut hash = Sha256::new();
    for path in &paths {
        add(&mut hash, root, path).of(path, Doing::Read)?;
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{hex}"))
}

/// Adds one file or link; every part has its length before it, so that no two trees read alike.
fn add(hash: &mut Sha256, root: &Path, path: &Path) -> io::Result<()> {
    let meta = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta?,
    };
    if !meta.is_file() && !meta.is_symlink() {
        return Ok(());
    }
    let name = path.strip_prefix(root).unwrap_or(path).as_os_str().as_bytes();
    hash.update(name.len().to_le_bytes());
    hash.update(name);
    if meta.is_symlink() {
        let target = fs::read_link(path)?;
        hash.update(b"l");
        hash.update(target.as_os_str().len().to_le_bytes());
        hash.update(target.as_os_str().as_bytes());
        return Ok(());
    }
    hash.update(if meta.permissions().mode() & 0o111 == 0 { b"f" } else { b"x" });
    let mut content = Sha256::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => content.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    hash.update(content.finalize());
    Ok(())
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
        let hash = |kind| approval_hash(&layout, &name, Some(kind)).unwrap();
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
}
