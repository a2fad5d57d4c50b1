//! Where attempts are made: a copy of the project, or the user's own tree.

use std::path::Path;

use crate::mutation::scope::Change;
use crate::scratch::ScratchError;

/// What an attempt left in its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capture {
    /// The project's files that differ; empty if the agent changed nothing of it.
    pub changes: Vec<Change>,
    /// The same as a diff.
    pub diff: Vec<u8>,
    /// The first changed line, from 1; 0 if there is none.
    pub line: u32,
    /// Files that differ and that version control ignores.
    pub ignored: Vec<String>,
    /// What was done to the repository itself, if anything was.
    pub moved: Option<String>,
}

/// A place that cannot be looked at or restored. Nothing may be attempted there any more.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A copy.
    #[error("the copy could not be used")]
    Scratch(#[from] ScratchError),
    /// The user's own tree.
    #[error("the work tree could not be used")]
    InPlace(#[source] Box<crate::in_place::InPlaceError>),
    /// Something still differs although it was restored.
    #[error("{path} still differs after it was restored; something writes to it")]
    NotRestored {
        /// The file.
        path: String,
    },
}

/// A place for attempts, one at a time.
pub trait Site: Send {
    /// Returns where the oracle and the agent work.
    fn project(&self) -> &Path;

    /// Says what differs.
    ///
    /// # Errors
    /// [`SiteError`]: never "nothing differs".
    fn capture(&mut self) -> Result<Capture, SiteError>;

    /// Makes the place ready for the oracle: the fault stays, and everything else that the agent left goes.
    ///
    /// # Errors
    /// [`SiteError`].
    fn settle(&mut self) -> Result<(), SiteError>;

    /// Restores everything but what a green baseline left in ignored files: from now on that is how they are.
    ///
    /// # Errors
    /// [`SiteError`].
    fn adopt(&mut self) -> Result<(), SiteError>;

    /// Restores everything and makes sure of it.
    ///
    /// # Errors
    /// [`SiteError`].
    fn reset(&mut self) -> Result<(), SiteError>;
}

impl<S: Site + ?Sized> Site for &mut S {
    fn project(&self) -> &Path {
        (**self).project()
    }

    fn capture(&mut self) -> Result<Capture, SiteError> {
        (**self).capture()
    }

    fn settle(&mut self) -> Result<(), SiteError> {
        (**self).settle()
    }

    fn adopt(&mut self) -> Result<(), SiteError> {
        (**self).adopt()
    }

    fn reset(&mut self) -> Result<(), SiteError> {
        (**self).reset()
    }
}
