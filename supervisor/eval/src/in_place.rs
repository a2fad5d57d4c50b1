//! The seed's own way (`--in-place`): faults are planted in the user's work tree, for tests that run nowhere else. A guard in
//! the git directory says so before anything is planted, so that a kill is repaired by the next evaluation, or told with
//! what to type (spec `mutation-harness` 4 and 10).
//!
//! The user's index is not used: what differs is found with an index of our own beside it.

mod guard;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::git::{Git, GitError, RUNS, Repository};
use crate::harness::site::{Capture, Site, SiteError};
use crate::mutation::scope::Change;
use guard::{Guard, Phase};

pub use guard::recover;

/// The user's work tree, held for faults.
#[derive(Debug)]
pub struct InPlace {
    git: Git,
    repository: Repository,
    project: PathBuf,
    /// Where the guard, the lock and our index are.
    room: PathBuf,
    guard: Guard,
    attempts: u32,
    /// Held as long as faults may be in the tree.
    _lock: File,
}

/// A work tree that cannot be held, or not be brought back.
#[derive(Debug, thiserror::Error)]
pub enum InPlaceError {
    /// Somebody else plants faults in it.
    #[error("another evaluation plants faults in this work tree (its lock is {})", lock.display())]
    Held {
        /// The lock.
        lock: PathBuf,
    },
    /// Git did not answer.
    #[error("git did not answer")]
    Git(#[from] GitError),
    /// The disk refused.
    #[error("cannot use {}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The agent moved HEAD. The tree is as it was, and nothing more is planted in it.
    #[error("the agent moved HEAD; the work tree was brought back to {commit}")]
    MovedHead {
        /// The commit.
        commit: String,
    },
    /// The tree is not as it was.
    #[error(
        "the work tree could not be brought back: {why}; the fault is in {}. To bring it back yourself:\n{commands}",
        patch.display()
    )]
    NotRestored {
        /// What still differs.
        why: String,
        /// The last fault.
        patch: PathBuf,
        /// What to type.
        commands: String,
    },
}

impl InPlace {
    /// Takes hold of a usable work tree.
    ///
    /// # Errors
    /// [`InPlaceError`].
    pub fn new(
        git: &Git,
        repository: &Repository,
        run: &str,
        invariant: &str,
    ) -> Result<Self, InPlaceError> {
        let room = room(repository);
        fs::create_dir_all(&room).map_err(disk(&room))?;
        let lock = hold(&room)?;
        let folders = empty_folders(git, repository)?;
        let guard = Guard::new(repository, run, invariant, folders);
        guard.write(&room)?;
        Ok(Self {
            git: git.clone(),
            project: repository.top.join(&repository.prefix),
            repository: repository.clone(),
            room,
            guard,
            attempts: 0,
            _lock: lock,
        })
    }

    /// Says that everything is over and the tree is as it was.
    ///
    /// # Errors
    /// The tree is not, or the disk refuses.
    pub fn finish(self) -> Result<(), InPlaceError> {
        verify(&self.git, &self.repository, &self.guard, &self.room)?;
        Guard::remove(&self.room)
    }

    fn stage(&mut self, phase: Phase) -> Result<(), InPlaceError> {
        self.guard.phase = phase;
        self.guard.write(&self.room)
    }

