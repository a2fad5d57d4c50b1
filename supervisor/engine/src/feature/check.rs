//! What makes a feature file no description of behaviour (spec `cli-core` 8).

use std::collections::BTreeSet;
use std::fmt;

use thiserror::Error;

use crate::level::Level;

use super::{Feature, Keyword, Place, Scenario, ScenarioKind, read};

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// Which scenario of the file, from 0, if it is in one.
    pub scenario: Option<usize>,
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
    /// A scenario that says what comes out and not of what.
    #[error("the scenario '{scenario}' has only Then steps")]
    OnlyThen {
        /// Its name.
        scenario: String,
    },
    /// Two scenarios of one name, which cannot be told apart.
    #[error("a scenario before this one is called '{scenario}' too")]
    SameName {
        /// The name.
        scenario: String,
    },
    /// An outline that says the same for each of its examples.
    #[error("the outline '{scenario}' has no <placeholder> in any step")]
    NoPlaceholder {
        /// Its name.
        scenario: String,
    },
    /// A doc string that nobody ends.
    #[error(
        "the text that begins here is never closed, so that the rest of the file is part of it"
    )]
    OpenText,
    /// A language that has no words.
    #[error("the language '{0}' is not known")]
    UnknownLanguage(String),
    /// A file in another language that is not in its grammar.
    #[error("this does not fit the grammar of features in the language '{0}'")]
    Ungrammatical(String),
}

impl Flaw {
    /// Says how much it weighs.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::OnlyThen { .. } | Self::SameName { .. } => Level::Warning,
            Self::NoPlaceholder { .. } => Level::Info,
            Self::Unnamed
            | Self::NoScenario
            | Self::UnnamedScenario
            | Self::NoSteps { .. }
            | Self::EmptyStep { .. }
            | Self::Lacks { .. }
            | Self::OpenText
            | Self::UnknownLanguage(_)
            | Self::Ungrammatical(_) => Level::Error,
        }
    }
}

/// Finds everything that is wrong with the text of a feature file, in the order of its lines.
#[must_use]
pub fn check(text: &str) -> Vec<Fault> {
    match read(text) {
        Ok(feature) => check_feature(&feature),
        Err(fault) => vec![fault],
    }
}

/// Finds everything that is wrong with a feature that was read.
#[must_use]
pub fn check_feature(feature: &Feature) -> Vec<Fault> {
    let of_file = |place, flaw| Fault { place, scenario: None, flaw };
    let mut faults = Vec::new();
    if feature.name.is_empty() {
        faults.push(of_file(feature.place, Flaw::Unnamed));
    }
    if feature.scenarios.is_empty() {
        faults.push(of_file(feature.place, Flaw::NoScenario));
    }
    faults.extend(feature.open_text.map(|place| of_file(place, Flaw::OpenText)));
    let mut names = BTreeSet::new();
    for (index, scenario) in feature.scenarios.iter().enumerate() {
        let is_new = scenario.name.is_empty() || names.insert(scenario.name.to_lowercase());
        let mut found = check_scenario(scenario);
        if !is_new {
            let scenario_name = scenario.name.clone();
            found.insert(0, (scenario.place, Flaw::SameName { scenario: scenario_name }));
        }
        let fault = |(place, flaw)| Fault { place, scenario: Some(index), flaw };
        faults.extend(found.into_iter().map(fault));
    }
    faults.sort_by_key(|fault| (fault.place.line, fault.place.column));
    faults
}

fn check_scenario(scenario: &Scenario) -> Vec<(Place, Flaw)> {
    let Scenario { name, place, steps, kind, .. } = scenario;
    let name = || name.clone();
    let mut found = Vec::new();
    if scenario.name.is_empty() {
        found.push((*place, Flaw::UnnamedScenario));
    }
    if steps.is_empty() {
        found.push((*place, Flaw::NoSteps { scenario: name() }));
        return found;
    }
    let has = |keyword: Keyword| steps.iter().any(|step| step.keyword == keyword);
    for keyword in [Keyword::Given, Keyword::When, Keyword::Then] {
        if !has(keyword) {
            found.push((*place, Flaw::Lacks { scenario: name(), keyword }));
        }
    }
    if has(Keyword::Then) && !has(Keyword::Given) && !has(Keyword::When) {
        found.push((*place, Flaw::OnlyThen { scenario: name() }));
    }
    if *kind == ScenarioKind::Outline && !steps.iter().any(|step| has_placeholder(&step.text)) {
        found.push((*place, Flaw::NoPlaceholder { scenario: name() }));
    }
    let empty = steps.iter().filter(|step| step.text.is_empty());
    found.extend(empty.map(|step| (step.place, Flaw::EmptyStep { keyword: step.keyword })));
    found
}

fn has_placeholder(text: &str) -> bool {
    text.split_once('<').is_some_and(|(_, rest)| rest.find('>').is_some_and(|end| end > 0))
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}, column {})", self.flaw, self.place.line, self.place.column)
    }
}
