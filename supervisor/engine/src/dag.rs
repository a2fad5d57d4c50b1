//! The order of changes inside a phase: duplicates, unknown references and cycles are refused
//! (spec `batch-manifest-and-settings` 2.3).
//!
//! An `after` never crosses phases: phases are in order anyway.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::manifest::{ChangeIntent, Phase};
use crate::name::{ChangeName, PhaseName};

#[cfg(test)]
mod tests;

/// Says why the changes of a phase have no order.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DagError {
    /// Two changes of one name.
    #[error("Duplicate change intent: '{name}'")]
    Duplicate {
        /// The name.
        name: ChangeName,
    },
    /// An `after` names no change of the phase.
    #[error(
        "Change '{change}' has an after edge to '{target}', which is no change of its phase (unknown reference)"
    )]
    UnknownReference {
        /// The change that has the `after`.
        change: ChangeName,
        /// What it names.
        target: ChangeName,
    },
    /// Changes wait for each other.
    #[error("Cycle detected in after edges involving: {}", joined(.members))]
    Cycle {
        /// All changes that can never start, sorted.
        members: Vec<ChangeName>,
    },
}

/// A [`DagError`] with its phase and its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("phase '{phase}': {error}{}", located(.place))]
pub struct Misordered {
    /// The phase.
    pub phase: PhaseName,
    /// What is wrong with it.
    pub error: DagError,
    /// Where the change begins that has the problem, or the first of them: line and column, from 1.
    pub place: Option<(u32, u32)>,
}

/// As [`check`], with places.
#[must_use]
pub fn misordered(phase: &Phase) -> Vec<Misordered> {
    let located = |error: DagError| Misordered {
        phase: phase.name.clone(),
        place: place(phase, &error),
        error,
    };
    check(phase).into_iter().map(located).collect()
}

fn place(phase: &Phase, error: &DagError) -> Option<(u32, u32)> {
    let mut changes = phase.changes.iter();
    let change = match error {
        DagError::Duplicate { name } => changes.filter(|change| change.name == *name).nth(1),
        DagError::UnknownReference { change: name, .. } => {
            changes.find(|change| change.name == *name)
        }
        DagError::Cycle { members } => changes.find(|change| members.contains(&change.name)),
    };
    change?.place
}

/// Finds everything that is wrong with the `after`s of one phase: first duplicates, then unknown references in file
/// order, then the cycle.
#[must_use]
pub fn check(phase: &Phase) -> Vec<DagError> {
    let mut errors = duplicates(phase);
    let names = names(phase);
    for change in &phase.changes {
        for target in change.after.iter().filter(|target| !names.contains(target)) {
            errors.push(DagError::UnknownReference {
                change: change.name.clone(),
                target: target.clone(),
            });
        }
    }
    let sorted: BTreeSet<&ChangeName> = sort(phase).into_iter().collect();
    let stuck: Vec<ChangeName> = names.difference(&sorted).map(|name| (*name).clone()).collect();
    if !stuck.is_empty() {
        errors.push(DagError::Cycle { members: stuck });
    }
    errors
}

/// Gives the changes of a phase in an order that respects every `after`; ties are broken by the alphabet.
///
/// # Errors
/// The first thing [`check`] finds.
pub fn order(phase: &Phase) -> Result<Vec<&ChangeName>, DagError> {
    match check(phase).into_iter().next() {
        Some(error) => Err(error),
        None => Ok(sort(phase)),
    }
}

/// Gives the dependencies of a change that are not done, sorted and each once.
#[must_use]
pub fn unmet<'a>(change: &'a ChangeIntent, done: &BTreeSet<&ChangeName>) -> Vec<&'a ChangeName> {
    let unmet: BTreeSet<&ChangeName> =
        change.after.iter().filter(|target| !done.contains(target)).collect();
    unmet.into_iter().collect()
}

/// Gives the changes that are not done and wait for nothing, sorted.
#[must_use]
pub fn ready<'a>(phase: &'a Phase, done: &BTreeSet<&ChangeName>) -> Vec<&'a ChangeName> {
    let mut ready: Vec<&ChangeName> = open(phase, done)
        .filter(|change| unmet(change, done).is_empty())
        .map(|change| &change.name)
        .collect();
    ready.sort();
    ready
}

/// Gives for each change that waits what it waits for.
#[must_use]
pub fn blocked<'a>(
    phase: &'a Phase,
    done: &BTreeSet<&ChangeName>,
) -> BTreeMap<&'a ChangeName, Vec<&'a ChangeName>> {
    open(phase, done)
        .map(|change| (&change.name, unmet(change, done)))
        .filter(|(_, unmet)| !unmet.is_empty())
        .collect()
}

fn names(phase: &Phase) -> BTreeSet<&ChangeName> {
    phase.changes.iter().map(|change| &change.name).collect()
}

fn open<'a>(
    phase: &'a Phase,
    done: &BTreeSet<&ChangeName>,
) -> impl Iterator<Item = &'a ChangeIntent> {
    phase.changes.iter().filter(|change| !done.contains(&change.name))
}

fn duplicates(phase: &Phase) -> Vec<DagError> {
    let mut seen = BTreeSet::new();
    let mut twice = BTreeSet::new();
    let repeats =
        phase.changes.iter().map(|change| &change.name).filter(|name| !seen.insert(*name));
    repeats
        .filter(|name| twice.insert(*name))
        .map(|name| DagError::Duplicate { name: name.clone() })
        .collect()
}

/// Kahn's sort. Unknown references are ignored; what is in a cycle, or behind one, is left out.
fn sort(phase: &Phase) -> Vec<&ChangeName> {
    let names = names(phase);
    let mut waits_for: BTreeMap<&ChangeName, BTreeSet<&ChangeName>> =
        names.iter().map(|name| (*name, BTreeSet::new())).collect();
    let mut waited_on_by: BTreeMap<&ChangeName, Vec<&ChangeName>> = BTreeMap::new();
    for change in &phase.changes {
        for target in change.after.iter().filter(|target| names.contains(target)) {
            let is_new = waits_for.get_mut(&change.name).is_some_and(|waits| waits.insert(target));
            if is_new {
                waited_on_by.entry(target).or_default().push(&change.name);
            }
        }
    }
    let mut free: BTreeSet<&ChangeName> =
        waits_for.iter().filter(|(_, waits)| waits.is_empty()).map(|(name, _)| *name).collect();
    let mut sorted = Vec::new();
    while let Some(name) = free.pop_first() {
        sorted.push(name);
        for waiting in waited_on_by.remove(name).unwrap_or_default() {
            let is_free = waits_for
                .get_mut(waiting)
                .is_some_and(|waits| waits.remove(name) && waits.is_empty());
            if is_free {
                free.insert(waiting);
            }
        }
    }
    sorted
}

fn located(place: &Option<(u32, u32)>) -> String {
    place.map(|(line, column)| format!(" (line {line}, column {column})")).unwrap_or_default()
}

fn joined(members: &[ChangeName]) -> String {
    let names: Vec<&str> = members.iter().map(ChangeName::as_str).collect();
    names.join(", ")
}
