//! How far a batch is. One way only: commands on this machine read that from disk.

use ratchet_engine::status::{
    BatchState, BatchStatus, ChangeStatus, Next, ParkView, PhaseStatus, Progress,
};
use ratchet_proto::supervisor::v1 as wire;

use super::{IntoWire, count, kind_to_wire, word};
use crate::project::{Current, ListRow, LoggedStep, StepState};
use crate::store::inflight::Task;

impl IntoWire for BatchStatus {
    type Message = wire::BatchStatus;

    fn into_wire(self) -> wire::BatchStatus {
        wire::BatchStatus {
            name: self.name.to_string(),
            state: state_to_wire(self.status).into(),
            progress: Some(self.progress.into_wire()),
            change_count: count(self.change_count),
            done_count: count(self.done_count),
            gate: word(self.gate),
            next: self.next.map(IntoWire::into_wire),
            phases: self.phases.into_iter().map(IntoWire::into_wire).collect(),
            running: None,
            latest: None,
            usage: self.usage.map(IntoWire::into_wire),
        }
    }
}

fn state_to_wire(state: BatchState) -> wire::BatchState {
    match state {
        BatchState::Empty => wire::BatchState::Empty,
        BatchState::Pending => wire::BatchState::Pending,
        BatchState::InProgress => wire::BatchState::InProgress,
        BatchState::Done => wire::BatchState::Done,
    }
}

impl IntoWire for Progress {
    type Message = wire::Progress;

    fn into_wire(self) -> wire::Progress {
        wire::Progress { total: self.total, completed: self.completed }
    }
}

impl IntoWire for Next {
    type Message = wire::Next;

    fn into_wire(self) -> wire::Next {
        let bare = |phase: ratchet_engine::name::PhaseName| wire::Next {
            phase: phase.to_string(),
            change: None,
            decompose: false,
            proof: false,
        };
        match self {
            Next::Change { phase, change } => {
                wire::Next { change: Some(change.to_string()), ..bare(phase) }
            }
            Next::Decompose { phase } => wire::Next { decompose: true, ..bare(phase) },
            Next::Proof { phase } => wire::Next { proof: true, ..bare(phase) },
        }
    }
}

impl IntoWire for PhaseStatus {
    type Message = wire::PhaseStatus;

    fn into_wire(self) -> wire::PhaseStatus {
        wire::PhaseStatus {
            name: self.name.to_string(),
            goal: self.goal,
            success: self.success,
            state: word(self.status),
            gated_by: self.gated_by,
            changes: self.changes.into_iter().map(IntoWire::into_wire).collect(),
        }
    }
}

impl IntoWire for ChangeStatus {
    type Message = wire::ChangeStatus;

    fn into_wire(self) -> wire::ChangeStatus {
        let names = |names: Vec<ratchet_engine::name::ChangeName>| {
            names.iter().map(ToString::to_string).collect()
        };
        wire::ChangeStatus {
            name: self.name.to_string(),
            state: word(self.status),
            done: self.done,
            progress: Some(self.progress.into_wire()),
            after: names(self.after),
            blocked_by: names(self.blocked_by),
            exists: self.exists,
            archived: self.archived,
            parked: self.parked.map(IntoWire::into_wire),
            usage: self.usage.map(IntoWire::into_wire),
        }
    }
}

impl IntoWire for ParkView {
    type Message = wire::Park;

    fn into_wire(self) -> wire::Park {
        let ParkView { kind, reason, answer, feedback, approved, retry, cause, retry_at } = self;
        wire::Park {
            kind: word(kind),
            reason,
            answer,
            feedback,
            approved,
            retry,
            cause: cause.map(word),
            retry_at: retry_at.map(|time| time.to_string()),
        }
    }
}

impl IntoWire for Current {
    type Message = wire::Running;

    fn into_wire(self) -> wire::Running {
        let Self { step, state, .. } = self;
        let kind = match step.task {
            Task::Step(task) => kind_to_wire(task.subject.kind),
            Task::Proof(_) => wire::StepKind::Unspecified,
        };
        wire::Running {
            spawn: step.spawn.to_string(),
            key: step.key.to_string(),
            kind: kind.into(),
            started_at: step.started_at,
            waiting: state == StepState::Waiting,
        }
    }
}

impl IntoWire for ListRow {
    type Message = wire::BatchRow;

    fn into_wire(self) -> wire::BatchRow {
        match self {
            ListRow::Batch(batch) => wire::BatchRow {
                name: batch.name.to_string(),
                state: state_to_wire(batch.status).into(),
                change_count: count(batch.change_count),
                done_count: count(batch.done_count),
                progress: Some(batch.progress.into_wire()),
                error: None,
                running: None,
            },
            ListRow::Invalid(invalid) => wire::BatchRow {
                name: invalid.name.to_string(),
                error: Some(invalid.error),
                ..wire::BatchRow::default()
            },
        }
    }
}

impl IntoWire for LoggedStep {
    type Message = wire::LoggedStep;

    fn into_wire(self) -> wire::LoggedStep {
        let kind = self.transition.map_or(wire::StepKind::Unspecified, kind_to_wire);
        wire::LoggedStep {
            spawn: self.spawn,
            key: self.change,
            kind: kind.into(),
            at: self.at,
            outcome: self.kind,
            message: self.message,
            has_output: self.output,
            image: self.image,
        }
    }
}
