//! The git command, run where no configuration but ours reaches it: one call, one question. The only home of it in this crate.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::error::WorkspaceError;

/// How much of a complaint is kept, in bytes.
const LONGEST_COMPLAINT: u64 = 4 * 1024;

/// What git is told each time, so that nothing of the machine or of a repository changes the bytes or runs a program.
const OURS: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    // What is acknowledged is on the disk, loose objects and refs too.
    "core.fsync=objects,reference",
    // Larger files are streamed, never held in memory.
    "core.bigFileThreshold=8m",
    "pack.threads=1",
    "gc.auto=0",
    "maintenance.auto=false",
    // Whose repository it is does not matter to one who only lists its index.
    "safe.directory=*",
    "protocol.allow=never",
];

/// A git that works on one repository.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    /// Where programs are looked for; git hears of no other variable of ours.
    search_path: OsString,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    /// The bare repository of a store.
    Store(PathBuf),
    /// Whatever repository a folder of the user's is in.
    Folder(PathBuf),
}

impl Git {
    pub(crate) fn of_store(directory: PathBuf, search_path: &OsStr) -> Self {
        Self { search_path: search_path.to_owned(), place: Place::Store(directory) }
    }

    /// The same git, in a folder of the user's. It is to be asked only.
    pub(crate) fn in_folder(&self, folder: &Path) -> Self {
        Self { search_path: self.search_path.clone(), place: Place::Folder(folder.to_owned()) }
    }

    /// Prepares a command; the first argument is the subcommand.
    fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new("git");
        command
            .env_clear()
            .env("PATH", &self.search_path)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0");
        match &self.place {
            Place::Store(directory) => command.env("GIT_DIR", directory).current_dir(directory),
            Place::Folder(folder) => command.current_dir(folder),
        };
        OURS.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Makes the repository itself.
    pub(crate) fn init(&self, directory: &Path) -> Result<(), WorkspaceError> {
        let arguments = [
            OsStr::new("init"),
            OsStr::new("--quiet"),
            OsStr::new("--bare"),
            OsStr::new("--object-format=sha1"),
            OsStr::new("--template="),
            OsStr::new("--initial-branch=none"),
            directory.as_os_str(),
        ];
        let here = self.in_folder(directory);
        finish("init", here.command(arguments).output().map_err(no_git)?).map(drop)
    }

    /// Runs a command to its end and gives what it said.
    pub(crate) fn ask<A: AsRef<OsStr>>(
        &self,
        doing: &'static str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, WorkspaceError> {
        let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
        let all = std::iter::once(OsString::from(doing)).chain(arguments);
        finish(doing, self.command(all).output().map_err(no_git)?)
    }

    /// Starts a command that is spoken with.
    pub(crate) fn start(
        &self,
        doing: &'static str,
        arguments: &[&str],
    ) -> Result<Running, WorkspaceError> {
        let all = std::iter::once(doing).chain(arguments.iter().copied());
        let child = self.command(all).stdin(Stdio::piped()).spawn().map_err(no_git)?;
        Ok(Running { doing, child: Some(child) })
    }
}

/// A git that runs. Dropped before its end, it is ended.
#[derive(Debug)]
pub(crate) struct Running {
    doing: &'static str,
    child: Option<Child>,
}

impl Running {
    /// Takes its standard input; once.
    pub(crate) fn input(&mut self) -> io::Result<std::process::ChildStdin> {
        let taken = self.child.as_mut().and_then(|child| child.stdin.take());
        taken.ok_or_else(|| io::Error::other("the input is taken"))
    }

    /// Takes its standard output; once.
    pub(crate) fn output(&mut self) -> Result<std::process::ChildStdout, WorkspaceError> {
        let taken = self.child.as_mut().and_then(|child| child.stdout.take());
        taken.ok_or_else(|| broken(self.doing, &io::Error::other("the output is taken")))
    }

    /// Waits for its end; the complaint of one that failed becomes the error.
    pub(crate) fn finish(mut self) -> Result<(), WorkspaceError> {
        let Some(child) = self.child.take() else { return Ok(()) };
        let doing = self.doing;
        let output = child.wait_with_output().map_err(|source| broken(doing, &source))?;
        finish(doing, output).map(drop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself, which is as good.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Makes an error of a conversation with git that broke off.
pub(crate) fn broken(doing: &'static str, source: &io::Error) -> WorkspaceError {
    WorkspaceError::Git { doing, said: source.to_string() }
}

fn no_git(source: io::Error) -> WorkspaceError {
    WorkspaceError::NoGit { source }
}

fn finish(doing: &'static str, output: std::process::Output) -> Result<Vec<u8>, WorkspaceError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let mut said = String::new();
    let kept = output.stderr.as_slice().take(LONGEST_COMPLAINT);
    kept.bytes().map_while(Result::ok).for_each(|byte| said.push(char::from(byte)));
    if said.contains("No space left on device") || said.contains("Disk quota exceeded") {
        return Err(WorkspaceError::Full { doing: format!("git {doing}") });
    }
    let said =
        if said.trim().is_empty() { output.status.to_string() } else { said.trim().to_owned() };
    Err(WorkspaceError::Git { doing, said })
}
