//! The one walk that finds what can be worked on (spec `batch-status-and-selection` 4.2 and 5). [`crate::status`] asks it
//! for `next`, [`crate::decide`] for the target; [`pick`] adds what status does not show: the proof that comes first, and
//! the pull requests after the end. Nothing here builds a step.

use crate::decide::{Group, Idle};
use crate::gate::{self, Shut};
use crate::name::{ChangeName, PhaseName, StepKey};
use crate::pull_request;
use crate::snapshot::Snapshot;
use crate::status::{BatchStatus, ChangeStatus, Next, PhaseState, PhaseStatus};

/// How far the walk gets. Phases and changes are positions in the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// This change can be worked on.
    Change {
        /// The position of its phase.
        phase: usize,
        /// Its position in the phase.
        change: usize,
    },
    /// This phase can be decomposed.
    Decompose {
        /// Its position.
        phase: usize,
    },
    /// Every change is done; this is the first phase without a current proof.
    Proof {
        /// Its position.
        phase: usize,
    },
    /// Nothing can be worked on until a person frees these steps.
    Parked(Vec<StepKey>),
    /// Everything is done and proven.
    Finished,
    /// Nothing can be worked on; if a failed proof is the cause, this one.
    Stuck(Option<Shut>),
}

/// The one thing to do next. The seed calls it `ApplyTarget`. Phases and changes are positions in the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Target {
    /// A step of a change.
    Change {
        /// The position of its phase.
        phase: usize,
        /// Its position in the phase.
        change: usize,
    },
    /// The decomposition of a phase.
    Decompose {
        /// Its position.
        phase: usize,
    },
    /// The proof-of-work of a phase.
    Proof {
        /// Its position.
        phase: usize,
    },
    /// One pull request.
    PullRequest {
        /// The key of its journal entries and its park.
        key: StepKey,
        /// The position of the phase that frames it.
        phase: usize,
        /// Its group; `None` if it covers the whole batch.
        group: Option<Group>,
        /// The changes it covers.
        changes: Vec<ChangeName>,
    },
    /// Nothing, until a person frees these steps.
    Parked(Vec<StepKey>),
    /// Nothing.
    Idle(Idle),
}

/// Walks the phases in order. `phases` are those of the snapshot's manifest, with gates and parks laid over.
///
/// One pass, and nothing is looked at twice: a batch may have thousands of changes.
#[must_use]
pub fn walk(snapshot: &Snapshot, phases: &[PhaseStatus]) -> Reach {
    let mut parked = Vec::new();
    for (at, phase) in phases.iter().enumerate().filter(|(_, phase)| phase.gated_by.is_none()) {
        if let Some(change) = phase.changes.iter().position(is_runnable) {
            return Reach::Change { phase: at, change };
        }
        parked.extend(phase.changes.iter().filter(|c| is_held(snapshot, c)).map(key_of));
    }
    let open = phases.iter().enumerate().filter(|(_, phase)| phase.gated_by.is_none());
    for (at, phase) in open.filter(|(_, phase)| phase.changes.is_empty()) {
        let key = StepKey::of_decomposition(&phase.name);
        if snapshot.unresolved_park(&key).is_none() {
            return Reach::Decompose { phase: at };
        }
        parked.push(key);
    }
    if parked.is_empty() { walk_the_end(snapshot, phases) } else { Reach::Parked(parked) }
}

/// Picks the one thing to do next. The seed calls it `pickNextStep`. `status` is that of the same snapshot.
pub fn pick(snapshot: &Snapshot, status: &BatchStatus) -> Target {
    match walk(snapshot, &status.phases) {
        Reach::Change { phase, change } => match unproven_before(snapshot, phase) {
            Some(before) => Target::Proof { phase: before },
            None => Target::Change { phase, change },
        },
        Reach::Decompose { phase } => match unproven_before(snapshot, phase) {
            Some(before) => Target::Proof { phase: before },
            None => Target::Decompose { phase },
        },
        Reach::Proof { phase } => Target::Proof { phase },
        Reach::Parked(keys) => Target::Parked(keys),
        Reach::Finished => due_pull_request(snapshot),
        Reach::Stuck(Some(shut)) => Target::Idle(Idle::FailedProof {
            gated_by: shut.to_string(),
            phase: shut.phase().clone(),
        }),
        Reach::Stuck(None) => Target::Idle(Idle::NothingReady),
    }
}

