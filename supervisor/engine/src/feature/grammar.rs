//! Reads features in other languages than English, by the whole grammar: the `gherkin` crate knows the words of some
//! seventy languages. It is strict: the first thing that does not fit is the fault of the file.

use gherkin::{GherkinEnv, LineCol, StepType};

use super::{
    Fault, Feature, Flaw, Keyword, Place, Scenario, ScenarioKind, Section, Step, lines, numbered,
};

/// Returns the language that a file names in a comment before anything else, unless that is English.
pub(super) fn foreign_language(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}');
    let comments = text.lines().map(str::trim).take_while(|l| l.is_empty() || l.starts_with('#'));
    let named = |line| {
        let language = str::strip_prefix(line, "#")?.trim_start().strip_prefix("language")?;
        Some(language.trim_start().strip_prefix(':')?.trim())
    };
    comments.filter_map(named).next().filter(|language| !matches!(*language, "" | "en"))
}

/// Reads a feature.
pub(super) fn read(text: &str, language: &str) -> Result<Feature, Fault> {
    let unknown = || {
        let place = place_of_language(text);
        Fault { place, scenario: None, flaw: Flaw::UnknownLanguage(language.to_owned()) }
    };
    let env = GherkinEnv::new(language).map_err(|_| unknown())?;
    // The grammar knows one kind of line end and no mark of a byte order. Places stay what they are.
    let plain: String = lines(text)
        .map(|line| line.trim_end_matches(['\n', '\r']))
        .fold(String::with_capacity(text.len()), |whole, line| {
            whole + line.trim_start_matches('\u{feff}') + "\n"
        });
    let parsed = gherkin::Feature::parse(&plain, env).map_err(|error| {
        let flaw = Flaw::Ungrammatical(language.to_owned());
        Fault { place: place_in(&error.to_string()), scenario: None, flaw }
    })?;
    Ok(feature(text, parsed))
}

/// Finds the place in the words of the grammar, `Error at 3:5: …`, which it gives in no other way. What it would have
/// taken instead is a set of its own signs, in no order.
fn place_in(words: &str) -> Place {
    let mut numbers = words.split(|char: char| !char.is_ascii_digit()).filter(|n| !n.is_empty());
    let mut number = || numbers.next().and_then(|number| number.parse().ok()).unwrap_or(1);
    Place { line: number(), column: number() }
}

fn place_of_language(text: &str) -> Place {
    let line = numbered(lines(text)).find(|(_, line)| line.contains("language"));
    line.map_or(Place::START, |(line, _)| Place { line, column: 1 })
}

fn feature(text: &str, parsed: gherkin::Feature) -> Feature {
    let mut building = Building { text, feature: Feature::default() };
    building.feature.place = place(parsed.position);
    building.feature.name = parsed.name;
    building.feature.description = parsed.description.map(|text| text.trim().to_owned());
    building.section(parsed.position, &[]);
    if let Some(background) = parsed.background {
        building.section(background.position, &[]);
    }
    for scenario in parsed.scenarios {
        building.scenario(scenario, &[]);
    }
    for rule in parsed.rules {
        let tags = marked(&rule.tags);
        building.section(rule.position, &tags);
        if let Some(background) = rule.background {
            building.section(background.position, &tags);
        }
        for scenario in rule.scenarios {
            building.scenario(scenario, &tags);
        }
    }
    building.feature
}

struct Building<'a> {
    text: &'a str,
    feature: Feature,
}

impl Building<'_> {
    fn scenario(&mut self, parsed: gherkin::Scenario, inherited: &[String]) {
        let tags = [inherited, &marked(&parsed.tags)].concat();
        self.section(parsed.position, &tags);
        let kind =
            if parsed.examples.is_empty() { ScenarioKind::Plain } else { ScenarioKind::Outline };
        let steps = parsed.steps.into_iter().map(step).collect();
        let place = place(parsed.position);
        self.feature.scenarios.push(Scenario { name: parsed.name, place, steps, kind, tags });
    }

    /// Begins a section at a header, or at the first of the lines of tags before it.
    fn section(&mut self, header: LineCol, tags: &[String]) {
        let header = place(header).line;
        let before: Vec<(u32, &str)> =
            numbered(lines(self.text)).take_while(|(line, _)| *line < header).collect();
        let belongs = |line: &str| line.is_empty() || line.starts_with(['@', '#']);
        let run = before.into_iter().rev().take_while(|(_, line)| belongs(line.trim()));
        let first_tags = run.filter(|(_, line)| line.trim().starts_with('@')).last();
        let first_line = first_tags.map_or(header, |(line, _)| line);
        self.feature.sections.push(Section { first_line, tags: tags.to_vec() });
    }
}

fn step(parsed: gherkin::Step) -> Step {
    let keyword = match parsed.ty {
        StepType::Given => Keyword::Given,
        StepType::When => Keyword::When,
        StepType::Then => Keyword::Then,
    };
    Step { keyword, text: parsed.value.trim().to_owned(), place: place(parsed.position) }
}

fn marked(tags: &[String]) -> Vec<String> {
    tags.iter().map(|tag| format!("@{tag}")).collect()
}

fn place(at: LineCol) -> Place {
    let narrow = |count: usize| u32::try_from(count.max(1)).unwrap_or(u32::MAX);
    Place { line: narrow(at.line), column: narrow(at.col) }
}
