//! Values ⇄ messages. Everything that arrives is checked here; what is past this file can be trusted.
//!
//! Nothing is decided and nothing is read here. Each file holds both directions, so that neither is forgotten.

pub(crate) mod event;
pub(crate) mod report;
pub(crate) mod request;
pub(crate) mod status;
mod usage;

use ratchet_engine::transition::StepKind;
use ratchet_proto::supervisor::v1 as wire;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// A message that lacks something, or says something that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the message is not understood: {what}")]
pub struct Malformed {
    /// Which part, and what is wrong with it.
    pub(crate) what: String,
}

/// A value that can be said.
pub(crate) trait IntoWire {
    /// What it is said with.
    type Message;

    fn into_wire(self) -> Self::Message;
}

/// A value that can be heard.
pub(crate) trait FromWire<M>: Sized {
    fn from_wire(message: M) -> Result<Self, Malformed>;
}

impl Malformed {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }

    /// Names a member that has to be there.
    pub(crate) fn missing(what: &str) -> Self {
        Self::new(format!("{what} is missing"))
    }
}

/// Gives the word that a value has in files and JSON.
fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        other => unreachable!("a value of few words is written as a text, not as {other:?}"),
    }
}

/// Reads such a word.
fn from_word<T: DeserializeOwned>(what: &str, word: String) -> Result<T, Malformed> {
    let said = format!("{what} '{word}' is not known");
    serde_json::from_value(serde_json::Value::String(word)).map_err(|_| Malformed::new(said))
}

/// Gives a count; one that does not fit is as large as can be.
fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

pub(super) fn kind_to_wire(kind: StepKind) -> wire::StepKind {
    match kind {
        StepKind::Propose => wire::StepKind::Propose,
        StepKind::Apply => wire::StepKind::Apply,
        StepKind::Verify => wire::StepKind::Verify,
        StepKind::Decompose => wire::StepKind::Decompose,
        StepKind::Pr => wire::StepKind::PullRequest,
    }
}

fn kind_of_wire(kind: wire::StepKind) -> Option<StepKind> {
    match kind {
        wire::StepKind::Unspecified => None,
        wire::StepKind::Propose => Some(StepKind::Propose),
        wire::StepKind::Apply => Some(StepKind::Apply),
        wire::StepKind::Verify => Some(StepKind::Verify),
        wire::StepKind::Decompose => Some(StepKind::Decompose),
        wire::StepKind::PullRequest => Some(StepKind::Pr),
    }
}
