//! Snapshot in, exactly one thing to do out. What can be worked on is found in [`crate::selection`]; here the step is
//! built, with everything its agent has to know, in `build`. Running it is `ratchet-supervisor`'s.

mod build;
mod standalone;

use serde::{Deserialize, Serialize};

use crate::dag::Misordered;
use crate::manifest::{Phase, ProofOfWork};
use crate::name::{BatchName, ChangeName, PhaseName, StepKey};
use crate::park::Park;
use crate::selection;
use crate::snapshot::Snapshot;
use crate::status::{self, BatchStatus};
use crate::transition::{StepKind, Transition};
use crate::usage::budget::{self, Overspent};

/// Decides what to do next.
///
/// # Errors
/// Refuses a phase whose changes cannot be ordered.
pub fn decide(snapshot: &Snapshot) -> Result<Plan, Misordered> {
    Ok(decide_by(snapshot, &status::derive(snapshot)?))
}

fn decide_by(snapshot: &Snapshot, status: &BatchStatus) -> Plan {
    within_budget(snapshot, build::plan(snapshot, selection::pick(snapshot, status)))
}

/// Starts no agent once a budget is used up. A proof uses none.
fn within_budget(snapshot: &Snapshot, plan: Plan) -> Plan {
    let overspent = || budget::overspent(&snapshot.batch, &snapshot.settings, &snapshot.usage);
    match plan {
        Plan::Spawn(step) => match overspent() {
            Some(overspent) => Plan::Idle(Idle::OverBudget(overspent)),
            None => Plan::Spawn(step),
        },
        Plan::Prove(_) | Plan::Parked(_) | Plan::Idle(_) => plan,
    }
}

/// The one thing to do next.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum Plan {
    /// Run one agent.
    Spawn(Box<Step>),
    /// Run one proof-of-work.
    Prove(Proving),
    /// Nothing can run because of these parks; the first is named to the user, the rest follow.
    Parked(Vec<Halt>),
    /// Nothing can run.
    Idle(Idle),
}

/// One agent run: whose, what kind, and everything its prompt needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The batch; absent for a standalone step.
    pub batch: Option<BatchName>,
    /// Whose journal entries and parks these are.
    pub key: StepKey,
    /// The phase that frames the step.
    pub phase: Phase,
    /// What the agent is to do.
    pub work: Work,
    /// What a person said since the step was parked.
    pub resume: Option<Resume>,
    /// Text from `-m`, verbatim.
    pub guidance: Option<String>,
}

/// What the agent is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// One transition of a change.
    Change {
        /// The change.
        change: ChangeName,
        /// Its definition of done.
        done: String,
        /// The forced transition.
        transition: Transition,
    },
    /// Author the phase's changes into the manifest.
    Decompose {
        /// Earlier phases with their changes: what has been shipped.
        prior: Vec<PriorPhase>,
    },
    /// Open one pull request.
    PullRequest {
        /// The group, unless the request covers the whole batch.
        group: Option<Group>,
        /// The changes it covers.
        changes: Vec<ChangeName>,
        /// Where the work is; filled in by the supervisor, which asks git.
        branches: Option<Branches>,
    },
}

/// A group of a stacked pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Position, from 0.
    pub index: usize,
    /// Phase name or change name; also the group's branch.
    pub id: String,
    /// The branch of the group before, which this one is based on; `None` for the first.
    pub stacked_on: Option<String>,
}

/// The branches of one pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branches {
    /// Where the work is.
    pub work: String,
    /// What it is to be merged into.
    pub base: String,
}

/// A phase whose changes have been shipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorPhase {
    /// The phase.
    pub name: PhaseName,
    /// Its changes with their definitions of done.
    pub changes: Vec<(ChangeName, String)>,
}

/// What a person said about a parked step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// A question was answered.
    Answered {
        /// The question.
        question: String,
        /// The answer.
        answer: String,
    },
    /// A result was approved.
    Approved {
        /// The summary that was approved.
        summary: String,
    },
    /// A result was rejected.
    Rejected {
        /// The summary that was rejected.
        summary: String,
        /// Why.
        feedback: String,
    },
}

/// One proof-of-work to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proving {
    /// The phase to prove.
    pub phase: PhaseName,
    /// Its command and condition.
    pub proof: ProofOfWork,
}

/// A parked step that holds the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    /// Whose step it is.
    pub key: StepKey,
    /// The park that holds it.
    pub park: Park,
}

/// Why nothing runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Idle {
    /// Everything is done.
    Done,
    /// A phase is held by a failed proof; the text says which and why.
    FailedProof {
        /// The phase whose proof it is.
        phase: PhaseName,
        /// What [`crate::gate`] says.
        gated_by: String,
    },
    /// A budget is used up.
    OverBudget(Overspent),
    /// There is no work: the batch declares no phase.
    NothingReady,
}

impl Step {
    /// Returns what kind of step this is.
    #[must_use]
    pub fn kind(&self) -> StepKind {
        match &self.work {
            Work::Change { transition, .. } => (*transition).into(),
            Work::Decompose { .. } => StepKind::Decompose,
            Work::PullRequest { .. } => StepKind::Pr,
        }
    }

    /// Returns the change this step moves, if it moves one.
    #[must_use]
    pub fn change(&self) -> Option<&ChangeName> {
        match &self.work {
            Work::Change { change, .. } => Some(change),
            Work::Decompose { .. } | Work::PullRequest { .. } => None,
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
