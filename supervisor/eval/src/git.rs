//! What is asked of git about the user's repository. Read-only: no lock is taken, no index refreshed, and neither hooks
//! nor the user's settings change what is asked.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::shim::{Variables, without_git};

/// The run records' place below the project's root: excluded wherever changes are looked for.
pub const RUNS: &str = ".ratchet/evals/runs";

/// A git command, with an environment of which nothing can lead it astray.
#[derive(Debug, Clone)]
pub struct Git {
    environment: Variables,
}

/// A repository and where the project is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its work tree.
    pub top: PathBuf,
    /// The project's place in it: `services/api/`, or nothing.
    pub prefix: String,
    /// The work tree's own git directory.
    pub git_dir: PathBuf,
    /// The directory that all work trees share.
    pub common_dir: PathBuf,
    /// The commit that is checked out.
    pub head: String,
    /// The branch, as `refs/heads/main`; `None` if it is detached.
    pub branch: Option<String>,
}

/// A question that git did not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It could not be started.
    #[error("cannot run git")]
    CannotRun(#[source] std::io::Error),
    /// It failed.
    #[error("git {what} failed: {said}")]
    Failed {
        /// The sub-command.
        what: String,
        /// Its own words.
        said: String,
    },
}

impl Git {
    /// Takes the user's environment.
    #[must_use]
    pub fn new(environment: &Variables) -> Self {
        let mut environment = without_git(environment);
        let settings = [
            ("status.showUntrackedFiles", "normal"),
            ("diff.ignoreSubmodules", "none"),
            ("core.hooksPath", "/dev/null"),
            ("core.fsmonitor", "false"),
            ("core.quotePath", "false"),
            ("advice.detachedHead", "false"),
        ];
        environment.insert("GIT_CONFIG_COUNT".into(), settings.len().to_string().into());
        for (index, (key, value)) in settings.iter().enumerate() {
            environment.insert(format!("GIT_CONFIG_KEY_{index}").into(), key.into());
            environment.insert(format!("GIT_CONFIG_VALUE_{index}").into(), value.into());
        }
        for (name, value) in
            [("GIT_OPTIONAL_LOCKS", "0"), ("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0")]
        {
            environment.insert(name.into(), value.into());
        }
        Self { environment }
    }

    /// Runs git in a folder and gives what it printed.
    ///
    /// # Errors
    /// [`GitError`].
    pub fn ask(&self, folder: &Path, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        let output = self.output(folder, arguments, &[], b"")?;
        checked(arguments, &output)?;
        Ok(output.stdout)
    }

    /// As [`Git::ask`], with something to read and more variables.
    ///
    /// # Errors
    /// [`GitError`].
    pub(crate) fn tell(
        &self,
        folder: &Path,
        arguments: &[&str],
        variables: &[(&str, &OsStr)],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let output = self.output(folder, arguments, variables, input)?;
        checked(arguments, &output)?;
        Ok(output.stdout)
    }

