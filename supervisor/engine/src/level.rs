//! How much a finding of `validate` weighs.

use serde::Serialize;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// What it is about is not valid.
    Error,
    /// It is, unless one is strict.
    Warning,
    /// Worth knowing.
    Info,
}

impl Level {
    /// Returns the word that stands in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Warning => "WARNING",
            Self::Info => "INFO",
        }
    }
}
