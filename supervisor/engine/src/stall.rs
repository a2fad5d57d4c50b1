//! Whether a step that advanced moved anything. What a completion claims is held against the disk for the steps of a
//! change; a decomposition and a pull request are believed, so a caller that runs one step after the other asks here
//! before it starts the same one again.

use std::collections::BTreeMap;

use crate::change::ChangeFacts;
use crate::decide::{self, Plan};
use crate::fold::JournalView;
use crate::manifest::Phase;
use crate::name::ChangeName;
use crate::outcome::{StepResult, StepState};
use crate::snapshot::Snapshot;

/// What work leaves behind: the phases, the folders of the changes, and what the journal amounts to. Reports and parks
/// are no work.
#[derive(Debug, Clone, PartialEq)]
pub struct Ground {
    phases: Vec<Phase>,
    changes: BTreeMap<ChangeName, ChangeFacts>,
    journal: JournalView,
}

impl Ground {
    /// Takes from a snapshot what work leaves behind.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        Self {
            phases: snapshot.manifest.phases.clone(),
            changes: snapshot.changes.clone(),
            journal: snapshot.journal.clone(),
        }
    }
}

/// Says whether a step advanced, left nothing behind, and would only be run once more.
#[must_use]
pub fn is_stalled(before: &Ground, step: &StepResult, now: &Snapshot) -> bool {
    let comes_again = || match decide::decide(now) {
        Ok(Plan::Spawn(next)) => next.key == step.change && next.kind() == step.transition,
        Ok(Plan::Prove(_) | Plan::Parked(_) | Plan::Idle(_)) | Err(_) => false,
    };
    step.state == StepState::Advanced && *before == Ground::of(now) && comes_again()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::StepKey;
    use crate::sketch::Sketch;
    use crate::transition::StepKind;

    fn advanced(key: &str, kind: StepKind) -> StepResult {
        StepResult::new(StepState::Advanced, StepKey::from_text(key), kind)
    }

    fn stalled(before: &Sketch, step: &StepResult, now: &Sketch) -> bool {
        is_stalled(&Ground::of(&before.0), step, &now.0)
    }

    #[test]
    fn a_decomposition_that_wrote_no_change_would_only_run_again() {
        let empty = Sketch::new(&[("p1", &[])]);
        let step = advanced("p1", StepKind::Decompose);
        assert!(stalled(&empty, &step, &empty));
        assert!(!stalled(&empty, &step, &Sketch::new(&[("p1", &["api"])])));
        let blocked = StepResult { state: StepState::Blocked, ..step };
        assert!(!stalled(&empty, &blocked, &empty));
    }

    #[test]
    fn a_step_that_comes_again_because_there_is_more_of_it_is_not_stalled() {
        let half = |done| Sketch::new(&[("p1", &["api"])]).plan("api", done, 3);
        let step = advanced("api", StepKind::Apply);
        assert!(!stalled(&half(1), &step, &half(2)));
        // A rejected result is mended without a box being ticked; a verify follows.
        assert!(!stalled(&half(3), &step, &half(3)));
    }
}