    /// As [`Git::tell`], whatever it exits with.
    ///
    /// # Errors
    /// [`GitError::CannotRun`].
    pub(crate) fn output(
        &self,
        folder: &Path,
        arguments: &[&str],
        variables: &[(&str, &OsStr)],
        input: &[u8],
    ) -> Result<Output, GitError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "git ends by itself and starts nothing; it needs no group, limits or record"
        )]
        let mut command = Command::new("git");
        command.args(arguments).current_dir(folder).env_clear().envs(&self.environment);
        command.envs(variables.iter().copied());
        command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(GitError::CannotRun)?;
        let stdin = child.stdin.take();
        std::thread::scope(|scope| {
            if let Some(mut stdin) = stdin {
                // One that has read enough closes its end, which is its business.
                scope.spawn(move || drop(stdin.write_all(input)));
            }
            child.wait_with_output().map_err(GitError::CannotRun)
        })
    }

    /// Finds the repository that holds a project, and refuses one in which nobody could say what a fault is.
    ///
    /// # Errors
    /// The reason, for a person.
    pub fn usable(&self, root: &Path) -> Result<Repository, String> {
        let repository = self.repository(root)?;
        self.refuse_unfinished(&repository)?;
        let exclude = format!(":(top,exclude){}{RUNS}", repository.prefix);
        let arguments = ["status", "--porcelain", "-z", "--", ":(top)", exclude.as_str()];
        let dirt = self
            .ask(&repository.top, &arguments)
            .map_err(|error| format!("the probe could not run: {}", told(&error)))?;
        if let Some(first) = dirt.split(|byte| *byte == 0).find(|entry| !entry.is_empty()) {
            return Err(format!(
                "there are uncommitted changes, the first is '{}'; commit or stash them",
                String::from_utf8_lossy(first).trim()
            ));
        }
        Ok(repository)
    }

    pub(crate) fn repository(&self, root: &Path) -> Result<Repository, String> {
        let no_repository =
            |error: GitError| format!("there is no usable git work tree: {}", told(&error));
        let asked = [
            "rev-parse",
            "--path-format=absolute",
            "--is-bare-repository",
            "--git-dir",
            "--git-common-dir",
        ];
        let text = self.ask(root, &asked).map_err(no_repository)?;
        let lines = lines(&text);
        let [bare, git_dir, common_dir] = &lines[..] else {
            return Err("there is no usable git work tree".to_owned());
        };
        if bare == "true" {
            return Err("the repository is bare: it has no work tree".to_owned());
        }
        let asked = ["rev-parse", "--show-toplevel", "--show-prefix"];
        let places = self.ask(root, &asked).map_err(no_repository)?;
        let mut places = places.split(|byte| *byte == b'\n');
        let top = places.next().unwrap_or_default().to_vec();
        let prefix = String::from_utf8_lossy(places.next().unwrap_or_default()).into_owned();
        let head = self
            .ask(root, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
            .map_err(|_| "there is no commit yet; make a first one".to_owned())?;
        let branch = self.output(root, &["symbolic-ref", "--quiet", "HEAD"], &[], b"");
        let branch = branch.ok().filter(|output| output.status.success());
        Ok(Repository {
            top: PathBuf::from(OsString::from_vec(top)),
            prefix,
            git_dir: PathBuf::from(git_dir),
            common_dir: PathBuf::from(common_dir),
            head: line(&head),
            branch: branch.map(|output| line(&output.stdout)),
        })
    }

    fn refuse_unfinished(&self, repository: &Repository) -> Result<(), String> {
        const UNFINISHED: [(&str, &str); 6] = [
            ("MERGE_HEAD", "a merge"),
            ("CHERRY_PICK_HEAD", "a cherry-pick"),
            ("REVERT_HEAD", "a revert"),
            ("BISECT_LOG", "a bisection"),
            ("rebase-merge", "a rebase"),
            ("rebase-apply", "a rebase"),
        ];
        for (file, what) in UNFINISHED {
            if repository.git_dir.join(file).exists() {
                return Err(format!("{what} is under way; finish or abort it"));
            }
        }
        if repository.git_dir.join("index.lock").exists() {
            return Err("index.lock is there: git is at work, or was killed at it".to_owned());
        }
        Ok(())
    }

    /// Lists the files that version control knows, those of submodules among them, from the top.
    ///
    /// # Errors
    /// [`GitError`].
    pub(crate) fn tracked(&self, top: &Path) -> Result<Vec<PathBuf>, GitError> {
        Ok(paths(&self.ask(top, &["ls-files", "-z", "--recurse-submodules"])?))
    }

    /// Lists what version control ignores, from the top; a folder of which everything is ignored ends with `/`.
    ///
    /// # Errors
    /// [`GitError`].
    pub(crate) fn ignored(&self, top: &Path) -> Result<Vec<PathBuf>, GitError> {
        let arguments =
            ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        Ok(paths(&self.ask(top, &arguments)?))
    }

    /// Lists the references with what they name.
    ///
    /// # Errors
    /// [`GitError`].
    pub(crate) fn references(&self, top: &Path) -> Result<BTreeMap<String, String>, GitError> {
        let text = self.ask(top, &["for-each-ref", "--format=%(refname) %(objectname)"])?;
        let pairs = lines(&text).into_iter().filter_map(|line| {
            line.split_once(' ').map(|(name, object)| (name.to_owned(), object.to_owned()))
        });
        Ok(pairs.collect())
    }

    /// Lists the files that differ from the merge base with `base`, from the top.
    ///
    /// # Errors
    /// [`GitError`]; `base` may not be a commit.
    pub fn changed_since(&self, top: &Path, base: &str) -> Result<Vec<String>, GitError> {
        let range = format!("{base}...HEAD");
        let arguments = ["diff", "--name-only", "-z", "--no-ext-diff", "--end-of-options", &range];
        let text = self.ask(top, &arguments)?;
        Ok(paths(&text).iter().map(|path| path.to_string_lossy().into_owned()).collect())
    }
}

fn checked(arguments: &[&str], output: &Output) -> Result<(), GitError> {
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or_default().trim();
    let what = arguments.first().copied().unwrap_or_default().to_owned();
    Err(GitError::Failed {
        what,
        said: if said.is_empty() { output.status.to_string() } else { said.to_owned() },
    })
}

/// Gives an error with its cause in one line.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", told(cause)),
        None => error.to_string(),
    }
}

fn line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).trim_end().to_owned()
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

fn paths(text: &[u8]) -> Vec<PathBuf> {
    text.split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| PathBuf::from(OsString::from_vec(path.to_vec())))
        .collect()
}
