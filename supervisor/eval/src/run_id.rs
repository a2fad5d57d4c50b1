//! The id of a run: its time, so that ids sort, and six digits of chance.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};

use ratchet_engine::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Names a run: `20261201T042259123Z-a1b2c3`. It is also a file's name, so it is checked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// Text that cannot be a run's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no run id; one looks like 20261201T042259123Z-a1b2c3")]
pub struct RunIdError(String);

impl RunId {
    /// Makes an id that no other run has.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let time: String = now.to_string().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let chance = std::collections::hash_map::RandomState::new().build_hasher().finish();
        Self(format!("{time}-{:06x}", chance & 0x00ff_ffff))
    }

    /// Parses an id; ids of other tools are taken, as long as they are a file's name and nothing else.
    ///
    /// # Errors
    /// Refuses what could lead elsewhere.
    pub fn parse(text: &str) -> Result<Self, RunIdError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let starts = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
        if starts && text.len() <= 100 && text.bytes().all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(RunIdError(text.chars().take(100).collect()))
        }
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RunId {
    type Error = RunIdError;

    fn try_from(text: String) -> Result<Self, RunIdError> {
        Self::parse(&text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // E-H01
    #[test]
    fn ids_sort_by_time_and_differ() {
        let at = |ms| RunId::new(Timestamp::from_unix_ms(ms));
        let (one, same, later) =
            (at(1_796_098_979_123), at(1_796_098_979_123), at(1_796_098_979_124));
        assert_ne!(one, same);
        assert!(one < later, "{one} {later}");
        let (time, chance) = one.as_str().split_once('-').unwrap();
        assert_eq!((time.len(), chance.len()), (19, 6), "{one}");
        assert_eq!(RunId::parse(one.as_str()), Ok(one.clone()));
    }

    #[test]
    fn an_id_that_leads_elsewhere_is_refused() {
        for bad in ["", "..", "../x", "a/b", ".hidden", "a b"] {
            assert!(RunId::parse(bad).is_err(), "{bad}");
        }
    }
}
