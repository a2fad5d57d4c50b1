//! What a plan must say (spec `cli-core` 3.3 and 8): why, what changes, how, and the tasks. Reading it is the store's; how
//! far it is carried out, [`crate::change`]'s.

use thiserror::Error;

use crate::change;
use crate::level::Level;
use crate::markdown::{Section, sections};

#[cfg(test)]
mod tests;

/// The headings that a plan must have, at any level and in any case.
pub const SECTIONS: [&str; 4] = ["Why", "What Changes", "Design", "Tasks"];

const SHORTEST_WHY: usize = 50;
const LONGEST_WHY: usize = 1000;

/// Something that is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFault {
    /// The line of the heading that it is about, from 1; `None` if it is about the whole.
    pub line: Option<u32>,
    /// What is wrong.
    pub flaw: PlanFlaw,
}

/// What can be wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanFlaw {
    /// Headings that are not there.
    #[error("these sections are missing: {}", .0.join(", "))]
    Missing(Vec<&'static str>),
    /// Nothing changes.
    #[error("the section 'What Changes' is empty")]
    NothingChanges,
    /// Nothing is to be done.
    #[error("the section 'Tasks' has no task; write one as '- [ ] what to do'")]
    NoTask,
    /// Too little.
    #[error("the section 'Why' has {0} characters; {SHORTEST_WHY} or more say enough")]
    ShortWhy(usize),
    /// Too much.
    #[error("the section 'Why' has {0} characters; at most {LONGEST_WHY} are read")]
    LongWhy(usize),
}

impl PlanFlaw {
    /// Says how much it weighs.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::Missing(_) | Self::NothingChanges | Self::NoTask => Level::Error,
            Self::ShortWhy(_) | Self::LongWhy(_) => Level::Warning,
        }
    }
}

/// Finds everything that is wrong with the text of a plan.
#[must_use]
pub fn check(text: &str) -> Vec<PlanFault> {
    let sections = sections(text);
    let find =
        |name: &str| sections.iter().find(|section| section.title.eq_ignore_ascii_case(name));
    let missing: Vec<&'static str> =
        SECTIONS.into_iter().filter(|name| find(name).is_none()).collect();
    let mut faults = Vec::new();
    if !missing.is_empty() {
        faults.push(PlanFault { line: None, flaw: PlanFlaw::Missing(missing) });
    }
    let [why, what, _, tasks] = SECTIONS.map(find);
    let found = [why.and_then(check_why), what.and_then(check_what), tasks.and_then(check_tasks)];
    faults.extend(found.into_iter().flatten());
    faults
}

fn check_why(section: &Section<'_>) -> Option<PlanFault> {
    let length = section.body.trim().chars().count();
    let flaw = match length {
        ..SHORTEST_WHY => PlanFlaw::ShortWhy(length),
        SHORTEST_WHY..=LONGEST_WHY => return None,
        _ => PlanFlaw::LongWhy(length),
    };
    Some(PlanFault { line: Some(section.line), flaw })
}

fn check_what(section: &Section<'_>) -> Option<PlanFault> {
    let is_blank = section.body.trim().is_empty();
    is_blank.then_some(PlanFault { line: Some(section.line), flaw: PlanFlaw::NothingChanges })
}

fn check_tasks(section: &Section<'_>) -> Option<PlanFault> {
    let (count, _) = change::count_tasks(section.body);
    (count == 0).then_some(PlanFault { line: Some(section.line), flaw: PlanFlaw::NoTask })
}
