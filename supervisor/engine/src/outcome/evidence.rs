//! Holds a session against the disk (spec `step-and-outcome` 6.3 and 6.4): a claimed completion must agree with it, and
//! what appeared without a claim is told to the user.

use super::Session;
use crate::transition::{StepKind, Transition};

/// Says why the disk disagrees with a claimed completion; `None` if it agrees or if there is nothing to look at.
pub(super) fn mismatch(kind: StepKind, session: &Session, claim: &str) -> Option<&'static str> {
    let transition = kind.transition()?;
    let before = session.before.unwrap_or_default();
    let after = session.after.unwrap_or_default();
    match transition {
        Transition::Propose => (!(after.exists && after.has_plan)).then_some("no plan.md on disk"),
        Transition::Apply => {
            let moved = after.applied() || after.tasks_complete > before.tasks_complete;
            (!moved).then_some("no tasks checked off this session")
        }
        Transition::Verify if !after.applied() => {
            Some("change not applied (unchecked tasks remain)")
        }
        Transition::Verify => {
            (!has_verdict(claim)).then_some("no verification verdict in the completion")
        }
    }
}

/// Says what a session without a claim left on disk; `None` if nothing new.
pub(super) fn progress(kind: StepKind, session: &Session) -> Option<String> {
    let transition = kind.transition()?;
    let before = session.before.unwrap_or_default();
    let after = session.after.unwrap_or_default();
    match transition {
        Transition::Propose if after.has_plan && !before.has_plan => {
            Some("a change directory and plan.md were created on disk".to_owned())
        }
        Transition::Propose => (after.exists && !before.exists)
            .then(|| "a change directory was created on disk".to_owned()),
        Transition::Apply | Transition::Verify => {
            match after.tasks_complete.saturating_sub(before.tasks_complete) {
                0 => None,
                1 => Some("1 task was checked off on disk".to_owned()),
                more => Some(format!("{more} tasks were checked off on disk")),
            }
        }
    }
}

/// Looks for a verdict, of either polarity: a critical issue is a verdict too.
fn has_verdict(claim: &str) -> bool {
    let claim = claim.to_ascii_lowercase();
    claim.contains("ready for archive") || claim.contains("critical issue")
}
