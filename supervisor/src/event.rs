//! What a caller hears while a step runs. Events decide nothing; a caller that stops listening changes nothing.

use ratchet_engine::name::{AgentName, SpawnId, StepKey};
use ratchet_engine::transition::StepKind;
use ratchet_spawn::Frame;
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
        /// Where they begin in the stored output, if that is on this machine.
        offset: Option<u64>,
        /// Where the next piece begins, as [`crate::follow::Start::Offset`] takes it.
        next: u64,
    },
    /// The command and everything it started are gone.
    Ended,
}

impl StepEvent {
    /// Tells a frame of stored output.
    pub(crate) fn output(frame: Frame) -> Self {
        Self::Output {
            stream: frame.stream.into(),
            offset: Some(frame.position.offset()),
            next: frame.next.offset(),
            bytes: frame.bytes,
        }
    }
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

impl From<ratchet_spawn::Stream> for Stream {
    fn from(stream: ratchet_spawn::Stream) -> Self {
        match stream {
            ratchet_spawn::Stream::Stdout => Self::Stdout,
            ratchet_spawn::Stream::Stderr => Self::Stderr,
        }
    }
}

/// Where events go. Bounded: a slow listener slows the telling, never the agent, whose output is on disk.
pub type EventSink = mpsc::Sender<StepEvent>;

/// How many events wait for a slow listener; each holds at most one frame of output (64 KiB).
pub const EVENT_BACKLOG: usize = 32;
