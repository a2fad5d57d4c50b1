//! What a caller hears while a step runs. Events decide nothing; a caller that stops listening changes nothing.

use ratchet_engine::name::{AgentName, SpawnId, StepKey};
use ratchet_engine::transition::StepKind;
use tokio::sync::mpsc;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepEvent {
    /// Something a person should know, in one line.
    Notice(Notice),
    /// A command runs, or was found running.
    Started(Started),
    /// Bytes of its output, exactly as it wrote them.
    Output {
        /// Where it wrote them.
        stream: Stream,
        /// The bytes; a line may be cut anywhere.
        bytes: Vec<u8>,
    },
    /// The command and everything it started are gone.
    Ended,
}

/// A line for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub level: NoticeLevel,
    /// The line.
    pub text: String,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Something is not as asked.
    Warning,
}

/// What runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The spawn.
    pub spawn: SpawnId,
    /// Whose step it is.
    pub key: StepKey,
    /// What it runs.
    pub what: Running,
    /// Whether this caller started it.
    pub origin: Origin,
}

/// What a spawn runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Running {
    /// An agent.
    Agent {
        /// The step.
        kind: StepKind,
        /// The agent whose output this is; `None` under `RATCHET_BATCH_AGENT_CMD`, whose output is plain lines.
        agent: Option<AgentName>,
    },
    /// A proof-of-work.
    Proof,
}

/// How a caller came to a spawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was started for this call.
    Fresh,
    /// An earlier call started it and was cut off; its output is told again from the beginning.
    Reattached,
}

/// A stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Where events go. Bounded: a slow listener slows the telling, never the agent, whose output is on disk.
pub type EventSink = mpsc::Sender<StepEvent>;

/// How many events wait for a slow listener; each holds at most one frame of output (256 KiB).
pub const EVENT_BACKLOG: usize = 32;
