//! When one of the verbs `propose`, `apply` and `verify` may run on a change of its own, and what a new change is called
//! (spec `agents-and-runtimes` 9). Asked before settings are read and long before anything is spawned.

use ratchet_engine::change::ChangeFacts;
use ratchet_engine::name::{ChangeName, NameError};
use ratchet_engine::transition::Transition;
use thiserror::Error;

use super::Project;
use crate::error::Error;
use crate::store::change;

/// Whether a change that is not ready is moved all the same. One that is missing never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It must be ready.
    Required,
    /// `--force`
    Waived,
}

/// Why a verb may not run.
#[derive(Debug, Error)]
pub enum VerbError {
    /// No `--name`, and nothing in the objective that a name could be made of.
    #[error("Could not derive a change name from the objective")]
    NoName,
    /// `--name` is no name.
    #[error("{0}")]
    BadName(NameError),
    /// A change of that name is there.
    #[error("Change '{0}' already exists")]
    Exists(ChangeName),
    /// No change of that name is there.
    #[error("Change '{0}' does not exist")]
    Missing(ChangeName),
    /// The change has no plan to carry out.
    #[error("Change '{0}' has no plan.md")]
    NoPlan(ChangeName),
    /// The plan has open tasks, or none at all.
    #[error("Change '{change}' has unfinished tasks ({complete}/{total} done)")]
    OpenTasks {
        /// The change.
        change: ChangeName,
        /// Its ticked tasks.
        complete: u64,
        /// All its tasks.
        total: u64,
    },
}

impl VerbError {
    /// Returns a name that never changes.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoName | Self::BadName(_) => "bad-change-name",
            Self::Exists(_) => "change-exists",
            Self::Missing(_) => "change-not-found",
            Self::NoPlan(_) | Self::OpenTasks { .. } => "change-not-ready",
        }
    }

    /// Says what to type next.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::NoName | Self::BadName(_) => {
                "name it in kebab-case: --name add-search".to_owned()
            }
            Self::Exists(change) => {
                format!("give another name with --name, or go on with it: 'ratchet apply {change}'")
            }
            Self::Missing(_) => "start it with 'ratchet propose \"<objective>\"'".to_owned(),
            Self::NoPlan(_) => "propose it first, or run it all the same with --force".to_owned(),
            Self::OpenTasks { change, .. } => {
                format!(
                    "finish them with 'ratchet apply {change}', or check it as it is with --force"
                )
            }
        }
    }
}

impl Project {
    /// Names a change that is to be proposed: as asked, or after its objective.
    ///
    /// # Errors
    /// [`VerbError::NoName`] and [`VerbError::BadName`].
    pub fn name_proposal(&self, objective: &str, name: Option<&str>) -> Result<ChangeName, Error> {
        let name = match name {
            Some(name) => ChangeName::parse_new(name).map_err(VerbError::BadName),
            None => match slug(objective) {
                slug if slug.is_empty() => Err(VerbError::NoName),
                slug => ChangeName::parse(&slug).map_err(VerbError::BadName),
            },
        };
        Ok(name?)
    }

    /// Checks that a change can be moved.
    ///
    /// # Errors
    /// The rest of [`VerbError`]; [`Error::File`] if the change cannot be looked at.
    pub fn admit(
        &self,
        change: &ChangeName,
        transition: Transition,
        readiness: Readiness,
    ) -> Result<(), Error> {
        let facts = change::facts_of(self.layout(), change)?;
        Ok(judged(change, transition, readiness, facts)?)
    }
}

fn judged(
    change: &ChangeName,
    transition: Transition,
    readiness: Readiness,
    facts: ChangeFacts,
) -> Result<(), VerbError> {
    let ready = match (transition, facts.exists) {
        (Transition::Propose, true) => return Err(VerbError::Exists(change.clone())),
        (Transition::Propose, false) => return Ok(()),
        (Transition::Apply | Transition::Verify, false) => {
            return Err(VerbError::Missing(change.clone()));
        }
        (Transition::Apply, true) if facts.has_plan => Ok(()),
        (Transition::Apply, true) => Err(VerbError::NoPlan(change.clone())),
        (Transition::Verify, true) if facts.applied() => Ok(()),
        (Transition::Verify, true) => Err(VerbError::OpenTasks {
            change: change.clone(),
            complete: facts.tasks_complete,
            total: facts.tasks_total,
        }),
    };
    match readiness {
        Readiness::Required => ready,
        Readiness::Waived => Ok(()),
    }
}

/// Makes a name of a text: lower case, every run of other characters than `a-z0-9` a hyphen, none at the ends.
fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    // B-X01
    #[test]
    fn a_name_is_made_of_the_objective() {
        assert_eq!(slug("  Weave: the Band (Ünder 3 h)! "), "weave-the-band-nder-3-h");
        assert_eq!(slug("--- !"), "");
        assert_eq!(slug("3 bands"), "3-bands");
    }

    // B-X04 B-X07 B-X08 B-X10 B-X11
    #[test]
    fn force_lifts_what_is_missing_but_never_a_missing_change() {
        let change = ChangeName::parse("band").unwrap();
        let judge = |transition, readiness, facts| {
            judged(&change, transition, readiness, facts).err().map(|error| error.to_string())
        };
        let none = ChangeFacts::default();
        let bare = ChangeFacts { exists: true, ..none };
        let half = ChangeFacts { has_plan: true, tasks_total: 3, tasks_complete: 2, ..bare };
        let whole = ChangeFacts { tasks_complete: 3, ..half };
        let (required, waived) = (Readiness::Required, Readiness::Waived);
        assert_eq!(judge(Transition::Propose, required, none), None);
        assert!(judge(Transition::Propose, waived, bare).unwrap().contains("already exists"));
        for readiness in [required, waived] {
            assert!(judge(Transition::Apply, readiness, none).unwrap().contains("does not exist"));
            assert!(judge(Transition::Verify, readiness, none).unwrap().contains("does not exist"));
        }
        assert!(judge(Transition::Apply, required, bare).unwrap().contains("no plan.md"));
        assert_eq!(judge(Transition::Apply, waived, bare), None);
        assert_eq!(judge(Transition::Apply, required, half), None);
        let open = judge(Transition::Verify, required, half).unwrap();
        assert!(open.contains("unfinished tasks (2/3 done)"), "{open}");
        assert_eq!(judge(Transition::Verify, waived, half), None);
        assert_eq!(judge(Transition::Verify, required, whole), None);
    }
}