impl Reach {
    /// Gives what status calls `next`.
    #[must_use]
    pub fn next(&self, phases: &[PhaseStatus]) -> Option<Next> {
        let name = |at: usize| phases[at].name.clone();
        match *self {
            Self::Change { phase, change } => Some(Next::Change {
                phase: name(phase),
                change: phases[phase].changes[change].name.clone(),
            }),
            Self::Decompose { phase } => Some(Next::Decompose { phase: name(phase) }),
            Self::Proof { phase } => Some(Next::Proof { phase: name(phase) }),
            Self::Parked(_) | Self::Finished | Self::Stuck(_) => None,
        }
    }
}

/// A change with open dependencies is never run, even if its folder is there (OQ-32).
fn is_runnable(change: &ChangeStatus) -> bool {
    change.status.is_workable() && change.blocked_by.is_empty()
}

/// Says whether nothing but its park keeps a change from running.
fn is_held(snapshot: &Snapshot, change: &ChangeStatus) -> bool {
    change.parked.is_some()
        && change.blocked_by.is_empty()
        && snapshot.unresolved_park(&key_of(change)).is_some()
}

fn key_of(change: &ChangeStatus) -> StepKey {
    StepKey::of_change(&change.name)
}

/// Looks at the proofs once there is no work left. The first phase without one is offered, not only the last, so that no
/// batch ends with a proof left un-run (OQ-9).
fn walk_the_end(snapshot: &Snapshot, phases: &[PhaseStatus]) -> Reach {
    let journal = &snapshot.journal;
    let all_done = phases.iter().all(|phase| phase.status == PhaseState::Done);
    if all_done && let Some(last) = phases.last() {
        if let Some(phase) = phases.iter().position(|phase| !is_proven(snapshot, &phase.name)) {
            return Reach::Proof { phase };
        }
        return match gate::failed_proof(&last.name, journal) {
            None => Reach::Finished,
            failed => Reach::Stuck(failed),
        };
    }
    let shut_by_proof = phases
        .windows(2)
        .filter_map(|pair| gate::shut(Some((&pair[0].name, pair[0].status)), journal))
        .find(|shut| matches!(shut, Shut::FailedProof { .. }));
    let last_failed = || phases.last().and_then(|last| gate::failed_proof(&last.name, journal));
    Reach::Stuck(shut_by_proof.or_else(last_failed))
}

/// Finds the phase in front, if its proof has no current record. A failed one is a record too: its gate is shut.
fn unproven_before(snapshot: &Snapshot, phase: usize) -> Option<usize> {
    let before = phase.checked_sub(1)?;
    let name = &snapshot.manifest.phases[before].name;
    (!is_proven(snapshot, name)).then_some(before)
}

fn is_proven(snapshot: &Snapshot, phase: &PhaseName) -> bool {
    snapshot.journal.proofs.contains_key(phase.as_str())
}

/// Gives the key and the changes of the pull request that a finished batch owes next, if it owes one.
#[must_use]
pub fn owed_pull_request(snapshot: &Snapshot) -> Option<(StepKey, Vec<ChangeName>)> {
    let Snapshot { batch, manifest, settings, journal, .. } = snapshot;
    let boundaries = pull_request::boundaries(manifest, batch, settings.pr_grouping);
    let due = pull_request::first_unopened(&boundaries, batch, &journal.opened_pull_requests)?;
    Some((due.key(batch), due.changes.clone()))
}

/// Finds the pull request that a finished batch still owes. Groups are stacked, so a parked one holds the rest.
fn due_pull_request(snapshot: &Snapshot) -> Target {
    let Snapshot { batch, manifest, settings, journal, .. } = snapshot;
    let boundaries = pull_request::boundaries(manifest, batch, settings.pr_grouping);
    let opened = &journal.opened_pull_requests;
    let Some(due) = pull_request::first_unopened(&boundaries, batch, opened) else {
        return Target::Idle(Idle::Done);
    };
    let key = due.key(batch);
    if snapshot.unresolved_park(&key).is_some() {
        return Target::Parked(vec![key]);
    }
    Target::PullRequest {
        key,
        phase: due.phase,
        group: pull_request::group(&boundaries, due),
        changes: due.changes.clone(),
    }
}

#[cfg(test)]
mod tests;
