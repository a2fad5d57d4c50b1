//! Draws snapshots for tests in a few words. Not part of the engine.

use std::collections::BTreeMap;

use crate::change::ChangeFacts;
use crate::fold::JournalView;
use crate::manifest::{ChangeIntent, Manifest, Phase, ProofKind, ProofOfWork};
use crate::name::{BatchName, ChangeName, PhaseName, StepKey};
use crate::outcome::SessionEnd;
use crate::park::{NewPark, Park, ParkKind};
use crate::permission::Escalation;
use crate::proof::{Finding, Matcher, ProofReason, ProofRecord};
use crate::settings::{self, GateMode, Layer, PrGrouping, ProofPolicy, Settings};
use crate::snapshot::Snapshot;
use crate::time::Timestamp;
use crate::transition::StepKind;
use crate::usage::{Ledger, SpawnUsage};

/// A snapshot being drawn.
#[derive(Debug, Clone)]
pub(crate) struct Sketch(pub(crate) Snapshot);

/// How a drawn proof went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    Passed,
    Failed,
    FailedUnderWarn,
}

impl Sketch {
    /// Draws the batch `shop`: phases, each with its changes written `name` or `name < dependency dependency`.
    pub(crate) fn new(phases: &[(&str, &[&str])]) -> Self {
        let manifest = Manifest {
            name: "shop".to_owned(),
            created: None,
            settings: Layer::default(),
            phases: phases.iter().map(|(name, changes)| phase(name, changes)).collect(),
            doubts: Vec::new(),
        };
        Self(Snapshot {
            batch: BatchName::parse("shop").unwrap(),
            manifest,
            settings: settings(),
            journal: JournalView::default(),
            changes: BTreeMap::new(),
            parks: BTreeMap::new(),
            usage: Ledger::default(),
        })
    }

    /// Puts a change's folder on disk, without a plan.
    pub(crate) fn folder(mut self, change: &str) -> Self {
        self.facts(change).exists = true;
        self
    }

    /// Puts a plan on disk with so many ticked tasks of so many.
    pub(crate) fn plan(mut self, change: &str, complete: u64, total: u64) -> Self {
        let facts = self.facts(change);
        *facts = ChangeFacts {
            exists: true,
            archived: false,
            has_plan: true,
            tasks_total: total,
            tasks_complete: complete,
        };
        self
    }

    /// Archives a change.
    pub(crate) fn archived(mut self, change: &str) -> Self {
        *self.facts(change) = ChangeFacts { archived: true, ..ChangeFacts::default() };
        self
    }

    /// Journals a change's verify.
    pub(crate) fn verified(mut self, change: &str) -> Self {
        self.0.journal.verified.insert(StepKey::from_text(change));
        self
    }

    /// Makes changes done.
    pub(crate) fn done(self, changes: &[&str]) -> Self {
        changes.iter().fold(self, |sketch, change| sketch.plan(change, 2, 2).verified(change))
    }

    /// Records a phase's proof.
    pub(crate) fn proof(mut self, phase: &str, proof: Proof) -> Self {
        let passed = proof == Proof::Passed;
        let policy =
            if proof == Proof::FailedUnderWarn { ProofPolicy::Warn } else { ProofPolicy::HardGate };
        let record = ProofRecord {
            phase: phase.to_owned(),
            passed,
            gate_passed: proof != Proof::Failed,
            policy,
            reason: if passed { ProofReason::PassConditionMet } else { ProofReason::NonzeroExit },
            detail: if passed { "it passed" } else { "command exited 4" }.to_owned(),
            condition_kind: None,
            matched_excerpt: None,
        };
        self.0.journal.proofs.insert(phase.to_owned(), record);
        self
    }

    /// Invalidates a phase's proof.
    pub(crate) fn invalidated(mut self, phase: &str) -> Self {
        self.0.journal.proofs.remove(phase);
        self
    }

    /// Parks a key on a question.
    pub(crate) fn asked(self, key: &str) -> Self {
        self.park(park(key, ParkKind::Blocked, StepKind::Apply))
    }

    /// Parks a key on a decision.
    pub(crate) fn shown(self, key: &str, step: StepKind) -> Self {
        self.park(park(key, ParkKind::AwaitingApproval, step))
    }

    /// Changes a live park.
    pub(crate) fn said(mut self, key: &str, say: impl FnOnce(&mut Park)) -> Self {
        say(self.0.parks.get_mut(key).expect("the key is parked"));
        self
    }

    /// Adds a park.
    pub(crate) fn park(mut self, park: Park) -> Self {
        self.0.parks.insert(park.key.clone(), park);
        self
    }

    /// Sets the approval gate.
    pub(crate) fn gate(mut self, gate: GateMode) -> Self {
        self.0.settings.gate = gate;
        self
    }

    /// Sets how pull requests are cut.
    pub(crate) fn grouping(mut self, grouping: PrGrouping) -> Self {
        self.0.settings.pr_grouping = grouping;
        self
    }

    /// Books what a spawn of a key has used.
    pub(crate) fn used(mut self, key: &str, spawn: &SpawnUsage) -> Self {
        self.0.usage.add(&StepKey::from_text(key), spawn);
        self
    }

    /// Journals an opened pull request.
    pub(crate) fn opened(mut self, key: &str) -> Self {
        self.0.journal.opened_pull_requests.insert(StepKey::from_text(key));
        self
    }

    fn facts(&mut self, change: &str) -> &mut ChangeFacts {
        self.0.changes.entry(ChangeName::parse(change).unwrap()).or_default()
    }
}

/// Judges a proof whose output is at hand as a whole.
pub(crate) fn judged_proof(pass: &str, end: &SessionEnd, stdout: &[u8]) -> Finding {
    let mut matcher = Matcher::new(pass);
    matcher.feed(stdout);
    matcher.finish(end)
}

/// Draws a phase.
pub(crate) fn phase(name: &str, changes: &[&str]) -> Phase {
    Phase {
        name: PhaseName::parse(name).unwrap(),
        goal: format!("{name} is usable"),
        success: format!("{name} answers"),
        proof: ProofOfWork {
            kind: ProofKind::Integration,
            run: format!("./check {name}"),
            pass: "exit 0".to_owned(),
        },
        changes: changes.iter().map(|change| intent(change)).collect(),
    }
}

fn intent(text: &str) -> ChangeIntent {
    let (name, after) = text.split_once('<').unwrap_or((text, ""));
    let name = ChangeName::parse(name.trim()).unwrap();
    ChangeIntent {
        done: format!("{name} works"),
        place: None,
        after: after.split_whitespace().map(|a| ChangeName::parse(a).unwrap()).collect(),
        name,
    }
}

fn park(key: &str, kind: ParkKind, transition: StepKind) -> Park {
    let reason = format!("{key} waits");
    let key = StepKey::from_text(key);
    NewPark { key, kind, reason, transition, retry: false, cause: None, retry_at: None }
        .at(Timestamp::from_unix_ms(0))
}

fn settings() -> Settings {
    settings::resolve(None, &Layer::default(), None, Escalation::Clamped)
}
