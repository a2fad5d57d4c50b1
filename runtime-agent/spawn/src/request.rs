//! What is asked of the shim: a command, where, what on its standard input, and within which limits.
//! There is no environment in it: the shim is started with the agent's environment, so no value touches the disk.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::id::SpawnId;

/// The grace between TERM and KILL unless the request says otherwise, in milliseconds.
pub const DEFAULT_GRACE_MS: u64 = 2_000;

/// One command to run.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The id; a second request with the same id is refused.
    pub id: SpawnId,
    /// The program, looked up in the `PATH` of the agent's environment, and its arguments. Never a secret.
    pub argv: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What it reads.
    pub stdin: Stdin,
    /// When it is ended.
    pub limits: Limits,
    /// A file that names this spawn's id for as long as somebody still needs to know how it ended. While it does, the
    /// spawn is not swept away; see [`crate::retention::sweep`].
    pub needed_by: Option<PathBuf>,
}

/// What the command finds on its standard input. Either way it comes to an end by itself.
#[derive(Clone, PartialEq, Eq)]
pub enum Stdin {
    /// These bytes, then the end.
    Prompt(Vec<u8>),
    /// Nothing.
    Null,
}

/// When a command is ended. Times are milliseconds in which the machine was awake; an absent limit is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// From the start to the first byte of output.
    pub start_ms: Option<u64>,
    /// Without a byte of output.
    pub idle_ms: Option<u64>,
    /// From the start to the end.
    pub wall_ms: Option<u64>,
    /// Both streams together, in bytes.
    pub output_bytes: Option<u64>,
    /// Between TERM and KILL.
    pub grace_ms: u64,
    /// How many files each process of it may have open; as many as the shim may, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// How much memory of its own each process of it may have, in bytes; as much as the machine gives, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start_ms: None,
            idle_ms: None,
            wall_ms: None,
            output_bytes: None,
            grace_ms: DEFAULT_GRACE_MS,
            open_files: None,
            memory_bytes: None,
        }
    }
}

/// A prompt may hold what its author would not log, so only its length is shown.
impl fmt::Debug for Stdin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt(bytes) => write!(formatter, "Prompt({} bytes)", bytes.len()),
            Self::Null => formatter.write_str("Null"),
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Request")
            .field("id", &self.id)
            .field("program", &self.argv.first())
            .field("cwd", &self.cwd)
            .field("stdin", &self.stdin)
            .field("limits", &self.limits)
            .field("needed_by", &self.needed_by)
            .finish_non_exhaustive()
    }
}

/// The request as it lies in `request.json`; the prompt lies beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredRequest {
    /// The version of the format.
    pub(crate) format: u32,
    pub(crate) id: SpawnId,
    pub(crate) argv: Vec<RawText>,
    pub(crate) cwd: RawText,
    pub(crate) stdin: StoredStdin,
    pub(crate) limits: Limits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) needed_by: Option<RawText>,
    /// The boot in which it was asked. A request of an earlier boot may have been started without a trace.
    pub(crate) boot_id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredStdin {
    Prompt,
    Null,
}

/// Text of the operating system: a string where it is one, bytes where it is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum RawText {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&OsStr> for RawText {
    fn from(text: &OsStr) -> Self {
        match text.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(text.as_bytes().to_vec()),
        }
    }
}

impl From<RawText> for OsString {
    fn from(text: RawText) -> Self {
        match text {
            RawText::Text(text) => text.into(),
            RawText::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}