    fn look(&mut self) -> Result<Capture, InPlaceError> {
        let mut capture = Capture::default();
        if !is_home(&self.git, &self.repository)? {
            capture.moved =
                Some("the agent moved HEAD: it committed or switched branches".to_owned());
        }
        let commit = self.repository.head.clone();
        capture.diff = diff(&self.git, &self.repository, &self.room)?;
        let names =
            self.with_index(&["diff", "--cached", "--name-only", "-z", "--no-renames", &commit])?;
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let path = String::from_utf8_lossy(name).into_owned();
            let object = format!("{commit}:{path}");
            let old = self.git.ask(&self.repository.top, &["cat-file", "blob", &object]).ok();
            let new = fs::read(self.repository.top.join(&path)).ok();
            let mode_only = old.is_some() && old == new;
            capture.changes.push(Change { path, old, new, mode_only });
        }
        capture.line = crate::scratch::first_line(&capture.diff);
        Ok(capture)
    }

    fn with_index(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        with_index(&self.git, &self.repository, &self.room, arguments)
    }

    fn bring_back(&mut self) -> Result<(), InPlaceError> {
        let moved = !is_home(&self.git, &self.repository)?;
        restore(&self.git, &self.repository, &self.guard)?;
        verify(&self.git, &self.repository, &self.guard, &self.room)?;
        if moved {
            return Err(InPlaceError::MovedHead { commit: self.repository.head.clone() });
        }
        Ok(())
    }
}

impl Site for InPlace {
    fn project(&self) -> &Path {
        &self.project
    }

    fn capture(&mut self) -> Result<Capture, SiteError> {
        let capture = self.look()?;
        let patch = self.room.join(format!("mutation-{}-{}.patch", self.guard.run, self.attempts));
        self.attempts += 1;
        crate::place::write(&patch, &capture.diff).map_err(disk(&patch))?;
        self.guard.patch = Some(patch);
        self.stage(Phase::Planted)?;
        Ok(capture)
    }

    fn settle(&mut self) -> Result<(), SiteError> {
        Ok(())
    }

    fn adopt(&mut self) -> Result<(), SiteError> {
        self.reset()
    }

    fn reset(&mut self) -> Result<(), SiteError> {
        self.stage(Phase::Restoring)?;
        self.bring_back()?;
        if let Some(patch) = self.guard.patch.take() {
            // It is in the evidence as well.
            drop(fs::remove_file(patch));
        }
        Ok(self.stage(Phase::Clean)?)
    }
}

impl From<InPlaceError> for SiteError {
    fn from(error: InPlaceError) -> Self {
        Self::InPlace(Box::new(error))
    }
}

fn room(repository: &Repository) -> PathBuf {
    repository.git_dir.join("ratchet")
}

fn hold(room: &Path) -> Result<File, InPlaceError> {
    let path = room.join("worktree.lock");
    let lock = File::options().create(true).append(true).open(&path).map_err(disk(&path))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| InPlaceError::Held { lock: path })?;
    Ok(lock)
}

fn runs(repository: &Repository) -> String {
    format!("{}{RUNS}", repository.prefix)
}

/// Lists what `git clean` would take and no commit holds: the folders without a file. The tree is clean, so there is nothing
/// else.
fn empty_folders(git: &Git, repository: &Repository) -> Result<Vec<PathBuf>, InPlaceError> {
    let keep = format!("/{}", runs(repository));
    let text = git.ask(&repository.top, &["clean", "-nd", "-e", &keep])?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let named = text.lines().filter_map(|line| line.strip_prefix("Would remove "));
    let mut open: Vec<PathBuf> =
        named.filter(|path| path.ends_with('/')).map(PathBuf::from).collect();
    let mut folders = Vec::new();
    while let Some(folder) = open.pop() {
        let here = repository.top.join(&folder);
        for entry in fs::read_dir(&here).map_err(disk(&here))? {
            let entry = entry.map_err(disk(&here))?;
            if entry.path().is_dir() {
                open.push(folder.join(entry.file_name()));
            }
        }
        folders.push(folder);
    }
    Ok(folders)
}

/// Runs git with an index of our own, which begins as the commit.
fn with_index(
    git: &Git,
    repository: &Repository,
    room: &Path,
    arguments: &[&str],
) -> Result<Vec<u8>, GitError> {
    let index = room.join("index");
    git.tell(&repository.top, arguments, &[("GIT_INDEX_FILE", index.as_os_str())], b"")
}

