//! What these tests share: a temporary place, files in folders, and git as a user would run it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ratchet_workspace::{Base, Rules, Snapshot, SnapshotId, Store, Workspace};

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
        Store::open(&self.path().join(name), &search_path()).unwrap()
    }

    /// Makes a workspace of a folder of this name.
    pub(crate) fn workspace(&self, store: &Store, name: &str) -> Workspace {
        let root = self.path().join(format!("{name}.tree"));
        fs::create_dir_all(&root).unwrap();
        Workspace::new(store, name, &root).unwrap()
    }
}

#[expect(clippy::disallowed_methods, reason = "the tests find git where the shell does")]
pub(crate) fn search_path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

/// The rules of a project of ours, as the supervisor gives them.
pub(crate) fn rules() -> Rules {
    Rules {
        always: vec![".ratchet".to_owned()],
        never: vec!["/.ratchet/batches/*/run/".to_owned(), "/.ratchet/changes/*/.run/".to_owned()],
        excludes: Vec::new(),
    }
}

pub(crate) fn snapshot(workspace: &Workspace) -> Snapshot {
    workspace.snapshot(Base::Project(&rules())).unwrap()
}

/// Has one store learn a snapshot of another, and gives how many bytes that took.
pub(crate) fn send(from: &Store, to: &Store, id: SnapshotId, name: &str) -> usize {
    let mut pack = from.pack(id, &to.snapshots().unwrap()).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut pack, &mut bytes).unwrap();
    pack.finish().unwrap();
    to.receive(&bytes[..], id, name, 1 << 30).unwrap();
    bytes.len()
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

pub(crate) fn text(root: &Path, path: &str) -> Option<String> {
    fs::read_to_string(root.join(path)).ok()
}

/// Runs git as a user does.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=n",
        "-c",
        "user.email=e@x",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "protocol.file.allow=always",
    ]);
    let output = command.arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Everything in a folder: path, kind, mode and content, so that two of them can be compared.
pub(crate) fn everything(root: &Path) -> Vec<(PathBuf, String, u32, Vec<u8>)> {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::PermissionsExt as _;
    let mut all = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let (kind, content) = if meta.is_symlink() {
                ("link", fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec())
            } else if meta.is_dir() {
                waiting.push(path.clone());
                ("folder", Vec::new())
            } else {
                ("file", fs::read(&path).unwrap())
            };
            let mode = if kind == "file" { meta.permissions().mode() } else { 0 };
            all.push((path.strip_prefix(root).unwrap().to_owned(), kind.to_owned(), mode, content));
        }
    }
    all.sort();
    all
}
