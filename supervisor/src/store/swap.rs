//! The feature store goes from one state to the next in a single instant: the next one is built beside it, out of hard
//! links and what is new, and the two folders change places. Whoever is killed at any moment leaves the one or the other
//! (ADR 0009).
//!
//! Where folders cannot change places (some network file systems, a store that is a link), files are replaced one by one;
//! doing it again then finishes what was cut off. What changes is decided in [`super::features`] and [`super::links`].

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::file::{self, Doing, FileError, Of as _, folder_of, sync_folder};
use super::layout::Layout;
use crate::environment::Environment;
use crate::fault::{self, Point};

/// One file of the store that changes. The path is relative to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) path: PathBuf,
    /// What it holds from now on; `None` if it goes.
    pub(crate) content: Option<Vec<u8>>,
}

/// Makes all edits, or none. The caller holds the lock of `.ratchet`.
pub(crate) fn apply(
    layout: &Layout,
    environment: &Environment,
    edits: &[Edit],
) -> Result<(), FileError> {
    let (store, next) = (layout.features(), layout.next_features());
    clear(&next)?;
    if edits.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&store).of(&store, Doing::MakeFolder)?;
    if store.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        let built = mirror(&store, &next).and_then(|()| one_by_one(&next, edits));
        if let Err(error) = built {
            clear(&next)?;
            return Err(error);
        }
        fault::at(Point::Staged, environment);
        match renameat_with(CWD, &next, CWD, &store, RenameFlags::EXCHANGE) {
            Ok(()) => {
                sync_folder(folder_of(&store))?;
                fault::at(Point::Exchanged, environment);
                rescue(&next, &store, edits)?;
                return clear(&next);
            }
            Err(
                Errno::INVAL
                | Errno::NOSYS
                | Errno::OPNOTSUPP
                | Errno::XDEV
                | Errno::BUSY
                | Errno::PERM,
            ) => clear(&next)?,
            Err(error) => return Err(FileError::new(&store, Doing::Move, error.into())),
        }
    }
    one_by_one(&store, edits)
}

/// Makes the edits in a folder: what is written first, what goes after.
fn one_by_one(store: &Path, edits: &[Edit]) -> Result<(), FileError> {
    for Edit { path, content } in edits {
        let Some(bytes) = content else { continue };
        let target = store.join(path);
        let folder = folder_of(&target);
        fs::create_dir_all(folder).of(folder, Doing::MakeFolder)?;
        file::replace(&target, bytes)?;
    }
    for Edit { path, .. } in edits.iter().filter(|edit| edit.content.is_none()) {
        let target = store.join(path);
        match fs::remove_file(&target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            removed => removed.of(&target, Doing::Remove)?,
        }
        sync_folder(folder_of(&target))?;
        remove_empty_folders(store, path);
    }
    Ok(())
}

/// Builds a folder that holds the same files as another. Nothing is copied that can be linked.
fn mirror(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::create_dir_all(to).of(to, Doing::MakeFolder)?;
    let mode = from.metadata().of(from, Doing::Read)?.permissions();
    for entry in fs::read_dir(from).of(from, Doing::Read)? {
        let entry = entry.of(from, Doing::Read)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().of(&source, Doing::Read)?;
        if kind.is_dir() {
            mirror(&source, &target)?;
        } else if fs::hard_link(&source, &target).is_err() {
            // Some file systems know no hard links, and some kernels allow none to files of others.
            let copied = match kind.is_symlink() {
                true => {
                    fs::read_link(&source).and_then(|to| std::os::unix::fs::symlink(to, &target))
                }
                false => fs::copy(&source, &target).map(drop),
            };
            copied.of(&target, Doing::Write)?;
        }
    }
    fs::set_permissions(to, mode).of(to, Doing::Write)?;
    sync_folder(to)
}

