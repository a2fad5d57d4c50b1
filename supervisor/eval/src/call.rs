//! The seams: how a command is run and how an agent is asked. Real ones run under the shim ([`crate::shim`]); tests bring
//! their own, and then nothing is started.

use std::path::Path;

use ratchet_spawn::Limits;
use serde::{Deserialize, Serialize};

/// A command for the shell.
#[derive(Debug, Clone, Copy)]
pub struct Command<'a> {
    /// The text that `bash -c` gets.
    pub script: &'a str,
    /// Where it runs.
    pub cwd: &'a Path,
    /// When it is ended.
    pub limits: Limits,
}

/// Something that an agent is asked to do.
#[derive(Debug, Clone, Copy)]
pub struct Errand<'a> {
    /// What it is about: an invariant's or a case's id. The batch is always [`BATCH`].
    pub change: &'a str,
    /// The text for its standard input.
    pub prompt: &'a str,
    /// Where it works.
    pub cwd: &'a Path,
    /// When it is ended.
    pub limits: Limits,
}

/// The name of the batch that an agent of an evaluation is told.
pub const BATCH: &str = "eval";

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub ended: Ended,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Ended {
    /// It exited.
    Exited {
        /// Its code.
        code: i32,
    },
    /// It died by a signal that nobody of ours sent.
    Signaled {
        /// The signal's number.
        signal: i32,
    },
    /// A limit ended it.
    TimedOut {
        /// Which: `start`, `idle` or `wall`.
        limit: String,
        /// The limit, in milliseconds.
        after_ms: u64,
    },
    /// The kernel ended it for lack of memory.
    OutOfMemory,
    /// It printed more than it may.
    OutputLimit {
        /// The limit, in bytes.
        bytes: u64,
    },
}

/// A command that could not be run at all, or whose end nobody knows. Not the same as one that ran and failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotRun {
    /// It never started, or was lost.
    #[error("{0}")]
    Failed(String),
    /// It was stopped because the whole evaluation was.
    #[error("it was stopped")]
    Stopped,
}

/// Runs commands.
pub trait Shell: Sync {
    /// Runs one and waits for its end.
    ///
    /// # Errors
    /// [`CannotRun`]: it did not run to an end of its own or a limit's.
    fn run(&self, command: &Command<'_>) -> Result<Ran, CannotRun>;
}

/// Asks agents.
pub trait Agents: Sync {
    /// Asks one and waits for its end. What it exits with decides nothing.
    ///
    /// # Errors
    /// [`CannotRun`]: there is no such agent, or it could not be started.
    fn ask(&self, errand: &Errand<'_>) -> Result<Ran, CannotRun>;
}

impl Ran {
    /// Gives the exit code; `None` if it did not exit by itself.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        match self.ended {
            Ended::Exited { code } => Some(code),
            _ => None,
        }
    }

    /// Whether it exited with 0.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.code() == Some(0)
    }

    /// Gives the first 500 characters of what a failed command said: of its standard error, else of its output.
    #[must_use]
    pub fn excerpt(&self) -> String {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let stdout = String::from_utf8_lossy(&self.stdout);
        let said = if stderr.trim().is_empty() { stdout.trim() } else { stderr.trim() };
        said.chars().take(EXCERPT).collect()
    }
}

/// How many characters of a text stand in evidence.
pub(crate) const EXCERPT: usize = 500;

impl Default for Ran {
    fn default() -> Self {
        Self {
            ended: Ended::Exited { code: 0 },
            stdout: Vec::new(),
            stderr: Vec::new(),
            took_ms: 0,
        }
    }
}

impl Ended {
    /// Says it in a few words, as `exit 1`.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Exited { code } => format!("exit {code}"),
            Self::Signaled { signal } => format!("signal {signal}"),
            Self::TimedOut { limit, after_ms } => format!("timeout ({limit}, {after_ms} ms)"),
            Self::OutOfMemory => "out of memory".to_owned(),
            Self::OutputLimit { bytes } => format!("more than {bytes} bytes of output"),
        }
    }
}
