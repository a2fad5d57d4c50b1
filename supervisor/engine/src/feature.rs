//! Feature files as values: what a description of behaviour says, what is wrong with it ([`check`]), and the same file
//! without what is held back from whoever implements it ([`without_holdouts`]) (spec `cli-core` 3.2, 7.3 and 8).
//!
//! English is read line by line and leniently, so that prose between the lines does no harm ([`lenient`]). A file that
//! names another language (`# language: de`) is read by the grammar of the `gherkin` crate ([`grammar`]). Where a file
//! lies, and what follows from a fault, is the store's.

use std::fmt;

mod check;
mod grammar;
mod holdout;
mod lenient;
#[cfg(test)]
mod tests;

pub use check::{Fault, Flaw, check, check_feature};
pub use holdout::{HOLDOUT, without_holdouts};

/// A feature file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Feature {
    /// Its name; empty if nothing names it.
    pub name: String,
    /// Where `Feature:` stands; the first line if nowhere.
    pub place: Place,
    /// The free text before the first scenario.
    pub description: Option<String>,
    /// Its scenarios, those of rules among them, in the order of the file.
    pub scenarios: Vec<Scenario>,
    /// Where a text between `"""` begins that never ends; what follows cannot be seen.
    pub open_text: Option<Place>,
    /// The file cut into pieces, for [`without_holdouts`].
    sections: Vec<Section>,
}

/// One example of behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Where its header stands.
    pub place: Place,
    /// What happens in it.
    pub steps: Vec<Step>,
    /// Whether it stands for one example or for several.
    pub kind: ScenarioKind,
    /// Its tags, those of its rule among them, with their `@`.
    pub tags: Vec<String>,
}

/// Whether a scenario stands for one example or for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScenarioKind {
    /// One.
    Plain,
    /// One for each row of its examples.
    Outline,
}

/// One line of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it begins with.
    pub keyword: Keyword,
    /// What follows.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
}

/// What a step begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyword {
    /// What holds before.
    Given,
    /// What happens.
    When,
    /// What holds after.
    Then,
    /// More of the same.
    And,
    /// More of the same, and a surprise.
    But,
}

/// A piece of a file that begins with a header, its tags included, and goes on to the next piece.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    /// Its first line, from 1.
    first_line: u32,
    /// The tags that hold for it.
    tags: Vec<String>,
}

/// Reads a feature file.
///
/// # Errors
/// Only a file in another language than English can be none at all; what an English one lacks is told by [`check`].
pub fn read(text: &str) -> Result<Feature, Fault> {
    match grammar::foreign_language(text) {
        Some(language) => grammar::read(text, language),
        None => Ok(lenient::read(text)),
    }
}

impl Keyword {
    pub(super) const ALL: [Self; 5] = [Self::Given, Self::When, Self::Then, Self::And, Self::But];

    /// Returns the usual spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Given => "Given",
            Self::When => "When",
            Self::Then => "Then",
            Self::And => "And",
            Self::But => "But",
        }
    }
}

impl Place {
    /// The first character of a file.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl Default for Place {
    fn default() -> Self {
        Self::START
    }
}

impl fmt::Display for Keyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Cuts a text into lines, each with its end, whichever of the three kinds of line end it has.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = match rest.find(['\n', '\r']) {
            None if rest.is_empty() => return None,
            None => rest.len(),
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
        };
        let (line, after) = rest.split_at(end);
        rest = after;
        Some(line)
    })
}

/// Numbers lines from 1; no file that is read has more than fit.
fn numbered<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = (u32, &'a str)> {
    (1..).zip(lines)
}

/// Returns the words of a line that begin with `@`, up to a comment.
fn tags_of(line: &str) -> impl Iterator<Item = String> + '_ {
    let words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
    words.filter(|word| word.len() > 1 && word.starts_with('@')).map(str::to_owned)
}
