//! How a pass condition is read (spec `step-and-outcome` 9.3). Whether a condition satisfies itself by what its command
//! says is the manifest's question (spec `batch-manifest-and-settings` 2.2).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A pass condition, read. Exit 0 is needed by all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Exit 0 is enough.
    ExitZero,
    /// Standard output holds this text: what stands after `contains:`, blanks in front included.
    Contains(String),
    /// Standard output matches this pattern, which compiles: what stands after `regex:`.
    Regex(String),
    /// Standard output holds the whole condition.
    Substring(String),
}

/// How a pass condition is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionKind {
    /// Exit 0 is enough.
    ExitZero,
    /// `contains:`
    Contains,
    /// `regex:`
    Regex,
    /// Any other text must be in the output.
    Substring,
}

/// Says why a pass condition can never pass. A manifest with such a one is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConditionError {
    /// Nothing but blanks after `contains:`.
    #[error("the text after contains: is empty")]
    EmptyContains,
    /// Nothing after `regex:`.
    #[error("the pattern after regex: is empty")]
    EmptyRegex,
    /// The pattern does not compile.
    #[error("the pattern after regex: is invalid: {why}")]
    InvalidRegex {
        /// The regex engine's own words.
        why: String,
    },
}

/// Reads a pass condition.
///
/// # Errors
/// Refuses a condition that no output can satisfy as it is meant: see [`ConditionError`].
pub fn classify(pass: &str) -> Result<Condition, ConditionError> {
    let text = pass.trim();
    if is_exit_zero(text) {
        return Ok(Condition::ExitZero);
    }
    if let Some(needle) = text.strip_prefix("contains:") {
        return if needle.trim().is_empty() {
            Err(ConditionError::EmptyContains)
        } else {
            Ok(Condition::Contains(needle.to_owned()))
        };
    }
    if let Some(pattern) = text.strip_prefix("regex:") {
        if pattern.is_empty() {
            return Err(ConditionError::EmptyRegex);
        }
        return match fancy_regex::Regex::new(pattern) {
            Ok(_) => Ok(Condition::Regex(pattern.to_owned())),
            Err(error) => Err(ConditionError::InvalidRegex { why: error.to_string() }),
        };
    }
    Ok(Condition::Substring(text.to_owned()))
}

impl Condition {
    /// Returns how this condition is read.
    #[must_use]
    pub fn kind(&self) -> ConditionKind {
        match self {
            Self::ExitZero => ConditionKind::ExitZero,
            Self::Contains(_) => ConditionKind::Contains,
            Self::Regex(_) => ConditionKind::Regex,
            Self::Substring(_) => ConditionKind::Substring,
        }
    }

    /// Returns the text that must be in the output, if it is a plain text.
    #[must_use]
    pub fn needle(&self) -> Option<&str> {
        match self {
            Self::Contains(needle) | Self::Substring(needle) => Some(needle),
            Self::ExitZero | Self::Regex(_) => None,
        }
    }
}

/// Recognises the exit-zero directive: `exit`, optionally `code`, then `0` or `zero`, each optionally behind one blank
/// or hyphen, in any case, and then no letter, digit or `_`. The empty condition is one too.
fn is_exit_zero(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    let Some(rest) = strip_word(text, "exit") else { return false };
    let separated = strip_separator(rest);
    let rest = strip_word(separated, "code").unwrap_or(rest);
    let rest = strip_separator(rest);
    let Some(rest) = strip_word(rest, "zero").or_else(|| rest.strip_prefix('0')) else {
        return false;
    };
    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    head.eq_ignore_ascii_case(word).then_some(rest)
}

fn strip_separator(text: &str) -> &str {
    text.strip_prefix([' ', '-']).unwrap_or(text)
}