/// Takes over what somebody else has written into the old store while the new one was built.
fn rescue(old: &Path, store: &Path, edits: &[Edit]) -> Result<(), FileError> {
    let ours: BTreeSet<&Path> = edits.iter().map(|edit| edit.path.as_path()).collect();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(old.join(&folder)) else { continue };
        for entry in entries.flatten() {
            let path = folder.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(_)
                    if !ours.contains(path.as_path())
                        && is_newer(&entry.path(), &store.join(&path)) =>
                {
                    let target = store.join(&path);
                    let into = folder_of(&target);
                    fs::create_dir_all(into).of(into, Doing::MakeFolder)?;
                    fs::rename(entry.path(), &target).of(&target, Doing::Move)?;
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    Ok(())
}

/// Tells whether a file of the old store is not the one that the new store was built from.
fn is_newer(old: &Path, new: &Path) -> bool {
    match (old.symlink_metadata(), new.symlink_metadata()) {
        (Ok(old_meta), Ok(new_meta)) if old_meta.ino() == new_meta.ino() => false,
        (Ok(_), Ok(_)) => fs::read(old).ok() != fs::read(new).ok(),
        (Ok(_), Err(_)) => true,
        (Err(_), _) => false,
    }
}

/// Removes what a killed archive has left behind, or what has served.
fn clear(next: &Path) -> Result<(), FileError> {
    match fs::remove_dir_all(next) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.of(next, Doing::Remove),
    }
}

/// Removes the folders that a deletion left empty; one that is not empty refuses by itself.
fn remove_empty_folders(store: &Path, deleted: &Path) {
    for folder in deleted.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
        if fs::remove_dir(store.join(folder)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn nobody() -> Environment {
        Environment::new("/", [("HOME", "/")])
    }

    fn store(files: &[(&str, &str)]) -> (tempfile::TempDir, Layout) {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        for (path, text) in files {
            let path = layout.features().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (dir, layout)
    }

    fn edit(path: &str, content: Option<&str>) -> Edit {
        Edit { path: path.into(), content: content.map(|text| text.as_bytes().to_vec()) }
    }

    fn text(layout: &Layout, path: &str) -> Option<String> {
        fs::read_to_string(layout.features().join(path)).ok()
    }

    #[test]
    fn the_store_changes_as_a_whole_and_what_is_not_meant_stays_the_same_file() {
        let (_dir, layout) = store(&[("a/x", "old"), ("a/y", "y"), ("b/z", "z"), ("note.md", "n")]);
        symlink("note.md", layout.features().join("link")).unwrap();
        let inode = |path| layout.features().join(path).metadata().unwrap().ino();
        let before = inode("a/y");
        let edits = [edit("a/x", Some("new")), edit("c/d/e", Some("e")), edit("b/z", None)];
        apply(&layout, &nobody(), &edits).unwrap();
        assert_eq!(text(&layout, "a/x").as_deref(), Some("new"));
        assert_eq!(text(&layout, "c/d/e").as_deref(), Some("e"));
        assert_eq!((text(&layout, "b/z"), inode("a/y")), (None, before));
        assert!(!layout.features().join("b").exists(), "the emptied folder is gone");
        assert!(layout.features().join("link").is_symlink());
        assert!(!layout.next_features().exists());
        apply(&layout, &nobody(), &edits).unwrap();
    }

    #[test]
    fn a_store_that_is_a_link_stays_one() {
        let (dir, layout) = store(&[("a/x", "old")]);
        fs::rename(layout.features(), dir.path().join("kept")).unwrap();
        symlink(dir.path().join("kept"), layout.features()).unwrap();
        apply(&layout, &nobody(), &[edit("a/x", Some("new")), edit("a/gone", None)]).unwrap();
        assert!(layout.features().is_symlink());
        assert_eq!(text(&layout, "a/x").as_deref(), Some("new"));
    }

    #[test]
    fn what_somebody_writes_meanwhile_is_taken_over() {
        let (dir, layout) = store(&[("a/x", "x"), ("a/gone", "gone")]);
        let old = dir.path().join("old");
        mirror(&layout.features(), &old).unwrap();
        fs::remove_file(old.join("a/x")).unwrap();
        for (path, text) in [("a/x", "saved anew"), ("n/new", "new"), ("a/gone", "changed")] {
            fs::create_dir_all(old.join(path).parent().unwrap()).unwrap();
            fs::write(old.join(path), text).unwrap();
        }
        fs::remove_file(layout.features().join("a/gone")).unwrap();
        rescue(&old, &layout.features(), &[edit("a/gone", None)]).unwrap();
        assert_eq!(text(&layout, "a/x").as_deref(), Some("saved anew"));
        assert_eq!(text(&layout, "n/new").as_deref(), Some("new"));
        assert_eq!(text(&layout, "a/gone"), None);
    }

    #[test]
    fn what_a_killed_archive_left_is_cleared_away() {
        let (_dir, layout) = store(&[("a/x", "x")]);
        fs::create_dir_all(layout.next_features().join("junk")).unwrap();
        apply(&layout, &nobody(), &[edit("b", Some("b"))]).unwrap();
        assert!(!layout.features().join("junk").exists() && !layout.next_features().exists());
    }
}
