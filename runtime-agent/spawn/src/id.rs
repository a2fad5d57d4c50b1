//! The id of a spawn: the name of its folder and the mark of its processes. Parsed once, trusted afterwards.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The environment variable that carries the spawn id into the agent and everything it starts.
pub const MARK_VARIABLE: &str = "RATCHET_SPAWN_ID";

const LONGEST_ID: usize = 128;

/// Names one spawn for ever; it is also a folder name, so it is checked.
///
/// ```
/// use ratchet_spawn::SpawnId;
/// assert!(SpawnId::parse("0198c0de-7b1a-7000").is_ok());
/// assert!(SpawnId::parse("../etc").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SpawnId(String);

/// Text that cannot be a spawn id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no spawn id: 1 to {LONGEST_ID} letters, digits, `-`, `_` or `.`, beginning with a letter or digit"
)]
pub struct SpawnIdError {
    text: String,
}

impl SpawnId {
    /// Parses an id.
    ///
    /// # Errors
    /// Refuses what could leave the folder of spawns, be hidden there, or be split in an environment.
    pub fn parse(text: &str) -> Result<Self, SpawnIdError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let fits = text.len() <= LONGEST_ID
            && text.bytes().all(plain)
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(SpawnIdError { text: text.chars().take(LONGEST_ID).collect() })
        }
    }

    /// Gives the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SpawnId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for SpawnId {
    type Error = SpawnIdError;

    fn try_from(text: String) -> Result<Self, SpawnIdError> {
        Self::parse(&text)
    }
}

impl From<SpawnId> for String {
    fn from(id: SpawnId) -> Self {
        id.0
    }
}
