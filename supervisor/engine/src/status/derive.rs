//! Derives a batch's status from its snapshot (spec `batch-status-and-selection` 2 to 4), phase by phase, in file order.
//! Done is asked from [`crate::change`], gates from [`crate::gate`], what comes next from [`crate::selection`].

use std::collections::BTreeSet;

use super::{
    BatchState, BatchStatus, ChangeState, ChangeStatus, DuePullRequest, ParkView, PhaseState,
    PhaseStatus, Progress,
};
use crate::change::{self, ChangeFacts};
use crate::dag::{self, Misordered};
use crate::gate;
use crate::manifest::{ChangeIntent, Phase};
use crate::name::{ChangeName, StepKey};
use crate::park::{Park, ParkKind, Standing};
use crate::selection::{self, Reach};
use crate::snapshot::Snapshot;

/// Derives the status of a batch.
///
/// # Errors
/// Refuses a phase whose changes cannot be ordered.
pub fn derive(snapshot: &Snapshot) -> Result<BatchStatus, Misordered> {
    let mut phases: Vec<PhaseStatus> = Vec::with_capacity(snapshot.manifest.phases.len());
    for phase in &snapshot.manifest.phases {
        if let Some(error) = dag::misordered(phase).into_iter().next() {
            return Err(error);
        }
        let before = phases.last().map(|before| (&before.name, before.status));
        let shut = gate::shut(before, &snapshot.journal);
        phases.push(phase_status(snapshot, phase, shut.map(|shut| shut.to_string())));
    }
    let reach = selection::walk(snapshot, &phases);
    let changes = || phases.iter().flat_map(|phase| &phase.changes);
    let done_count = changes().filter(|change| change.status == ChangeState::Done).count();
    let change_count = changes().count();
    Ok(BatchStatus {
        name: snapshot.batch.clone(),
        status: batch_state(&phases, &reach, change_count, done_count),
        progress: changes().map(|change| change.progress).sum(),
        change_count,
        done_count,
        gate: snapshot.settings.gate,
        next: reach.next(&phases),
        pull_request: due_pull_request(snapshot, &reach),
        phases,
        usage: snapshot.usage.total().copied(),
    })
}

fn due_pull_request(snapshot: &Snapshot, reach: &Reach) -> Option<DuePullRequest> {
    let key_and_changes = match reach {
        Reach::Finished => selection::owed_pull_request(snapshot),
        Reach::Change { .. }
        | Reach::Decompose { .. }
        | Reach::Proof { .. }
        | Reach::Parked(_)
        | Reach::Stuck(_) => None,
    };
    let (key, changes) = key_and_changes?;
    let parked = snapshot.parks.get(&key).map(ParkView::from);
    let held = snapshot.unresolved_park(&key).is_some();
    Some(DuePullRequest { key, changes, held, parked })
}

fn phase_status(snapshot: &Snapshot, phase: &Phase, gated_by: Option<String>) -> PhaseStatus {
    let facts_of = |change: &ChangeIntent| {
        let key = StepKey::of_change(&change.name);
        let park = snapshot.parks.get(&key);
        let facts = snapshot.facts(&change.name);
        let done = change::is_done(&facts, &key, &snapshot.journal, park);
        (facts, park.filter(|_| !done), done)
    };
    let known: Vec<_> = phase.changes.iter().map(|change| (change, facts_of(change))).collect();
    let done: BTreeSet<&ChangeName> =
        known.iter().filter(|(_, (_, _, done))| *done).map(|(change, _)| &change.name).collect();
    let changes: Vec<_> = known
        .iter()
        .map(|(change, (facts, park, _))| ChangeStatus {
            usage: snapshot.usage.of(change.name.as_str()).copied(),
            ..change_status(change, facts, *park, &done)
        })
        .collect();
    PhaseStatus {
        name: phase.name.clone(),
        goal: phase.goal.clone(),
        success: phase.success.clone(),
        status: phase_state(gated_by.as_deref(), &changes),
        gated_by,
        parked: decomposition_park(snapshot, phase),
        changes,
    }
}

