//! Which branch of judging decided, as a value: for whoever must show why a step came out as it did. Nothing is decided by it.

use serde::{Deserialize, Serialize};

/// A branch of spec `step-and-outcome` 6.1, by its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// The agent asked something.
    #[serde(rename = "1")]
    Asked,
    /// A bad end, and no completion.
    #[serde(rename = "2")]
    Failed,
    /// A completion that the disk contradicts.
    #[serde(rename = "3a")]
    Contradicted,
    /// A completion, and a bad end.
    #[serde(rename = "3b")]
    CompletedBadly,
    /// A completion that a person must approve.
    #[serde(rename = "3c")]
    AwaitsApproval,
    /// A completion that holds.
    #[serde(rename = "3d")]
    Completed,
    /// A good end without a word, and progress on disk.
    #[serde(rename = "4a")]
    SilentProgress,
    /// A good end without a word, and nothing on disk.
    #[serde(rename = "4b")]
    Silent,
}

impl Rule {
    /// Returns its number.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "1",
            Self::Failed => "2",
            Self::Contradicted => "3a",
            Self::CompletedBadly => "3b",
            Self::AwaitsApproval => "3c",
            Self::Completed => "3d",
            Self::SilentProgress => "4a",
            Self::Silent => "4b",
        }
    }
}
