//! A step without a batch: `ratchet propose`, `apply` and `verify` (spec `agents-and-runtimes` 9). The transition is the
//! verb's own; the phase that frames it is made up.

use super::{Resume, Step, Work};
use crate::manifest::{Phase, ProofKind, ProofOfWork};
use crate::name::{ChangeName, PhaseName, StepKey};
use crate::transition::Transition;

impl Step {
    /// Builds a step for one change on its own, with a forced transition.
    ///
    /// `objective` is what `propose` was given; without one the change's name stands for it.
    #[must_use]
    pub fn standalone(
        change: ChangeName,
        transition: Transition,
        objective: Option<&str>,
        guidance: Option<String>,
        resume: Option<Resume>,
    ) -> Self {
        let aim = objective.map_or_else(|| format!("the change '{change}'"), ToOwned::to_owned);
        Self {
            batch: None,
            key: StepKey::of_change(&change),
            phase: frame(&change, transition, &aim),
            work: Work::Change { done: done(&change, transition, &aim), change, transition },
            resume,
            guidance,
        }
    }
}

fn frame(change: &ChangeName, transition: Transition, aim: &str) -> Phase {
    let (goal, success) = match transition {
        Transition::Propose => (
            format!("Propose the change '{change}' for this objective: {aim}"),
            format!("'{change}' has features and a plan that lead to the objective"),
        ),
        Transition::Apply => (
            format!("Carry out the plan of the change '{change}'"),
            format!("every task of the plan of '{change}' is done and ticked"),
        ),
        Transition::Verify => (
            format!("Verify the change '{change}' against its scenarios"),
            format!("'{change}' has been verified and the verdict is known"),
        ),
    };
    Phase {
        name: PhaseName::parse(transition.as_str()).expect("a transition's word is not empty"),
        goal,
        success,
        proof: ProofOfWork {
            kind: ProofKind::Integration,
            run: "none: a step on its own closes no phase".to_owned(),
            pass: "exit 0".to_owned(),
        },
        changes: Vec::new(),
    }
}

fn done(change: &ChangeName, transition: Transition, aim: &str) -> String {
    match transition {
        Transition::Propose => {
            format!("the change '{change}' exists, with features and a plan toward: {aim}")
        }
        Transition::Apply => format!("all planned tasks of '{change}' are implemented and ticked"),
        Transition::Verify => format!("'{change}' is verified against its scenarios"),
    }
}