/// Gives what differs from the commit, as a diff that can be applied.
fn diff(git: &Git, repository: &Repository, room: &Path) -> Result<Vec<u8>, InPlaceError> {
    let index = room.join("index");
    match fs::remove_file(&index) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(disk(&index)(error));
        }
        Ok(()) | Err(_) => {}
    }
    let commit = repository.head.as_str();
    with_index(git, repository, room, &["read-tree", commit])?;
    with_index(git, repository, room, &["add", "-A"])?;
    with_index(git, repository, room, &["reset", "-q", commit, "--", &runs(repository)])?;
    let arguments = [
        "diff",
        "--cached",
        "--binary",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--no-renames",
        commit,
    ];
    Ok(with_index(git, repository, room, &arguments)?)
}

/// Whether HEAD is where it was.
fn is_home(git: &Git, repository: &Repository) -> Result<bool, GitError> {
    let head = git.ask(&repository.top, &["rev-parse", "--verify", "--quiet", "HEAD"])?;
    let branch = git.output(&repository.top, &["symbolic-ref", "--quiet", "HEAD"], &[], b"")?;
    let branch = Some(String::from_utf8_lossy(&branch.stdout).trim_end().to_owned());
    let branch = branch.filter(|name| !name.is_empty());
    Ok(String::from_utf8_lossy(&head).trim_end() == repository.head && branch == repository.branch)
}

/// Brings everything back: where HEAD is, what is in it, and what is not.
fn restore(git: &Git, repository: &Repository, guard: &Guard) -> Result<(), InPlaceError> {
    let top = &repository.top;
    let lock = repository.git_dir.join("index.lock");
    // There was none at the beginning, and whatever made it is gone.
    drop(fs::remove_file(lock));
    if !is_home(git, repository)? {
        match &repository.branch {
            Some(branch) => git.ask(top, &["symbolic-ref", "HEAD", branch])?,
            None => git.ask(top, &["update-ref", "--no-deref", "HEAD", &repository.head])?,
        };
        git.ask(top, &["update-ref", "HEAD", &repository.head])?;
    }
    let exclude = format!(":(top,exclude){}", runs(repository));
    let source = format!("--source={}", repository.head);
    git.ask(top, &["restore", &source, "--staged", "--worktree", "--", ":(top)", &exclude])?;
    let keep = format!("/{}", runs(repository));
    git.ask(top, &["clean", "-ffdq", "-e", &keep])?;
    for folder in &guard.folders {
        let path = top.join(folder);
        fs::create_dir_all(&path).map_err(disk(&path))?;
    }
    Ok(())
}

/// Makes sure that everything is as it was.
fn verify(
    git: &Git,
    repository: &Repository,
    guard: &Guard,
    room: &Path,
) -> Result<(), InPlaceError> {
    let why = match git.usable(&repository.top.join(&repository.prefix)) {
        Err(reason) => reason,
        Ok(now) if now.head != repository.head || now.branch != repository.branch => {
            "HEAD is elsewhere".to_owned()
        }
        Ok(_) => return Ok(()),
    };
    let patch = guard.patch.clone().unwrap_or_else(|| guard::file(room));
    Err(InPlaceError::NotRestored { why, patch, commands: guard.commands() })
}