/// A phase that has changes needs no decomposition, so that an old park of one holds nobody.
fn decomposition_park(snapshot: &Snapshot, phase: &Phase) -> Option<ParkView> {
    let key = StepKey::of_decomposition(&phase.name);
    snapshot.parks.get(&key).filter(|_| phase.changes.is_empty()).map(ParkView::from)
}

fn change_status(
    change: &ChangeIntent,
    facts: &ChangeFacts,
    park: Option<&Park>,
    done: &BTreeSet<&ChangeName>,
) -> ChangeStatus {
    let is_done = done.contains(&change.name);
    let blocked_by: Vec<ChangeName> =
        if is_done { Vec::new() } else { dag::unmet(change, done).into_iter().cloned().collect() };
    let base = if is_done {
        ChangeState::Done
    } else if facts.applied() {
        ChangeState::AwaitingVerify
    } else if facts.exists && facts.tasks_total > 0 {
        ChangeState::InProgress
    } else if !blocked_by.is_empty() {
        ChangeState::Blocked
    } else if facts.exists {
        ChangeState::InProgress
    } else {
        ChangeState::Ready
    };
    let progress = if facts.archived {
        Progress::default()
    } else {
        Progress { total: facts.tasks_total, completed: facts.tasks_complete }
    };
    ChangeStatus {
        name: change.name.clone(),
        status: park.map_or(base, |park| overlaid(base, park)),
        base,
        done: change.done.clone(),
        progress,
        after: change.after.clone(),
        blocked_by,
        exists: facts.exists && !facts.archived,
        archived: facts.archived,
        parked: park.map(ParkView::from),
        usage: None,
    }
}

/// Lays a park over a status: one that a person has freed leaves it as it is (OQ-1).
fn overlaid(base: ChangeState, park: &Park) -> ChangeState {
    match park.kind {
        _ if !park.is_unresolved() => base,
        ParkKind::Blocked => ChangeState::Blocked,
        ParkKind::AwaitingApproval => ChangeState::AwaitingApproval,
    }
}

fn phase_state(gated_by: Option<&str>, changes: &[ChangeStatus]) -> PhaseState {
    let begun = |change: &ChangeStatus| match change.status {
        ChangeState::InProgress | ChangeState::AwaitingVerify | ChangeState::Done => true,
        ChangeState::Ready | ChangeState::Blocked | ChangeState::AwaitingApproval => false,
    };
    if gated_by.is_some() {
        PhaseState::Blocked
    } else if !changes.is_empty() && changes.iter().all(|c| c.status == ChangeState::Done) {
        PhaseState::Done
    } else if changes.iter().any(begun) {
        PhaseState::InProgress
    } else {
        PhaseState::Pending
    }
}

fn batch_state(
    phases: &[PhaseStatus],
    reach: &Reach,
    change_count: usize,
    done_count: usize,
) -> BatchState {
    let begun = |phase: &PhaseStatus| {
        let open_and_empty = phase.gated_by.is_none() && phase.changes.is_empty();
        phase.status == PhaseState::InProgress || open_and_empty
    };
    if change_count == 0 {
        BatchState::Empty
    } else if matches!(reach, Reach::Finished) {
        BatchState::Done
    } else if done_count > 0 || phases.iter().any(begun) {
        BatchState::InProgress
    } else {
        BatchState::Pending
    }
}

impl From<&Park> for ParkView {
    fn from(park: &Park) -> Self {
        Self {
            kind: park.kind,
            reason: park.reason.clone(),
            cause: park.cause,
            retry_at: park.retry_at,
            answer: park.answer.clone(),
            feedback: park.feedback.clone(),
            approved: park.approved,
            retry: park.standing() == Standing::Retry,
        }
    }
}

impl std::iter::Sum for Progress {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::default(), |sum, item| Self {
            total: sum.total + item.total,
            completed: sum.completed + item.completed,
        })
    }
}
