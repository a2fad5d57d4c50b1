//! Names and ids, parsed once at the edge and trusted inside.
//!
//! A name that becomes a folder is checked here, so that no path is ever joined from unchecked text.
//! Whether a batch or change of that name exists is a question for the store.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Says why a text cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// The text is empty.
    #[error("the name is empty")]
    Empty,
    /// The text would leave its folder or cannot be a file name.
    #[error("'{name}' cannot be a folder name: {why}")]
    NotAFolder {
        /// The refused text.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The name is that of the folder of archived things.
    #[error("'{name}' is the folder of what has been archived; choose another name")]
    Reserved {
        /// The refused text.
        name: String,
    },
    /// The text is not kebab-case, which new names must be.
    #[error("'{name}': {why}")]
    NotKebab {
        /// The refused text.
        name: String,
        /// Which rule it breaks.
        why: &'static str,
    },
}

macro_rules! text_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        text_access! { $name }
    };
}

/// As `text_newtype`, for what has a rule: a file that breaks it cannot be read into such a value either.
macro_rules! checked_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text)
            }
        }

        text_access! { $name }
    };
}

macro_rules! text_access {
    ($name:ident) => {
        impl $name {
            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

macro_rules! folder_name {
    ($(#[$doc:meta])* $name:ident) => {
        checked_newtype! { $(#[$doc])* $name }

        impl $name {
            /// Parses a name that will be a folder.
            ///
            /// # Errors
            /// Refuses empty text, `.`, `..`, path separators, control characters and the archive's own name.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                check_folder(text)?;
                check_reserved(text)?;
                Ok(Self(text.to_owned()))
            }

            /// Parses a name for something new: kebab-case, as `batch new` and `new change` demand.
            ///
            /// # Errors
            /// Names the rule that the text breaks.
            pub fn parse_new(text: &str) -> Result<Self, NameError> {
                check_kebab(text)?;
                check_reserved(text)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
            }
        }
    };
}

folder_name! {
    /// Names a batch: the folder under `.ratchet/batches/`.
    ///
    /// Names do not mix:
    /// ```compile_fail
    /// use ratchet_engine::name::{BatchName, ChangeName};
    /// fn of(change: &ChangeName) -> &str { change.as_str() }
    /// of(&BatchName::parse("shop").unwrap());
    /// ```
    BatchName
}
folder_name! {
    /// Names a change: the folder under `.ratchet/changes/`.
    ChangeName
}
checked_newtype! {
    /// Names a phase of a batch. A phase has no folder, so any text but the empty one will do.
    PhaseName
}
text_newtype! {
    /// Names a coding agent, the part of a spec before the first colon.
    AgentName
}
checked_newtype! {
    /// Identifies one spawn for ever; also the name of its folder.
    SpawnId
}
text_newtype! {
    /// Says whose journal entries and parks these are: a change, a phase (decomposition), a pull request or a proof.
    /// The spellings are those of spec `step-and-outcome` 1.
    StepKey
}

impl PhaseName {
    /// Parses a phase name.
    ///
    /// # Errors
    /// Refuses the empty text.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.is_empty() { Err(NameError::Empty) } else { Ok(Self(text.to_owned())) }
    }
}

impl AgentName {
    /// Takes an agent name as it stands in a spec. Whether such an agent exists is asked before a spawn.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl SpawnId {
    /// Takes the id of a spawn.
    ///
    /// # Errors
    /// Refuses text that cannot be a folder name.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        check_folder(text)?;
        Ok(Self(text.to_owned()))
    }
}

impl StepKey {
    /// Takes a key as it stands in a journal, a state file or a report; it is not checked against the manifest.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Gives the key of a change's steps: its name.
    #[must_use]
    pub fn of_change(change: &ChangeName) -> Self {
        Self(change.0.clone())
    }

    /// Gives the key of a phase's decomposition: the phase's bare name.
    #[must_use]
    pub fn of_decomposition(phase: &PhaseName) -> Self {
        Self(phase.0.clone())
    }

    /// Gives the key of a phase's proof-of-work, which never collides with its decomposition.
    #[must_use]
    pub fn of_proof(phase: &PhaseName) -> Self {
        Self(format!("{PROOF_PREFIX}{phase}"))
    }

    /// Gives the key of the pull request over a whole batch.
    #[must_use]
    pub fn of_pull_request(batch: &BatchName) -> Self {
        Self(format!("{PULL_REQUEST_PREFIX}{batch}"))
    }

    /// Gives the key of one group's pull request.
    #[must_use]
    pub fn of_group_pull_request(batch: &BatchName, group: &str) -> Self {
        Self(format!("{PULL_REQUEST_PREFIX}{batch}:{group}"))
    }

    /// Says whether the key of a phase or a change of this name could be taken for that of a pull request or a proof.
    #[must_use]
    pub fn is_ambiguous(name: &str) -> bool {
        name.starts_with(PULL_REQUEST_PREFIX) || name.starts_with(PROOF_PREFIX)
    }

    /// Returns the phase whose proof-of-work this key stands for, if it is such a key.
    #[must_use]
    pub fn proof_phase(&self) -> Option<&str> {
        self.0.strip_prefix(PROOF_PREFIX)
    }
}

/// The folder of archived batches and of archived changes; no batch or change can have this name.
pub const ARCHIVE: &str = "archive";

const PROOF_PREFIX: &str = "proof-of-work:";
const PULL_REQUEST_PREFIX: &str = "pr:";

fn check_folder(text: &str) -> Result<(), NameError> {
    let refuse = |why| Err(NameError::NotAFolder { name: text.to_owned(), why });
    match text {
        "" => Err(NameError::Empty),
        "." | ".." => refuse("it names a parent folder"),
        _ if text.contains(['/', '\\']) => refuse("it has a path separator"),
        _ if text.chars().any(char::is_control) => refuse("it has a control character"),
        _ if text.len() > 255 => refuse("it is longer than 255 bytes"),
        _ => Ok(()),
    }
}

/// Beside every batch and every change lies the folder of those that have been archived.
fn check_reserved(text: &str) -> Result<(), NameError> {
    if text == ARCHIVE {
        return Err(NameError::Reserved { name: text.to_owned() });
    }
    Ok(())
}

/// Checks `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`, naming the first rule that is broken (spec `cli-core` 3.1).
fn check_kebab(text: &str) -> Result<(), NameError> {
    let refuse = |why| Err(NameError::NotKebab { name: text.to_owned(), why });
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.chars().any(char::is_uppercase) {
        return refuse("a name must be lowercase (use kebab-case)");
    }
    if text.contains(char::is_whitespace) {
        return refuse("a name cannot contain spaces (use hyphens instead)");
    }
    if text.contains('_') {
        return refuse("a name cannot contain underscores (use hyphens instead)");
    }
    if text.starts_with('-') || text.ends_with('-') {
        return refuse("a name cannot start or end with a hyphen");
    }
    if text.contains("--") {
        return refuse("a name cannot contain consecutive hyphens");
    }
    if !text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        return refuse("a name can only contain lowercase letters, digits and hyphens");
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return refuse("a name must start with a letter");
    }
    check_folder(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leaves_its_folder_is_refused() {
        for text in ["", ".", "..", "a/b", "a\\b", "a\0b", "../x"] {
            assert!(ChangeName::parse(text).is_err(), "{text:?}");
        }
        assert!(ChangeName::parse("mess.punkt Ü1").is_ok());
    }

    #[test]
    fn nothing_can_be_called_like_the_archive_beside_it() {
        let reserved = Err(NameError::Reserved { name: "archive".to_owned() });
        assert_eq!(ChangeName::parse("archive"), reserved);
        assert_eq!(ChangeName::parse_new("archive"), reserved);
        assert!(BatchName::parse("archive").is_err());
        assert!(BatchName::parse("archived").is_ok());
    }

    #[test]
    fn what_is_no_name_cannot_be_read_from_a_file_either() {
        for text in ["\"\"", "\"..\"", "\"a/b\"", "\"/etc\""] {
            assert!(serde_json::from_str::<ChangeName>(text).is_err(), "{text}");
            assert!(serde_json::from_str::<BatchName>(text).is_err(), "{text}");
            assert!(serde_json::from_str::<SpawnId>(text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<PhaseName>("\"\"").is_err());
        let name: ChangeName = serde_json::from_str("\"add-api\"").unwrap();
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"add-api\"");
    }

    #[test]
    fn a_new_name_is_kebab_case() {
        assert!(BatchName::parse_new("add-api2").is_ok());
        for text in ["Add", "a b", "a_b", "-a", "a-", "a--b", "2a", "ä", ""] {
            assert!(BatchName::parse_new(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn keys_of_a_phase_never_collide() {
        let phase = PhaseName::parse("p1").unwrap();
        assert_ne!(StepKey::of_decomposition(&phase), StepKey::of_proof(&phase));
        assert_eq!(StepKey::of_proof(&phase).proof_phase(), Some("p1"));
    }
}
