//! The pristine copy: what the user's tree was when the evaluation began. The user may go on working in the meantime.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::copy::{Means, put};
use super::manifest::{Kind, Stamp};
use super::{ScratchError, disk};
use crate::git::{Git, RUNS, Repository};

/// What becomes of files that version control ignores and the oracle may need: dependencies, build output, a virtual
/// environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ignored {
    /// Each copy has its own; where the filesystem can share bytes it does.
    #[default]
    Copy,
    /// All copies share one file, which is a copy of the user's. Something that writes into one in place ends the run.
    Link,
    /// They are left out.
    None,
}

/// The pristine copy and what is known of it.
#[derive(Debug)]
pub struct Origin {
    pub(super) git: Git,
    pub(super) tree: PathBuf,
    pub(super) tracked: BTreeSet<PathBuf>,
    pub(super) ignored: Ignored,
    prefix: String,
    warnings: Vec<String>,
}

/// How many names of files are told at most.
const MOST_TOLD: usize = 3;
/// The largest file that is searched for the project's own path.
const LARGEST_SEARCHED: u64 = 256 * 1024;
/// How much is searched at most.
const MOST_SEARCHED: u64 = 64 * 1024 * 1024;

impl Origin {
    pub(super) fn take(
        git: &Git,
        repository: &Repository,
        ignored: Ignored,
        tree: PathBuf,
    ) -> Result<Self, ScratchError> {
        let mut origin = Self {
            git: git.clone(),
            tree,
            tracked: BTreeSet::new(),
            ignored,
            prefix: repository.prefix.clone(),
            warnings: Vec::new(),
        };
        let runs = PathBuf::from(format!("{}{RUNS}", repository.prefix));
        for path in git.tracked(&repository.top)? {
            // One that a sparse checkout leaves out is not there, and no work tree holds a submodule nobody fetched.
            if !path.starts_with(&runs) && origin.bring(&repository.top, &path)? {
                origin.tracked.insert(path);
            }
        }
        if ignored != Ignored::None {
            origin.bring_ignored(repository, &runs)?;
        }
        origin.make_repository(repository)?;
        Ok(origin)
    }

