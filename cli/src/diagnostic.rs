//! What a person is told when a command fails: what, why, and what to type next.
//!
//! Errors arrive as values; this is where their chain becomes text. The first line always begins `Error: `.

use std::borrow::Cow;
use std::error::Error;

use ratchet_supervisor::error::causes;

use crate::render::page::{Page, Tone};

/// A failure, ready to be told.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    why: Vec<String>,
    help: Option<String>,
    code: Option<Cow<'static, str>>,
}

impl Failure {
    /// Makes a failure from its one sentence.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), why: Vec::new(), help: None, code: None }
    }

    /// Adds a cause below those that are there.
    pub(crate) fn because(mut self, why: impl Into<String>) -> Self {
        self.why.push(why.into());
        self
    }

    /// Says what to type next.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Names the page in `docs/errors/`.
    pub(crate) fn code(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Makes a failure from an error and its causes.
    pub(crate) fn from_error(error: &(dyn Error + 'static)) -> Self {
        causes(error)
            .fold(Self::new(error.to_string()), |failure, cause| failure.because(cause.to_string()))
    }

    /// Says what failed and why, in one line.
    pub(crate) fn sentence(&self) -> String {
        std::iter::once(&self.what)
            .chain(&self.why)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(": ")
    }

    /// Returns what to type next.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Returns the name of its page in `docs/errors/`.
    pub(crate) fn page(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Writes the failure down.
    pub(crate) fn draw(&self, page: &mut Page) {
        page.tone(Tone::Bad, "Error: ").put(&self.what).end();
        for why in &self.why {
            page.put("  because: ").put(why).end();
        }
        for (index, line) in self.help.iter().flat_map(|help| help.lines()).enumerate() {
            page.tone(Tone::Dim, if index == 0 { "  help: " } else { "        " }).put(line).end();
        }
        if let Some(code) = &self.code {
            page.tone(Tone::Dim, format_args!("  code: {code}")).end();
        }
    }
}

impl From<crate::ui::NotWritten> for Failure {
    fn from(error: crate::ui::NotWritten) -> Self {
        Self::from_error(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::page::Ink;

    #[derive(Debug, thiserror::Error)]
    #[error("could not read the journal")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_failure_says_what_why_and_what_to_type_next() {
        let cause = std::io::Error::other("permission denied");
        let failure = Failure::from_error(&Outer(cause)).help("Run:\n  chmod u+r run");
        let mut page = Page::new(Ink::Plain);
        failure.draw(&mut page);
        assert_eq!(
            page.finish(),
            "Error: could not read the journal\n  because: permission denied\n  help: Run:\n          chmod u+r run\n"
        );
    }
}
