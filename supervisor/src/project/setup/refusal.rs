//! Why a project is not set up, in the words that a person sees.

use std::path::PathBuf;

use thiserror::Error;

use crate::agent::tool::Tool;

/// Why a project is not set up. Nothing was written.
#[derive(Debug, Error)]
pub enum SetupError {
    /// A file stands where the project is to be.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// The file.
        path: PathBuf,
    },
    /// There is no `.ratchet`.
    #[error("No Ratchet directory found. Run 'ratchet init' first.")]
    NotSetUp,
    /// A tool that is not in the table.
    #[error("Unknown tool{} '{}'. Available: {}", if unknown.len() == 1 { "" } else { "s" }, unknown.join("', '"), available())]
    UnknownTools {
        /// What was given.
        unknown: Vec<String>,
    },
    /// No tool at all.
    #[error("--tools names no tool. Available: {}", available())]
    NoTools,
    /// `all` or `none` beside others.
    #[error("'{word}' cannot be combined with other tools. Available: {}", available())]
    Mixed {
        /// Which of the two.
        word: &'static str,
    },
    /// Nobody said which tools, and none is in use.
    #[error("No coding tool was found here, and none was named. Available: {}", available())]
    NothingInUse,
    /// `--profile` has another word.
    #[error("Invalid profile '{word}'. Available: core, custom")]
    BadProfile {
        /// What was given.
        word: String,
    },
}

impl SetupError {
    /// Returns a name that never changes.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAFolder { .. } => "file-of-wrong-kind",
            Self::NotSetUp => "not-initialised",
            Self::UnknownTools { .. } | Self::NoTools | Self::Mixed { .. } | Self::NothingInUse => {
                "bad-tools"
            }
            Self::BadProfile { .. } => "bad-profile",
        }
    }

    /// Says what to type next, if anything helps.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotAFolder { .. } => "name a folder, or one that is to be made".to_owned(),
            Self::NotSetUp => return None,
            Self::UnknownTools { .. } | Self::NoTools | Self::Mixed { .. } | Self::NothingInUse => {
                "for example 'ratchet init --tools claude,codex', or '--tools none'".to_owned()
            }
            Self::BadProfile { .. } => {
                "custom takes the workflows that the user's configuration lists".to_owned()
            }
        })
    }
}

fn available() -> String {
    let ids: Vec<&str> = Tool::ALL.into_iter().map(Tool::id).collect();
    format!("all, none, {}", ids.join(", "))
}
