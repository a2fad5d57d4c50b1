//! One look at the disk. It is what `batch view` and `batch status` look at, of several batches at once; nothing is kept
//! from the look before.

use std::path::PathBuf;

use ratchet_engine::manifest::Phase;
use ratchet_engine::name::{BatchName, PhaseName, StepKey};
use ratchet_engine::permission::Escalation;
use ratchet_engine::proof::ProofRecord;
use ratchet_engine::snapshot::Snapshot;
use ratchet_engine::time::Timestamp;
use ratchet_engine::transition::next_transition;
use ratchet_supervisor::error::Error;
use ratchet_supervisor::event::Running;
use ratchet_supervisor::project::{Current, Project, StepState};

use crate::commands::failed;
use crate::watch::look::{Budget, Found, Look, Proof, ProofVerdict, Step, Watched};

/// What is watched.
#[derive(Debug, Clone)]
pub(in crate::commands) enum Scope {
    /// One batch.
    One(BatchName),
    /// Every batch that there is.
    All,
}

/// What the next look depends on beside the folders of every look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Interest {
    /// The batches.
    pub(super) batches: Vec<BatchName>,
    /// The folders of spawns that are still to start: that they have started is told there and nowhere else.
    pub(super) waiting: Vec<PathBuf>,
}

/// Names the batches that are watched.
pub(super) fn batches(project: &Project, scope: &Scope) -> Result<Vec<BatchName>, Error> {
    match scope {
        Scope::One(batch) => Ok(vec![batch.clone()]),
        Scope::All => project.batch_names(),
    }
}

/// Looks at everything.
pub(super) fn gather(project: &Project, scope: &Scope) -> (Look, Interest) {
    let (names, problem) = match batches(project, scope) {
        Ok(names) => (names, None),
        Err(error) => (Vec::new(), Some(failed(error).sentence())),
    };
    let mut waiting = Vec::new();
    let watched = names.iter().map(|name| {
        let found = look_at(project, name, &mut waiting);
        Watched { name: name.clone(), found: found.map_err(|error| failed(error).sentence()) }
    });
    let look = Look { batches: watched.collect(), problem };
    (look, Interest { batches: names, waiting })
}

fn look_at(
    project: &Project,
    batch: &BatchName,
    waiting: &mut Vec<PathBuf>,
) -> Result<Found, Error> {
    let snapshot = project.snapshot(batch, Escalation::Clamped)?;
    let status = project.status_of(&snapshot)?;
    let mut warnings = project.file_warnings(&snapshot);
    let step = match project.running(batch) {
        Ok(current) => current.map(|current| {
            if current.state == StepState::Waiting {
                waiting.push(current.dir.path().to_owned());
            }
            step(current)
        }),
        Err(error) => {
            let why = failed(error).sentence();
            warnings.push(format!("cannot tell whether a step is running: {why}"));
            None
        }
    };
    let moves = snapshot.changes.keys().filter_map(|change| {
        let key = StepKey::of_change(change);
        let next = next_transition(&snapshot.facts(change), &key, &snapshot.journal)?;
        Some((change.clone(), next))
    });
    Ok(Found {
        moves: moves.collect(),
        proofs: snapshot.manifest.phases.iter().map(|phase| proof(&snapshot, phase)).collect(),
        budget: Budget {
            usd: snapshot.settings.budget_usd,
            tokens: snapshot.settings.budget_tokens,
        },
        status,
        step,
        warnings,
    })
}

fn proof(snapshot: &Snapshot, phase: &Phase) -> (PhaseName, Proof) {
    let record = snapshot.journal.proofs.get(phase.name.as_str());
    let proof = Proof { run: phase.proof.run.clone(), verdict: verdict(record) };
    (phase.name.clone(), proof)
}

fn verdict(record: Option<&ProofRecord>) -> ProofVerdict {
    match record {
        None => ProofVerdict::NotRun,
        Some(record) if record.passed => ProofVerdict::Passed,
        Some(record) if record.gate_passed => ProofVerdict::Warned { why: record.detail.clone() },
        Some(record) => ProofVerdict::Failed { why: record.detail.clone() },
    }
}

fn step(current: Current) -> Step {
    let (kind, agent) = match current.step.running() {
        Running::Agent { kind, agent } => (Some(kind), agent),
        Running::Proof => (None, None),
    };
    Step {
        spawn: current.step.spawn,
        key: current.step.key,
        kind,
        agent,
        state: current.state,
        since: Timestamp::parse(&current.step.started_at),
    }
}
