//! What a person is told when the worker cannot do as it was asked: what, why, and what to type next; in the form that
//! `ratchet` has.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};

use ratchet_proto::status::causes;

/// A failure, ready to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    what: String,
    why: Vec<String>,
    help: String,
    code: &'static str,
}

impl Failure {
    pub(crate) fn new(
        error: &(dyn Error + 'static),
        code: &'static str,
        help: impl Into<String>,
    ) -> Self {
        let why = causes(error).map(ToString::to_string).collect();
        Self { what: error.to_string(), why, help: help.into(), code }
    }

    /// Says what and why in one line.
    pub(crate) fn sentence(&self) -> String {
        let whole: Vec<&str> =
            std::iter::once(&self.what).chain(&self.why).map(String::as_str).collect();
        whole.join(": ")
    }

    pub(crate) fn help(&self) -> &str {
        &self.help
    }

    /// Writes it to standard error.
    pub(crate) fn tell(&self) {
        // Nobody is left to tell it to if this fails.
        let _told = write!(io::stderr(), "{self}");
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Error: {}", self.what)?;
        for why in &self.why {
            writeln!(f, "  because: {why}")?;
        }
        writeln!(f, "  help: {}\n  code: {}", self.help, self.code)
    }
}
