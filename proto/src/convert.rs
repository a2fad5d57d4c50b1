//! Values of a spawn ⇄ messages of `ratchet.runtime.v1`. Both sides of that wire use it: a supervisor hears what a worker
//! says, and the other way round. Everything that arrives is checked here; what is past this file can be trusted.
//!
//! Nothing is decided and nothing is lost here: a value that goes over and comes back is the same.

mod limits;
mod output;
mod record;

use thiserror::Error;

/// A message that lacks something, or says something that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the message is not understood: {what}")]
pub struct Malformed {
    what: String,
}

impl Malformed {
    /// Says which part, and what is wrong with it.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }

    /// Names a member that has to be there.
    #[must_use]
    pub fn missing(what: &str) -> Self {
        Self::new(format!("{what} is missing"))
    }

    /// Names a member whose word, or number of a word, this version does not know.
    #[must_use]
    pub fn unknown(what: &str) -> Self {
        Self::new(format!("{what} is not known"))
    }
}
