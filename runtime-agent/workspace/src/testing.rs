//! What the tests of this crate share: a place with a store and workspaces, and a death at a chosen moment.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::store::{Store, refused};
use crate::workspace::Workspace;

thread_local! {
    static AFTER_READING: Cell<Option<fn(&Path)>> = const { Cell::new(None) };
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Dies here if it is time.
pub(crate) fn fault() -> Result<(), WorkspaceError> {
    match LEFT.get() {
        Some(0) => Err(refused("killed")),
        Some(left) => {
            LEFT.set(Some(left - 1));
            Ok(())
        }
        None => Ok(()),
    }
}

/// Somebody's chance to change a file between its reading and the look whether it changed.
pub(crate) fn after_reading(path: &Path) {
    if let Some(change) = AFTER_READING.get() {
        change(path);
    }
}

/// Does something while somebody changes each file that is read.
pub(crate) fn changing<T>(change: fn(&Path), what: impl FnOnce() -> T) -> T {
    AFTER_READING.set(Some(change));
    let value = what();
    AFTER_READING.set(None);
    value
}

/// Does something that dies after so many moments at which it could.
pub(crate) fn dying_after<T>(moments: usize, what: impl FnOnce() -> T) -> T {
    LEFT.set(Some(moments));
    let value = what();
    LEFT.set(None);
    value
}

/// A temporary folder with stores and workspaces in it.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn store(&self, name: &str) -> Store {
        #[expect(clippy::disallowed_methods, reason = "the tests find git where the shell does")]
        let search_path = std::env::var_os("PATH").unwrap();
        Store::open(&self.path().join(name), OsStr::new(&search_path)).unwrap()
    }

    /// Makes a workspace of a folder of this name.
    pub(crate) fn workspace(&self, store: &Store, name: &str) -> Workspace {
        let root = self.path().join(format!("{name}.tree"));
        fs::create_dir_all(&root).unwrap();
        Workspace::new(store, name, &root).unwrap()
    }
}

/// Writes files; a path that ends with `/` is a folder.
pub(crate) fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let full: PathBuf = root.join(path);
        if path.ends_with('/') {
            fs::create_dir_all(full).unwrap();
            continue;
        }
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
    }
}
