//! The exit record: the truth about a spawn, which outlives everyone who asked for it.
//! It only states what was seen; what that amounts to is decided elsewhere.

use serde::{Deserialize, Serialize};

/// How a spawn ended and what it took (`exit.json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitRecord {
    /// The version of the format.
    pub format: u32,
    /// How it ended.
    pub end: End,
    /// When the shim started it, in milliseconds since 1970.
    pub started_at: u64,
    /// When nothing of it was left, in milliseconds since 1970.
    pub ended_at: u64,
    /// What lay between, without the time the machine was asleep, in milliseconds.
    pub awake_ms: u64,
    /// What it took from the machine.
    pub usage: Usage,
    /// What it printed.
    pub output: Output,
    /// Processes that were left when the agent had ended, and were ended too; at most [`MOST_STRAYS`] are listed.
    pub strays: Vec<Stray>,
    /// Processes that could not be ended.
    pub leftover: Vec<Stray>,
    /// What the shim could not do as asked, in words for the person who looks into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How many strays a record lists.
pub const MOST_STRAYS: usize = 64;

/// How a spawn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum End {
    /// It exited by itself.
    Exited {
        /// Its code, 0 to 255.
        code: i32,
    },
    /// It died by a signal that the shim did not send.
    Signaled {
        /// The signal's number.
        signal: i32,
        /// Whether the kernel wrote a core file.
        core_dumped: bool,
    },
    /// A limit ended it.
    TimedOut {
        /// Which.
        limit: TimeLimit,
        /// The limit, in milliseconds.
        after_ms: u64,
        /// How the agent itself went.
        leader: Leader,
    },
    /// It was stopped on request.
    Stopped {
        /// Who asked.
        by: String,
        /// How the agent itself went.
        leader: Leader,
    },
    /// The kernel ended it for lack of memory.
    OutOfMemory,
    /// It printed more than it may.
    OutputLimit {
        /// The limit, in bytes.
        bytes: u64,
        /// How the agent itself went.
        leader: Leader,
    },
    /// Its output could not be kept (a full disk), so it was ended.
    SpoolFailed {
        /// Why.
        message: String,
        /// How the agent itself went.
        leader: Leader,
    },
    /// It never started.
    NotStarted {
        /// What stood in the way.
        reason: NotStarted,
        /// The same in words.
        message: String,
        /// What a shell would have exited with: 127 not found, 126 not executable, 1 else.
        code: i32,
    },
}

/// The limits on time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TimeLimit {
    /// No first byte of output.
    Start,
    /// No byte of output for too long.
    Idle,
    /// It took too long as a whole.
    Wall,
}

/// How the agent's own process went when it was ended by the shim. An agent may exit 0 when asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Leader {
    /// It was stopped before it started.
    NeverRan,
    /// It exited with this code.
    Exited {
        /// Its code, 0 to 255.
        code: i32,
    },
    /// It died by this signal.
    Signaled {
        /// The signal's number.
        signal: i32,
        /// Whether the kernel wrote a core file.
        core_dumped: bool,
    },
    /// It could not be ended and is listed as left over.
    StillRunning,
}

/// Why a command never started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NotStarted {
    /// There is no such program.
    CommandNotFound,
    /// The program is there but may not or cannot be executed.
    NotExecutable,
    /// The folder it was to run in is not there.
    FolderMissing,
    /// The request cannot be read or asks for nothing.
    BadRequest,
    /// The kernel refused for another reason: too many processes, too little memory.
    Refused,
}

/// What a spawn took: the agent and everything it started and that was waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Processor time in user mode, in microseconds.
    pub cpu_user_us: u64,
    /// Processor time in the kernel, in microseconds.
    pub cpu_system_us: u64,
    /// The largest process, in bytes.
    pub max_rss_bytes: u64,
    /// How many processes near it the kernel ended for lack of memory while it ran.
    pub oom_kills: u64,
}

/// What was printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Bytes kept of the standard output.
    pub stdout_bytes: u64,
    /// Bytes kept of the standard error.
    pub stderr_bytes: u64,
    /// Bytes read and thrown away, after a limit or a full disk.
    pub discarded_bytes: u64,
    /// Frames in the spool.
    pub frames: u64,
    /// The length of the spool's whole frames. A shorter file was cut by a crash of the machine; what a longer one has
    /// more is a frame that the disk had no room for.
    pub spool_bytes: u64,
}

/// A process that outlived the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stray {
    /// Its process id.
    pub pid: i32,
    /// The kernel's short name of it.
    pub comm: String,
    /// The first word of its command line, at most 128 bytes; the rest may hold secrets.
    pub program: String,
    /// What tied it to the spawn.
    pub found_by: Tie,
    /// How it went.
    pub fate: Fate,
}

/// What ties a process to a spawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tie {
    /// It descends from the agent.
    Descent,
    /// It is in the spawn's cgroup.
    Cgroup,
    /// It is in the agent's session.
    Session,
    /// It carries the spawn id in its environment.
    Mark,
}

/// How a stray went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// It went when asked (TERM).
    Obeyed,
    /// It was killed.
    Killed,
    /// It is still there.
    Left,
}
