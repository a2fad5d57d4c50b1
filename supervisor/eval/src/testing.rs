//! A repository to try things on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::git::Git;
use crate::shim::Variables;

pub(crate) struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    /// Makes a repository with these files committed.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(project.root()).unwrap();
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        for (path, text) in files {
            project.write(path, text);
        }
        project.commit();
        project
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.folder.path().join("scratch")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.root(), path, text);
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.root(), arguments)
    }

    pub(crate) fn variables(&self) -> Variables {
        Variables::from([
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), self.folder.path().into()),
        ])
    }

    pub(crate) fn asked(&self) -> Git {
        Git::new(&self.variables())
    }
}

pub(crate) fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

pub(crate) fn git_in(folder: &Path, arguments: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "a test makes its own repository")]
    let mut command = Command::new("git");
    let output = command
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Everything in a tree with its content, mode and time: what must not change.
pub(crate) fn fingerprint(root: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt as _;
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let path = entry.path();
            // Git gives an object a new time when another repository that reads from this one would have written it.
            let time = if path.to_string_lossy().contains("/.git/objects/") {
                0
            } else {
                metadata.mtime_nsec()
            };
            let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let content = format!("{} {time}", hex::encode(Sha256::digest(content)));
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            let content = if metadata.is_dir() { String::new() } else { content };
            let path = path.strip_prefix(root).unwrap().display().to_string();
            found.push(format!("{path} {:o} {content}", metadata.mode()));
        }
    }
    found.sort();
    found
}