    /// Returns the project's place in the repository: `services/api/`, or nothing.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns what a person should know of these copies.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Reads a file as it was.
    #[must_use]
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.tree.join(path)).ok()
    }

    /// Copies one path, with the folders above it. Says whether there was anything.
    fn bring(&self, top: &Path, path: &Path) -> Result<bool, ScratchError> {
        let (from, to) = (top.join(path), self.tree.join(path));
        let metadata = match fs::symlink_metadata(&from) {
            Ok(metadata) => metadata,
            Err(gone)
                if matches!(
                    gone.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(disk(&from)(error)),
        };
        if metadata.is_dir() && to.is_dir() {
            return Ok(true);
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(disk(folder))?;
        }
        put(&from, &to, Means::Copy).map_err(disk(&from))?;
        Ok(true)
    }

    fn bring_ignored(&mut self, repository: &Repository, runs: &Path) -> Result<(), ScratchError> {
        let mut search = Search::new(&repository.top);
        for path in self.git.ignored(&repository.top)? {
            self.bring_all(&repository.top, &path, runs, &mut search)?;
        }
        self.warnings.extend(search.warning());
        Ok(())
    }

    fn bring_all(
        &self,
        top: &Path,
        path: &Path,
        runs: &Path,
        search: &mut Search,
    ) -> Result<(), ScratchError> {
        let path: PathBuf = path.components().collect();
        if path.starts_with(runs) || !self.bring(top, &path)? {
            return Ok(());
        }
        let here = top.join(&path);
        let stamp = Stamp::look(&here).map_err(disk(&here))?;
        match stamp.kind {
            Kind::Folder => {
                let entries = match fs::read_dir(&here) {
                    // Who may not read it has no oracle that needs it.
                    Err(denied) if denied.kind() == io::ErrorKind::PermissionDenied => {
                        return Ok(());
                    }
                    other => other.map_err(disk(&here))?,
                };
                for entry in entries {
                    let entry = entry.map_err(disk(&here))?;
                    self.bring_all(top, &path.join(entry.file_name()), runs, search)?;
                }
            }
            Kind::File => search.look(&here, &path),
            Kind::Link | Kind::Other => {}
        }
        Ok(())
    }

    /// Makes a repository of its own for the copy: the same commit and branches, and the user's objects to read from. An
    /// agent may do what it likes with it.
    fn make_repository(&self, repository: &Repository) -> Result<(), ScratchError> {
        let git = |arguments: &[&str], input: &[u8]| {
            let here =
                [("GIT_CEILING_DIRECTORIES", self.tree.parent().unwrap_or(&self.tree).as_os_str())];
            self.git.tell(&self.tree, arguments, &here, input)
        };
        git(&["init", "--quiet", "--template="], b"")?;
        let dot_git = self.tree.join(".git");
        let objects = repository.common_dir.join("objects");
        let info = dot_git.join("objects/info");
        fs::create_dir_all(&info).map_err(disk(&info))?;
        let mut alternates = objects.as_os_str().as_bytes().to_vec();
        alternates.push(b'\n');
        fs::write(info.join("alternates"), alternates).map_err(disk(&info))?;
        // What the user has git ignore in this repository alone.
        let excludes = repository.common_dir.join("info/exclude");
        if excludes.is_file() {
            let to = dot_git.join("info");
            fs::create_dir_all(&to).map_err(disk(&to))?;
            fs::copy(&excludes, to.join("exclude")).map_err(disk(&excludes))?;
        }
        let references: BTreeMap<String, String> = self.git.references(&repository.top)?;
        let mut packed = String::from("# pack-refs with: sorted \n");
        for (name, object) in &references {
            packed.push_str(&format!("{object} {name}\n"));
        }
        fs::write(dot_git.join("packed-refs"), packed).map_err(disk(&dot_git))?;
        match &repository.branch {
            Some(branch) => git(&["symbolic-ref", "HEAD", branch], b"")?,
            None => git(&["update-ref", "--no-deref", "HEAD", &repository.head], b"")?,
        };
        git(&["read-tree", "HEAD"], b"")?;
        Ok(())
    }

    /// Tells which of these paths version control would ignore, by the rules as they were.
    pub(super) fn ignores(&self, paths: &[&Path]) -> Result<BTreeSet<PathBuf>, ScratchError> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_os_str().as_bytes());
            input.push(0);
        }
        let arguments = ["check-ignore", "--no-index", "-z", "--stdin"];
        let output = self.git.output(&self.tree, &arguments, &[], &input)?;
        match output.status.code() {
            Some(0 | 1) => Ok(output
                .stdout
                .split(|byte| *byte == 0)
                .filter(|path| !path.is_empty())
                .map(|path| PathBuf::from(OsStr::from_bytes(path)))
                .collect()),
            _ => Err(ScratchError::Git(crate::git::GitError::Failed {
                what: "check-ignore".to_owned(),
                said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            })),
        }
    }
}

/// Looks for the project's own path in ignored files. An environment that points to the user's tree would have the oracle
/// test code without the fault.
struct Search {
    finder: memmem::Finder<'static>,
    left: u64,
    found: usize,
    names: Vec<String>,
}

impl Search {
    fn new(top: &Path) -> Self {
        let finder = memmem::Finder::new(top.as_os_str().as_bytes()).into_owned();
        Self { finder, left: MOST_SEARCHED, found: 0, names: Vec::new() }
    }

    /// What cannot be read is not searched: this is a warning's search, no proof.
    fn look(&mut self, file: &Path, name: &Path) {
        let Ok(mut open) = File::open(file) else { return };
        let length = open.metadata().map_or(u64::MAX, |metadata| metadata.len());
        if length > LARGEST_SEARCHED || length > self.left {
            return;
        }
        self.left -= length;
        let mut bytes = Vec::new();
        if open.read_to_end(&mut bytes).is_ok() && self.finder.find(&bytes).is_some() {
            self.found += 1;
            if self.names.len() < MOST_TOLD {
                self.names.push(name.display().to_string());
            }
        }
    }

    fn warning(self) -> Option<String> {
        let more = self.found.saturating_sub(self.names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (self.found > 0).then(|| {
            format!(
                "ignored files name this project by its absolute path ({}{more}): in a copy they lead back to the \
                 user's own files, and the oracle may not see a fault; use paths that are relative, or --in-place",
                self.names.join(", ")
            )
        })
    }
}
