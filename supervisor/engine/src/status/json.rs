//! The JSON of `batch status` and `batch view` (spec `batch-status-and-selection` 7.1 and 7.2): names, order and which
//! member is there when. What `view` adds about the runtime and the agents comes from outside and is flattened behind.

use serde::Serialize;

use super::{
    BatchState, BatchStatus, ChangeState, ChangeStatus, DuePullRequest, Next, ParkView, PhaseState,
    PhaseStatus, Progress,
};
use crate::name::{BatchName, ChangeName, PhaseName};
use crate::settings::GateMode;
use crate::usage::TallyJson;

/// What `batch status --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusJson<'a> {
    name: &'a BatchName,
    status: BatchState,
    progress: Progress,
    change_count: usize,
    done_count: usize,
    gate: GateMode,
    next: Option<StatusNext<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request: Option<&'a DuePullRequest>,
    phases: Vec<StatusPhase<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<TallyJson>,
}

/// What `batch view --json` prints, before what it adds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewJson<'a> {
    name: &'a BatchName,
    phases: Vec<ViewPhase<'a>>,
    progress: Progress,
    change_count: usize,
    done_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<NextStep<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request: Option<&'a DuePullRequest>,
    status: BatchState,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<TallyJson>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct StatusNext<'a> {
    #[serde(flatten)]
    step: NextStep<'a>,
    gated: bool,
    blocked: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct NextStep<'a> {
    phase: &'a PhaseName,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'a ChangeName>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    decompose: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    proof: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusPhase<'a> {
    name: &'a PhaseName,
    goal: &'a str,
    success: &'a str,
    status: PhaseState,
    gated: bool,
    gated_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parked: Option<&'a ParkView>,
    changes: Vec<StatusChange<'a>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ViewPhase<'a> {
    name: &'a PhaseName,
    goal: &'a str,
    success: &'a str,
    status: PhaseState,
    gated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    gated_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parked: Option<&'a ParkView>,
    changes: Vec<ViewChange<'a>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusChange<'a> {
    #[serde(flatten)]
    facts: ChangeJson<'a>,
    blocked: bool,
    awaiting_approval: bool,
    awaiting_verify: bool,
    parked: Option<&'a ParkView>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct ViewChange<'a> {
    #[serde(flatten)]
    facts: ChangeJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parked: Option<&'a ParkView>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeJson<'a> {
    name: &'a ChangeName,
    status: ChangeState,
    done: &'a str,
    progress: Progress,
    after: &'a [ChangeName],
    blocked_by: &'a [ChangeName],
    exists: bool,
    archived: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<TallyJson>,
}

impl BatchStatus {
    /// Gives what `batch status --json` prints.
    #[must_use]
    pub fn to_status_json(&self) -> StatusJson<'_> {
        let next = self.next.as_ref().map(|next| StatusNext {
            step: NextStep::from(next),
            gated: false,
            blocked: false,
        });
        StatusJson {
            name: &self.name,
            status: self.status,
            progress: self.progress,
            change_count: self.change_count,
            done_count: self.done_count,
            gate: self.gate,
            next,
            pull_request: self.pull_request.as_ref(),
            phases: self.phases.iter().map(StatusPhase::from).collect(),
            usage: self.usage.as_ref().map(TallyJson::from),
        }
    }

    /// Gives what `batch view --json` prints about the batch itself.
    #[must_use]
    pub fn to_view_json(&self) -> ViewJson<'_> {
        ViewJson {
            name: &self.name,
            phases: self.phases.iter().map(ViewPhase::from).collect(),
            progress: self.progress,
            change_count: self.change_count,
            done_count: self.done_count,
            next: self.next.as_ref().map(NextStep::from),
            pull_request: self.pull_request.as_ref(),
            status: self.status,
            usage: self.usage.as_ref().map(TallyJson::from),
        }
    }
}

impl<'a> From<&'a Next> for NextStep<'a> {
    fn from(next: &'a Next) -> Self {
        let bare = |phase| Self { phase, change: None, decompose: false, proof: false };
        match next {
            Next::Change { phase, change } => Self { change: Some(change), ..bare(phase) },
            Next::Decompose { phase } => Self { decompose: true, ..bare(phase) },
            Next::Proof { phase } => Self { proof: true, ..bare(phase) },
        }
    }
}

impl<'a> From<&'a PhaseStatus> for StatusPhase<'a> {
    fn from(phase: &'a PhaseStatus) -> Self {
        Self {
            name: &phase.name,
            goal: &phase.goal,
            success: &phase.success,
            status: phase.status,
            gated: phase.gated_by.is_some(),
            gated_by: phase.gated_by.as_deref(),
            parked: phase.parked.as_ref(),
            changes: phase.changes.iter().map(StatusChange::from).collect(),
        }
    }
}

impl<'a> From<&'a PhaseStatus> for ViewPhase<'a> {
    fn from(phase: &'a PhaseStatus) -> Self {
        Self {
            name: &phase.name,
            goal: &phase.goal,
            success: &phase.success,
            status: phase.status,
            gated: phase.gated_by.is_some(),
            gated_by: phase.gated_by.as_deref(),
            parked: phase.parked.as_ref(),
            changes: phase
                .changes
                .iter()
                .map(|change| ViewChange {
                    facts: ChangeJson::from(change),
                    parked: change.parked.as_ref(),
                })
                .collect(),
        }
    }
}

impl<'a> From<&'a ChangeStatus> for StatusChange<'a> {
    fn from(change: &'a ChangeStatus) -> Self {
        Self {
            facts: ChangeJson::from(change),
            blocked: change.status == ChangeState::Blocked,
            awaiting_approval: change.status == ChangeState::AwaitingApproval,
            awaiting_verify: change.status == ChangeState::AwaitingVerify,
            parked: change.parked.as_ref(),
        }
    }
}

impl<'a> From<&'a ChangeStatus> for ChangeJson<'a> {
    fn from(change: &'a ChangeStatus) -> Self {
        Self {
            name: &change.name,
            status: change.status,
            done: &change.done,
            progress: change.progress,
            after: &change.after,
            blocked_by: &change.blocked_by,
            exists: change.exists,
            archived: change.archived,
            usage: change.usage.as_ref().map(TallyJson::from),
        }
    }
}
