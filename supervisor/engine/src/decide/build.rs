//! Builds the plan for a picked target: the step with its frame, its transition and what a person said.

use super::{Halt, Plan, PriorPhase, Proving, Resume, Step, Work};
use crate::name::{ChangeName, StepKey};
use crate::park::{Park, Standing};
use crate::selection::Target;
use crate::snapshot::Snapshot;
use crate::transition::{Transition, next_transition};

/// Builds the plan for a target that was picked from the same snapshot.
pub(super) fn plan(snapshot: &Snapshot, target: Target) -> Plan {
    let phases = &snapshot.manifest.phases;
    match target {
        Target::Change { phase, change } => {
            let intent = &phases[phase].changes[change];
            let work = Work::Change {
                change: intent.name.clone(),
                done: intent.done.clone(),
                transition: transition(snapshot, &intent.name),
            };
            spawn(snapshot, StepKey::of_change(&intent.name), phase, work)
        }
        Target::Decompose { phase } => {
            let key = StepKey::of_decomposition(&phases[phase].name);
            spawn(snapshot, key, phase, Work::Decompose { prior: prior(snapshot, phase) })
        }
        Target::PullRequest { key, phase, group, changes } => {
            spawn(snapshot, key, phase, Work::PullRequest { group, changes, branches: None })
        }
        Target::Proof { phase } => Plan::Prove(Proving {
            phase: phases[phase].name.clone(),
            proof: phases[phase].proof.clone(),
        }),
        Target::Parked(keys) => Plan::Parked(halts(snapshot, keys)),
        Target::Idle(idle) => Plan::Idle(idle),
    }
}

fn spawn(snapshot: &Snapshot, key: StepKey, phase: usize, work: Work) -> Plan {
    let resume = snapshot.parks.get(&key).and_then(Resume::of);
    Plan::Spawn(Box::new(Step {
        batch: Some(snapshot.batch.clone()),
        key,
        phase: snapshot.manifest.phases[phase].clone(),
        work,
        resume,
        guidance: None,
    }))
}

/// Derives a change's transition from disk, except that a rejected step runs again as what it was (OQ-5), and so does one
/// that was cut short: what it left half done is not to be taken for its result.
fn transition(snapshot: &Snapshot, change: &ChangeName) -> Transition {
    let key = StepKey::of_change(change);
    let again = snapshot.parks.get(&key).filter(|park| match park.standing() {
        Standing::Rejected(_) | Standing::Retry => true,
        Standing::Unresolved | Standing::Answered(_) | Standing::Approved => false,
    });
    again
        .and_then(|park| park.transition)
        .and_then(crate::transition::StepKind::transition)
        .or_else(|| next_transition(&snapshot.facts(change), &key, &snapshot.journal))
        // A journaled verify whose approval is open is not done, and has no other step than itself (OQ-4).
        .unwrap_or(Transition::Verify)
}

fn prior(snapshot: &Snapshot, phase: usize) -> Vec<PriorPhase> {
    let earlier = &snapshot.manifest.phases[..phase];
    earlier
        .iter()
        .filter(|phase| !phase.changes.is_empty())
        .map(|phase| PriorPhase {
            name: phase.name.clone(),
            changes: phase.changes.iter().map(|c| (c.name.clone(), c.done.clone())).collect(),
        })
        .collect()
}

fn halts(snapshot: &Snapshot, keys: Vec<StepKey>) -> Vec<Halt> {
    keys.into_iter()
        .filter_map(|key| {
            let park = snapshot.parks.get(&key)?.clone();
            Some(Halt { key, park })
        })
        .collect()
}

impl Resume {
    /// Gives what a person said about a parked step; `None` while nobody has.
    #[must_use]
    pub fn of(park: &Park) -> Option<Self> {
        let reason = park.reason.clone();
        match park.standing() {
            Standing::Unresolved | Standing::Retry => None,
            Standing::Answered(answer) => {
                Some(Self::Answered { question: reason, answer: answer.to_owned() })
            }
            Standing::Approved => Some(Self::Approved { summary: reason }),
            Standing::Rejected(feedback) => {
                Some(Self::Rejected { summary: reason, feedback: feedback.to_owned() })
            }
        }
    }

    /// Says whether the step runs because a person answered or rejected it, so that its completion has been asked for and
    /// need not park again (spec `step-and-outcome` 7).
    #[must_use]
    pub fn is_reply(&self) -> bool {
        match self {
            Self::Answered { .. } | Self::Rejected { .. } => true,
            Self::Approved { .. } => false,
        }
    }
}