pub(crate) fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> InPlaceError + use<> {
    let path = path.to_owned();
    move |source| InPlaceError::Disk { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::told;
    use crate::testing::{Project, fingerprint, git_in};

    const FILES: [(&str, &str); 3] = [
        ("src/a.py", "a = 1\n"),
        ("src/b.py", "b = 1\n"),
        (".gitignore", ".ratchet/evals/runs/\n"),
    ];

    fn held(project: &Project) -> InPlace {
        let git = project.asked();
        let repository = git.usable(&project.root()).unwrap();
        InPlace::new(&git, &repository, "run", "no-bugs").unwrap()
    }

    /// The work tree, without what git keeps.
    fn tree(project: &Project) -> Vec<String> {
        let all = fingerprint(&project.root());
        let content =
            |line: &String| line.rsplit_once(' ').map_or(line.clone(), |(rest, _)| rest.to_owned());
        all.iter()
            .filter(|line| !line.starts_with(".git ") && !line.starts_with(".git/"))
            .map(content)
            .collect()
    }

    #[test]
    fn a_fault_in_place_is_seen_and_undone_and_the_users_index_is_not_used() {
        let project = Project::new(&FILES);
        fs::create_dir_all(project.root().join("empty/folder")).unwrap();
        project.write(".ratchet/evals/runs/r.json", "{}");
        let (before, index) =
            (tree(&project), fs::read(project.root().join(".git/index")).unwrap());
        let mut site = held(&project);
        project.write("src/a.py", "a = 2\n");
        project.write("src/new.py", "n = 1\n");
        let capture = site.capture().unwrap();
        let paths: Vec<&str> = capture.changes.iter().map(|one| one.path.as_str()).collect();
        assert_eq!((paths, capture.line), (vec!["src/a.py", "src/new.py"], 1));
        assert_eq!(fs::read(project.root().join(".git/index")).unwrap(), index);
        site.reset().unwrap();
        assert_eq!(tree(&project), before);
        site.finish().unwrap();
        assert!(!project.root().join(".git/ratchet/mutation-guard.json").exists());
    }

    #[test]
    fn an_agent_that_commits_ends_it_and_the_branch_is_back() {
        let project = Project::new(&FILES);
        let (before, head) = (tree(&project), project.git(&["rev-parse", "HEAD"]));
        for commands in [vec!["commit", "-qam", "x"], vec!["checkout", "-q", "-b", "other"]] {
            let mut site = held(&project);
            project.write("src/a.py", "a = 2\n");
            git_in(&project.root(), &commands);
            assert!(site.capture().unwrap().moved.is_some());
            let error = site.reset().unwrap_err();
            assert!(told(&error).contains("moved HEAD"), "{}", told(&error));
            assert_eq!(tree(&project), before);
            assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
            assert_eq!(project.git(&["branch", "--show-current"]), "main\n");
            drop(site);
            Guard::remove(&project.root().join(".git/ratchet")).unwrap();
        }
    }

    #[test]
    fn a_tree_is_held_by_one_evaluation_at_a_time() {
        let project = Project::new(&FILES);
        let site = held(&project);
        let git = project.asked();
        let repository = git.usable(&project.root()).unwrap();
        let refused = InPlace::new(&git, &repository, "other", "no-bugs");
        assert!(matches!(refused, Err(InPlaceError::Held { .. })));
        site.finish().unwrap();
    }

    #[test]
    fn what_a_kill_left_is_repaired_if_it_is_what_was_planted() {
        let project = Project::new(&FILES);
        let before = tree(&project);
        let git = project.asked();
        assert_eq!(recover(&git, &project.root()).unwrap(), None);
        let mut site = held(&project);
        project.write("src/a.py", "a = 2\n");
        site.capture().unwrap();
        // As a kill does: nothing is undone, and the lock is free.
        drop(site);
        let told = recover(&git, &project.root()).unwrap().unwrap();
        assert!(told.contains("repaired"), "{told}");
        assert_eq!(tree(&project), before);
        assert_eq!(recover(&git, &project.root()).unwrap(), None);
    }

    #[test]
    fn what_a_kill_left_and_somebody_has_worked_on_is_not_touched() {
        let project = Project::new(&FILES);
        let git = project.asked();
        let mut site = held(&project);
        project.write("src/a.py", "a = 2\n");
        site.capture().unwrap();
        drop(site);
        project.write("src/b.py", "mine\n");
        let before = tree(&project);
        let refusal = recover(&git, &project.root()).unwrap_err();
        assert!(refusal.contains("git restore") && refusal.contains(".patch"), "{refusal}");
        assert_eq!(tree(&project), before);
    }

    #[test]
    fn a_kill_between_attempts_leaves_nothing_to_repair() {
        let project = Project::new(&FILES);
        let site = held(&project);
        drop(site);
        assert!(recover(&project.asked(), &project.root()).unwrap().is_some());
        assert!(!project.root().join(".git/ratchet/mutation-guard.json").exists());
    }
}
