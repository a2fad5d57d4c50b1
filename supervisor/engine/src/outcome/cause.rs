//! What made a step fail, in one word: the supervisor's own knowledge of how the process ended, else what the agent said of
//! itself. A word for people and for deciding when to try again; whether a step failed is judged without it.

use serde::{Deserialize, Serialize};

use super::{Session, SessionEnd};
use crate::time::Timestamp;

/// What made a step fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The agent ended badly, and nothing more is known.
    Crash,
    /// A usage or rate limit was reached.
    Quota,
    /// There is no credit left.
    Credit,
    /// Nobody is logged in, or the key was refused.
    Login,
    /// The model is unknown.
    Model,
    /// The model's provider has trouble.
    Provider,
    /// The provider cannot be reached.
    Network,
    /// The agent's own limit of turns or of cost.
    AgentLimit,
    /// A time limit ended it.
    Timeout,
    /// The kernel ended it for lack of memory.
    OutOfMemory,
    /// It printed more than it may.
    OutputLimit,
    /// Somebody stopped it.
    Stopped,
    /// Nothing knows how it ended.
    Lost,
    /// It never started.
    NotStarted,
}

/// What an agent says of its own failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The word for it.
    pub cause: Cause,
    /// The failure in a few words, without a full stop.
    pub text: String,
    /// When it can be tried again, if the agent said so.
    pub retry_at: Option<Timestamp>,
}

impl Told {
    /// Says what failed, and until when.
    pub(super) fn sentence(&self) -> String {
        match self.retry_at {
            Some(at) => format!("{}, resets at {at}", self.text),
            None => self.text.clone(),
        }
    }
}

impl Session {
    /// Gives what the agent said of its failure, where its end is one of its own: what the supervisor did to it, or knows of
    /// it, says more than its last words.
    pub(super) fn told(&self) -> Option<&Told> {
        match &self.end {
            SessionEnd::Exited(_) | SessionEnd::Signaled(_) | SessionEnd::Lingered => {
                self.told.as_ref()
            }
            SessionEnd::TimedOut { .. }
            | SessionEnd::Stopped { .. }
            | SessionEnd::OutOfMemory
            | SessionEnd::OutputLimit { .. }
            | SessionEnd::NotStarted { .. }
            | SessionEnd::Lost { .. } => None,
        }
    }

    /// Gives the word for the failure; `None` if there was none.
    pub(super) fn cause(&self) -> Option<Cause> {
        match self.told() {
            Some(told) => Some(told.cause),
            None => self.end.cause(),
        }
    }
}

impl SessionEnd {
    fn cause(&self) -> Option<Cause> {
        match self {
            Self::Exited(0) | Self::Lingered => None,
            Self::Exited(_) | Self::Signaled(_) => Some(Cause::Crash),
            Self::TimedOut { .. } => Some(Cause::Timeout),
            Self::Stopped { .. } => Some(Cause::Stopped),
            Self::OutOfMemory => Some(Cause::OutOfMemory),
            Self::OutputLimit { .. } => Some(Cause::OutputLimit),
            Self::NotStarted { .. } => Some(Cause::NotStarted),
            Self::Lost { .. } => Some(Cause::Lost),
        }
    }
}
