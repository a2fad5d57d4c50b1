//! Reads English features line by line. What is no header, no step and no tag is prose, and does no harm.
//!
//! Nothing is refused here: what is missing is found by [`super::check`].

use super::{
    Feature, Keyword, Place, Scenario, ScenarioKind, Section, Step, lines, numbered, tags_of,
};

/// Reads a feature.
pub(super) fn read(text: &str) -> Feature {
    let mut reading = Reading::default();
    for (number, line) in numbered(lines(text)) {
        // The mark of a byte order is no part of the first header.
        reading.line(number, line.strip_prefix('\u{feff}').unwrap_or(line));
    }
    reading.end()
}

#[derive(Default)]
struct Reading {
    feature: Feature,
    scenario: Option<Scenario>,
    within: Within,
    description: Vec<String>,
    /// Tags that wait for what they stand before, and the line of the first.
    pending: Vec<String>,
    pending_from: Option<u32>,
    /// Tags of the rule that is being read.
    rule: Vec<String>,
    /// The mark that ends the doc string that is being read, and where that began.
    fence: Option<(&'static str, Place)>,
}

/// What a line belongs to.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Before anything, or in the description of the feature.
    #[default]
    Description,
    /// A scenario.
    Scenario,
    /// A background, a rule's description or a table of examples.
    Aside,
}

enum Header {
    Feature,
    Rule,
    Background,
    Scenario(ScenarioKind),
    Examples,
}

impl Reading {
    fn line(&mut self, number: u32, line: &str) {
        let text = line.trim();
        let indent = line.chars().take_while(|char| char.is_whitespace()).count();
        let place = Place { line: number, column: u32::try_from(indent + 1).unwrap_or(u32::MAX) };
        if let Some((fence, _)) = self.fence {
            if text.starts_with(fence) {
                self.fence = None;
            }
            return;
        }
        if let Some(mark) = ["\"\"\"", "```"].into_iter().find(|mark| text.starts_with(mark)) {
            self.fence = Some((mark, place));
        } else if text.starts_with('@') {
            self.pending_from.get_or_insert(number);
            self.pending.extend(tags_of(text));
        } else if !text.is_empty() && !text.starts_with(['#', '|']) {
            match Header::of(text) {
                Some((header, name)) => self.header(place, header, name),
                None => self.prose(place, text),
            }
        }
    }

    fn header(&mut self, place: Place, header: Header, name: &str) {
        let tags = std::mem::take(&mut self.pending);
        let first_line = self.pending_from.take().unwrap_or(place.line);
        let inherited = match header {
            // An outline takes its examples with it, whatever tags they have.
            Header::Examples => return self.within = Within::Aside,
            Header::Feature => {
                self.feature.name = name.to_owned();
                self.feature.place = place;
                self.rule.clear();
                Vec::new()
            }
            Header::Rule => {
                self.rule = tags;
                self.rule.clone()
            }
            Header::Background => self.rule.clone(),
            Header::Scenario(_) => [self.rule.clone(), tags].concat(),
        };
        self.close();
        self.feature.sections.push(Section { first_line, tags: inherited.clone() });
        self.within = match header {
            Header::Feature => Within::Description,
            Header::Rule | Header::Background | Header::Examples => Within::Aside,
            Header::Scenario(kind) => {
                let name = name.to_owned();
                let steps = Vec::new();
                self.scenario = Some(Scenario { name, place, steps, kind, tags: inherited });
                Within::Scenario
            }
        };
    }

    fn prose(&mut self, place: Place, text: &str) {
        match (self.within, &mut self.scenario) {
            (Within::Scenario, Some(scenario)) => {
                if let Some((keyword, rest)) = Keyword::at_start_of(text) {
                    scenario.steps.push(Step { keyword, text: rest.to_owned(), place });
                }
            }
            (Within::Description, _) => self.description.push(text.to_owned()),
            (Within::Scenario | Within::Aside, _) => {}
        }
    }

    /// Ends the scenario that is being read, if there is one.
    fn close(&mut self) {
        self.feature.scenarios.extend(self.scenario.take());
    }

    fn end(mut self) -> Feature {
        self.close();
        self.feature.open_text = self.fence.map(|(_, place)| place);
        if !self.description.is_empty() {
            self.feature.description = Some(self.description.join("\n"));
        }
        self.feature
    }
}

impl Header {
    /// Reads a header and what follows its colon.
    fn of(text: &str) -> Option<(Self, &str)> {
        let (word, name) = text.split_once(':')?;
        let header = match word.to_ascii_lowercase().as_str() {
            "feature" => Self::Feature,
            "rule" => Self::Rule,
            "background" => Self::Background,
            "scenario" | "example" => Self::Scenario(ScenarioKind::Plain),
            "scenario outline" | "scenario template" => Self::Scenario(ScenarioKind::Outline),
            "examples" | "scenarios" => Self::Examples,
            _ => return None,
        };
        Some((header, name.trim()))
    }
}

impl Keyword {
    /// Reads a keyword that is a whole word, and the text of its step.
    fn at_start_of(text: &str) -> Option<(Self, &str)> {
        let end = text.find(|char: char| !char.is_alphanumeric() && char != '_');
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        let is_it = |keyword: &Self| keyword.as_str().eq_ignore_ascii_case(word);
        Some((Self::ALL.into_iter().find(is_it)?, rest.trim()))
    }
}
