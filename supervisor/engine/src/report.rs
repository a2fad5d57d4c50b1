//! What one `batch apply` tells its caller, as values and as JSON (spec `batch-status-and-selection` 6.3 to 6.5). Lines
//! and colours are the CLI's.

use serde::{Serialize, Serializer};

use crate::decide::{Halt, Idle, Proving};
use crate::manifest::ProofKind;
use crate::name::{BatchName, ChangeName, PhaseName, StepKey};
use crate::outcome::{Cause, StepResult};
use crate::park::ParkKind;
use crate::proof::{ConditionKind, ProofReason, ProofRecord};
use crate::settings::ProofPolicy;
use crate::shell::quoted;
use crate::time::Timestamp;

/// What one `batch apply` came to. Each variant is one JSON object; `state` tells them apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyReport {
    /// A step ran, or was refused before it ran.
    Step(StepResult),
    /// Parked steps hold everything.
    Parked(ParkedReport),
    /// Nothing to do.
    NothingReady(NothingReport),
    /// A proof-of-work ran.
    Proof(ProofReport),
}

/// Steps that wait for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParkedReport {
    /// The first of them.
    #[serde(flatten)]
    pub first: Waiting,
    /// The rest, in order.
    pub others: Vec<Waiting>,
}

/// One step that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Whose step it is.
    pub change: StepKey,
    /// What kind of word it waits for.
    #[serde(skip)]
    pub kind: ParkKind,
    /// What it waits for: `blocked: …` or `awaiting approval: …`.
    pub reason: String,
    /// What to type.
    pub hint: String,
    /// What made the step fail, if that is why it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// When it goes on by itself, if it does.
    #[serde(rename = "retryAt", skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

/// Where a step is reported to: what a hint has to name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel<'a> {
    /// A step of the only batch.
    OnlyBatch,
    /// A step of this batch.
    Batch(&'a BatchName),
    /// A step of a change on its own.
    Alone(&'a ChangeName),
}

/// Nothing to do, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NothingReport {
    /// Why, for callers that go on from there.
    #[serde(skip)]
    pub why: Idle,
    /// Why, in one line.
    pub message: String,
    /// What to type, where that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A proof-of-work that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofReport {
    /// The phase.
    pub phase: PhaseName,
    /// How its author thinks of the check.
    pub kind: ProofKind,
    /// The pass condition was met.
    pub passed: bool,
    /// The next phase may start.
    pub gate_passed: bool,
    /// The policy in force.
    pub policy: ProofPolicy,
    /// Why, for machines.
    pub reason: ProofReason,
    /// Why, for people.
    pub detail: String,
    /// How the pass condition was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition_kind: Option<ConditionKind>,
    /// The text that satisfied a text condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_excerpt: Option<String>,
    /// What to type, if its gate is shut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A report that is no step, with the `state` that says so.
#[derive(Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
enum Tagged<'a> {
    Parked(&'a ParkedReport),
    NothingReady(&'a NothingReport),
    ProofOfWork(&'a ProofReport),
}

impl Serialize for ApplyReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Step(result) => result.serialize(serializer),
            Self::Parked(report) => Tagged::Parked(report).serialize(serializer),
            Self::NothingReady(report) => Tagged::NothingReady(report).serialize(serializer),
            Self::Proof(report) => Tagged::ProofOfWork(report).serialize(serializer),
        }
    }
}

impl ApplyReport {
    /// Says whether something ran. An answer that nothing can run is no step.
    #[must_use]
    pub fn is_step(&self) -> bool {
        match self {
            // An agent that is out of use for a while was not started.
            Self::Step(step) => step.cause != Some(Cause::Quota) || step.spawn_id.is_some(),
            Self::Proof(_) => true,
            Self::Parked(_) | Self::NothingReady(_) => false,
        }
    }

    /// Reports parked steps; `None` if there are none.
    #[must_use]
    pub fn parked(halts: &[Halt]) -> Option<Self> {
        let mut waiting = halts.iter().map(Waiting::of);
        let first = waiting.next()?;
        let others = waiting.collect();
        Some(Self::Parked(ParkedReport { first, others }))
    }

    /// Reports that nothing is to be done.
    #[must_use]
    pub fn idle(idle: &Idle) -> Self {
        let message = idle.message();
        let why = idle.clone();
        Self::NothingReady(NothingReport { why, message, hint: None })
    }

    /// Reports a proof-of-work that ran.
    #[must_use]
    pub fn proof(proving: &Proving, record: &ProofRecord) -> Self {
        Self::Proof(ProofReport {
            phase: proving.phase.clone(),
            kind: proving.proof.kind,
            passed: record.passed,
            gate_passed: record.gate_passed,
            policy: record.policy,
            reason: record.reason,
            detail: record.detail.clone(),
            condition_kind: record.condition_kind,
            matched_excerpt: record.matched_excerpt.clone(),
            hint: None,
        })
    }

