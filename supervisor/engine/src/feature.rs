//! What makes a feature file no description of behaviour (spec `cli-core` 3.2 and 8): read line by line and leniently, so
//! that prose between the lines does no harm. Where the file lies, and what follows from a fault, is the store's.
//!
//! Only errors are told, no warnings. `Rule:` and other languages than English are not known, and read as prose.

use std::fmt;

use thiserror::Error;

#[cfg(test)]
mod tests;

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// What is wrong.
    pub flaw: Flaw,
}

/// What can be wrong with a feature file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Flaw {
    /// Nothing says which feature it is.
    #[error("there is no 'Feature:' with a name")]
    Unnamed,
    /// No scenario.
    #[error("there is no scenario")]
    NoScenario,
    /// A scenario without a name.
    #[error("a scenario has no name")]
    UnnamedScenario,
    /// A scenario in which nothing happens.
    #[error("the scenario '{scenario}' has no steps")]
    NoSteps {
        /// Its name.
        scenario: String,
    },
    /// A step that is a keyword and nothing else.
    #[error("the step '{keyword}' has no text")]
    EmptyStep {
        /// The keyword.
        keyword: Keyword,
    },
    /// A scenario that leaves out one of the three things it has to say.
    #[error("the scenario '{scenario}' has no {keyword}")]
    Lacks {
        /// Its name.
        scenario: String,
        /// What it leaves out.
        keyword: Keyword,
    },
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

/// Finds everything that is wrong with the text of a feature file, in the order of its lines.
#[must_use]
pub fn check(text: &str) -> Vec<Fault> {
    let mut reading = Reading::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    for (number, line) in (1..).zip(text.split(['\n', '\r'])) {
        reading.line(number, line);
    }
    reading.end()
}

/// What has been read so far.
#[derive(Default)]
struct Reading {
    faults: Vec<Fault>,
    /// The last `Feature:`, whether it has a name, and where it is.
    feature: Option<(Place, Naming)>,
    scenarios: usize,
    within: Within,
    /// The mark that ends the doc string that is being read.
    fence: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    Named,
    Unnamed,
}

/// What a step belongs to.
#[derive(Default)]
enum Within {
    /// A description, a background or a table of examples: to nothing.
    #[default]
    Prose,
    Scenario(Scenario),
}

struct Scenario {
    name: String,
    place: Place,
    keywords: Vec<Keyword>,
}

#[derive(Clone, Copy)]
struct Place {
    line: u32,
    column: u32,
}

impl Place {
    fn has(self, flaw: Flaw) -> Fault {
        Fault { line: self.line, column: self.column, flaw }
    }
}

impl Reading {
    fn line(&mut self, number: u32, line: &str) {
        let text = line.trim();
        if let Some(fence) = self.fence {
            if text.starts_with(fence) {
                self.fence = None;
            }
            return;
        }
        self.fence = ["\"\"\"", "```"].into_iter().find(|mark| text.starts_with(mark));
        if self.fence.is_some() || text.starts_with(['#', '|', '@']) {
            return;
        }
        let indent = line.chars().take_while(|char| char.is_whitespace()).count();
        let place = Place { line: number, column: u32::try_from(indent + 1).unwrap_or(u32::MAX) };
        match Header::of(text) {
            Some((Header::Feature, name)) => {
                self.close();
                let naming = if name.is_empty() { Naming::Unnamed } else { Naming::Named };
                self.feature = Some((place, naming));
            }
            Some((Header::Scenario, name)) => {
                self.close();
                self.open(place, name);
            }
            Some((Header::Background, _)) => self.close(),
            Some((Header::Examples, _)) => self.close(),
            None => self.step(place, text),
        }
    }

    fn open(&mut self, place: Place, name: &str) {
        self.scenarios += 1;
        if name.is_empty() {
            self.faults.push(place.has(Flaw::UnnamedScenario));
        }
        let scenario = Scenario { name: name.to_owned(), place, keywords: Vec::new() };
        self.within = Within::Scenario(scenario);
    }

    fn step(&mut self, place: Place, text: &str) {
        let (Within::Scenario(scenario), Some((keyword, rest))) =
            (&mut self.within, Keyword::at_start_of(text))
        else {
            return;
        };
        scenario.keywords.push(keyword);
        if rest.is_empty() {
            self.faults.push(place.has(Flaw::EmptyStep { keyword }));
        }
    }

    /// Ends the scenario that is being read, if there is one.
    fn close(&mut self) {
        let Within::Scenario(Scenario { name, place, keywords }) = std::mem::take(&mut self.within)
        else {
            return;
        };
        if keywords.is_empty() {
            self.faults.push(place.has(Flaw::NoSteps { scenario: name }));
            return;
        }
        let needed = [Keyword::Given, Keyword::When, Keyword::Then];
        for keyword in needed.into_iter().filter(|keyword| !keywords.contains(keyword)) {
            self.faults.push(place.has(Flaw::Lacks { scenario: name.clone(), keyword }));
        }
    }

    fn end(mut self) -> Vec<Fault> {
        self.close();
        let start = Place { line: 1, column: 1 };
        match self.feature {
            Some((_, Naming::Named)) => {}
            Some((place, Naming::Unnamed)) => self.faults.push(place.has(Flaw::Unnamed)),
            None => self.faults.push(start.has(Flaw::Unnamed)),
        }
        if self.scenarios == 0 {
            let place = self.feature.map_or(start, |(place, _)| place);
            self.faults.push(place.has(Flaw::NoScenario));
        }
        self.faults.sort_by_key(|fault| (fault.line, fault.column));
        self.faults
    }
}

/// A line that begins something.
enum Header {
    Feature,
    Background,
    Scenario,
    Examples,
}

impl Header {
    /// Reads a header and what follows its colon.
    fn of(text: &str) -> Option<(Self, &str)> {
        let (word, name) = text.split_once(':')?;
        let header = match word.to_ascii_lowercase().as_str() {
            "feature" => Self::Feature,
            "background" => Self::Background,
            "scenario" | "example" | "scenario outline" | "scenario template" => Self::Scenario,
            "examples" | "scenarios" => Self::Examples,
            _ => return None,
        };
        Some((header, name.trim()))
    }
}

impl Keyword {
    const ALL: [Self; 5] = [Self::Given, Self::When, Self::Then, Self::And, Self::But];

    /// Reads a keyword that is a whole word, and the text of its step.
    fn at_start_of(text: &str) -> Option<(Self, &str)> {
        let end = text.find(|char: char| !char.is_alphanumeric() && char != '_');
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        let is_it = |keyword: &Self| keyword.as_str().eq_ignore_ascii_case(word);
        Some((Self::ALL.into_iter().find(is_it)?, rest.trim()))
    }

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

impl fmt::Display for Keyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}, column {})", self.flaw, self.line, self.column)
    }
}
