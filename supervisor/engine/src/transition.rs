//! What can be done next to a change, and what kind of step does it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::change::ChangeFacts;
use crate::fold::JournalView;
use crate::name::StepKey;

/// One forced move of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transition {
    /// Author the change's features and plan.
    Propose,
    /// Carry out the plan's tasks.
    Apply,
    /// Check the result against the plan and say so.
    Verify,
}

/// What one step does: a transition of a change, the decomposition of a phase, or opening a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// See [`Transition::Propose`].
    Propose,
    /// See [`Transition::Apply`].
    Apply,
    /// See [`Transition::Verify`].
    Verify,
    /// Author a phase's changes into the manifest.
    Decompose,
    /// Open one pull request.
    Pr,
}

/// Derives the next transition of a change from its folder and its journal. The seed calls it `computeNextTransition`
/// (spec `step-and-outcome` 2.1). `None`: nothing is left to do.
///
/// Parks are not asked: a step that was rejected runs again whatever this says ([`crate::decide`]).
#[must_use]
pub fn next_transition(
    facts: &ChangeFacts,
    key: &StepKey,
    journal: &JournalView,
) -> Option<Transition> {
    if facts.archived {
        None
    } else if !facts.exists || !facts.has_plan {
        Some(Transition::Propose)
    } else if !facts.applied() {
        Some(Transition::Apply)
    } else if journal.verified.contains(key) {
        None
    } else {
        Some(Transition::Verify)
    }
}

impl Transition {
    /// Returns the word used in files, JSON and commands.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        StepKind::from(self).as_str()
    }
}

impl StepKind {
    /// Every kind, in the order in which a batch meets them.
    pub const ALL: [Self; 5] =
        [Self::Propose, Self::Apply, Self::Verify, Self::Pr, Self::Decompose];

    /// Returns the word used in files, JSON and commands.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Apply => "apply",
            Self::Verify => "verify",
            Self::Decompose => "decompose",
            Self::Pr => "pr",
        }
    }

    /// Returns the transition of a change that this kind is, if it is one.
    #[must_use]
    pub fn transition(self) -> Option<Transition> {
        match self {
            Self::Propose => Some(Transition::Propose),
            Self::Apply => Some(Transition::Apply),
            Self::Verify => Some(Transition::Verify),
            Self::Decompose | Self::Pr => None,
        }
    }
}

impl From<Transition> for StepKind {
    fn from(transition: Transition) -> Self {
        match transition {
            Transition::Propose => Self::Propose,
            Transition::Apply => Self::Apply,
            Transition::Verify => Self::Verify,
        }
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: ChangeFacts = ChangeFacts {
        exists: false,
        archived: false,
        has_plan: false,
        tasks_total: 0,
        tasks_complete: 0,
    };
    const FOLDER: ChangeFacts = ChangeFacts { exists: true, ..ABSENT };

    fn plan(complete: u64, total: u64) -> ChangeFacts {
        ChangeFacts { has_plan: true, tasks_total: total, tasks_complete: complete, ..FOLDER }
    }

    fn next(facts: ChangeFacts, verified: &[&str]) -> Option<Transition> {
        let journal = JournalView {
            verified: verified.iter().map(|key| StepKey::from_text(key)).collect(),
            ..JournalView::default()
        };
        next_transition(&facts, &StepKey::from_text("api"), &journal)
    }

    // B-J01
    #[test]
    fn a_change_without_a_folder_is_proposed() {
        assert_eq!(next(ABSENT, &[]), Some(Transition::Propose));
    }

    // B-J02
    #[test]
    fn a_folder_without_a_plan_is_proposed() {
        assert_eq!(next(FOLDER, &[]), Some(Transition::Propose));
    }

    // B-J03
    #[test]
    fn a_plan_with_open_tasks_is_applied_and_so_is_one_without_any() {
        assert_eq!(next(plan(1, 3), &[]), Some(Transition::Apply));
        assert_eq!(next(plan(0, 0), &[]), Some(Transition::Apply));
    }

    // B-J04
    #[test]
    fn a_finished_plan_is_verified_unless_its_own_verify_is_journaled() {
        assert_eq!(next(plan(3, 3), &[]), Some(Transition::Verify));
        assert_eq!(next(plan(3, 3), &["web"]), Some(Transition::Verify));
    }

    // B-J05
    #[test]
    fn a_verified_change_has_nothing_left() {
        assert_eq!(next(plan(3, 3), &["api"]), None);
    }

    // B-H31
    #[test]
    fn an_unticked_task_reopens_a_verified_change() {
        assert_eq!(next(plan(2, 3), &["api"]), Some(Transition::Apply));
    }

    // B-J07
    #[test]
    fn an_archived_change_has_nothing_left() {
        let archived = ChangeFacts { archived: true, ..ABSENT };
        assert_eq!(next(archived, &[]), None);
    }

    // B-J06
    #[test]
    fn the_canonical_order_is_propose_apply_verify() {
        let disk = [ABSENT, plan(0, 2), plan(2, 2)];
        let order: Vec<_> = disk.into_iter().filter_map(|facts| next(facts, &[])).collect();
        assert_eq!(order, [Transition::Propose, Transition::Apply, Transition::Verify]);
    }
}