    /// Names the batch in everything that a person may type next, so that it also works where there are several.
    #[must_use]
    pub fn of_batch(mut self, batch: &BatchName) -> Self {
        match &mut self {
            Self::Step(_) => {}
            Self::Parked(parked) => {
                for waiting in std::iter::once(&mut parked.first).chain(&mut parked.others) {
                    waiting.hint = waiting.what_to_type(Channel::Batch(batch));
                }
            }
            Self::NothingReady(nothing) => {
                nothing.hint = match &nothing.why {
                    Idle::FailedProof { phase, .. } => Some(rerun_hint(batch, phase)),
                    Idle::OverBudget(overspent) => Some(overspent.hint()),
                    Idle::Done | Idle::NothingReady => None,
                };
            }
            Self::Proof(proof) => {
                proof.hint = (!proof.gate_passed).then(|| rerun_hint(batch, &proof.phase));
            }
        }
        self
    }
}

impl Waiting {
    /// Says what a parked step waits for, and what to type.
    #[must_use]
    pub fn of(halt: &Halt) -> Self {
        let kind = halt.park.kind;
        let what = match kind {
            ParkKind::Blocked => "blocked",
            ParkKind::AwaitingApproval => "awaiting approval",
        };
        let mut waiting = Self {
            change: halt.key.clone(),
            kind,
            reason: format!("{what}: {}", halt.park.reason),
            hint: String::new(),
            cause: halt.park.cause,
            retry_at: halt.park.retry_at,
        };
        waiting.hint = waiting.what_to_type(Channel::OnlyBatch);
        waiting
    }

    fn what_to_type(&self, channel: Channel<'_>) -> String {
        match (self.retry_at, channel) {
            (Some(_), Channel::Batch(batch)) => wait_hint(batch),
            (Some(_), Channel::OnlyBatch | Channel::Alone(_)) => {
                "wait until then, or try at once with --ignore-limit".to_owned()
            }
            (None, _) => hint(self.kind, &self.change, channel),
        }
    }
}

/// Says what to do about a step that waits for its agent's limit to reset.
#[must_use]
pub fn wait_hint(batch: &BatchName) -> String {
    let batch = quoted(batch.as_str());
    format!(
        "wait until then (`ratchet batch run {batch}` does), or try at once with `ratchet batch apply {batch} \
         --ignore-limit`"
    )
}

/// Says what to type about a parked step.
#[must_use]
pub fn hint(kind: ParkKind, key: &StepKey, channel: Channel<'_>) -> String {
    let report = channel.report(key);
    match (kind, channel) {
        (ParkKind::Blocked, _) => format!("record an answer with `{report} --answer \"...\"`"),
        (ParkKind::AwaitingApproval, Channel::OnlyBatch | Channel::Batch(_)) => {
            let approve = report.replacen("batch report", "batch approve", 1);
            format!("approve with `{approve}` or reject with `{report} --reject \"...\"`")
        }
        (ParkKind::AwaitingApproval, Channel::Alone(_)) => {
            format!("approve with `{report} --approve` or reject with `{report} --reject \"...\"`")
        }
    }
}

impl Channel<'_> {
    /// Gives the command that reports on a step, without the kind of report.
    #[must_use]
    pub fn report(self, key: &StepKey) -> String {
        let key = quoted(key.as_str());
        match self {
            Self::OnlyBatch => format!("ratchet batch report --change {key}"),
            Self::Batch(batch) => {
                format!("ratchet batch report {} --change {key}", quoted(batch.as_str()))
            }
            Self::Alone(change) => format!("ratchet report {}", quoted(change.as_str())),
        }
    }
}

/// Says what to type about a proof-of-work that failed.
fn rerun_hint(batch: &BatchName, phase: &PhaseName) -> String {
    format!(
        "mend what it names, then have it run again: `ratchet batch rerun-proof {} --phase {}`, then `ratchet batch \
         apply {}`",
        quoted(batch.as_str()),
        quoted(phase.as_str()),
        quoted(batch.as_str())
    )
}

impl Idle {
    /// Says in one line why nothing runs (spec `batch-status-and-selection` 6.4).
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Done => "Nothing to do — all changes are done.".to_owned(),
            Self::OverBudget(overspent) => overspent.message(),
            Self::FailedProof { gated_by, .. } => format!("No ready step — blocked by {gated_by}"),
            Self::NothingReady => {
                "No ready step. Everything is blocked, gated, or parked.".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
