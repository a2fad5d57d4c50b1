//! Calls that run steps. The step belongs to the supervisor; the call only listens, unless its caller owns the step.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use ratchet_engine::halt::{HaltReason, Halted, MOST_STEPS};
use ratchet_engine::report::ApplyReport;
use ratchet_engine::snapshot::Snapshot;
use ratchet_engine::stall::Ground;
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::{apply_response, run_change_response, run_response};
use ratchet_telemetry::TraceSpan;
use ratchet_telemetry::name::SpanName;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::metadata::MetadataMap;

use super::convert::IntoWire as _;
use super::feed::{Client, Queue, feed};
use super::refusal::{leaving, too_late};
use crate::error::Error;
use crate::event::{EVENT_BACKLOG, EventSink};
use crate::project::Project;
use crate::request::{ApplyRequest, ChangeStepRequest, Leave, StopReason};
use crate::store::layout::RunHome;
use crate::{StepOf, Supervisor, grpc::refusal};

/// What a call that runs steps needs.
pub(super) struct Stage {
    pub(super) supervisor: Supervisor,
    pub(super) project: Project,
    /// When the caller's time is over.
    pub(super) deadline: Option<Instant>,
    /// Cancelled when the supervisor ends.
    pub(super) ending: CancellationToken,
}

/// Why a call ended before its step did.
enum Cut {
    ClientGone,
    TooLate,
    Ending,
}

impl Stage {
    pub(super) async fn apply(self, request: ApplyRequest, queue: Queue<wire::ApplyResponse>) {
        let answer = self.one(request, &queue, apply_event).await;
        if let Some(answer) = answer {
            let report = |report: ApplyReport| {
                message_of_apply(apply_response::Message::Report(report.into_wire()))
            };
            // A client that went away hears nothing and changes nothing.
            drop(queue.send(answer.map(report)).await);
        }
    }

    pub(super) async fn run(
        self,
        request: ApplyRequest,
        most: u32,
        queue: Queue<wire::RunResponse>,
    ) {
        let most = if most == 0 { MOST_STEPS } else { most };
        let mut steps = 0;
        let mut ground = self.ground(&request).await;
        // Each step is a trace of its own: a run may last for days.
        let run = TraceSpan::parent_here();
        let mut before = None;
        let halted = loop {
            let links: Vec<_> = run.iter().chain(&before).cloned().collect();
            let asked = TraceSpan::root_linked(SpanName::Ask, &links);
            let one = asked.scope(self.one(request.clone(), &queue, run_event)).await;
            asked.end();
            before = asked.parent();
            let report = match one {
                None => return,
                Some(Ok(report)) => report,
                Some(Err(status)) => return drop(queue.send(Err(status)).await),
            };
            steps += u32::from(report.is_step());
            let now = self.ground(&request).await;
            let stall = || Halted::stall(&Ground::of(ground.as_ref()?), &report, now.as_ref()?);
            let halted = Halted::after(&report).or_else(stall);
            ground = now;
            let told = message_of_run(run_response::Message::Report(report.into_wire()));
            if queue.send(Ok(told)).await.is_err() {
                return;
            }
            let at_limit = || (steps >= most).then(|| Halted::at_limit(most));
            if let Some(halted) = halted.or_else(at_limit) {
                break halted;
            }
        };
        let Halted { reason, message, hint } = halted;
        let reason = halt_reason(reason).into();
        let halt = wire::Halt { reason, message, hint, steps };
        drop(queue.send(Ok(message_of_run(run_response::Message::Halt(halt)))).await);
    }

    pub(super) async fn change(
        self,
        request: ChangeStepRequest,
        queue: Queue<wire::RunChangeResponse>,
    ) {
        let home = RunHome::Change(request.change.clone());
        let leave = request.leave;
        let (sink, events) = mpsc::channel(EVENT_BACKLOG);
        let work = self.supervisor.run_change(&self.project, request, sink);
        let fed = feed(&self.project, events, &queue, change_event);
        if let Some(answer) = self.listen((home, leave), work, fed, &queue).await {
            let result = |result: ratchet_engine::outcome::StepResult| {
                message_of_change(run_change_response::Message::Result(result.into_wire()))
            };
            drop(queue.send(answer.map(result)).await);
        }
    }

    /// Looks at what a step may change; a batch that cannot be looked at is told by the step itself.
    async fn ground(&self, request: &ApplyRequest) -> Option<Snapshot> {
        let (project, batch, escalation) =
            (self.project.clone(), request.batch.clone(), request.escalation);
        let look = tokio::task::spawn_blocking(move || project.snapshot(&batch, escalation));
        look.await.ok()?.ok()
    }

    /// Runs one step of a batch; `None` if nobody waits for its report any more.
    async fn one<M>(
        &self,
        request: ApplyRequest,
        queue: &Queue<M>,
        wrap: fn(wire::StepEvent) -> M,
    ) -> Option<Result<ApplyReport, Status>> {
        let home = RunHome::Batch(request.batch.clone());
        let leave = request.leave;
        let (sink, events): (EventSink, _) = mpsc::channel(EVENT_BACKLOG);
        let work = self.supervisor.apply(&self.project, request, sink);
        let fed = feed(&self.project, events, queue, wrap);
        self.listen((home, leave), work, fed, queue).await
    }

    /// Waits for the step and for its last event to be told, or until the call is cut.
    async fn listen<T, M>(
        &self,
        (home, leave): (RunHome, Leave),
        work: impl Future<Output = Result<T, Error>>,
        fed: impl Future<Output = Client>,
        queue: &Queue<M>,
    ) -> Option<Result<T, Status>> {
        let told = async {
            match tokio::join!(work, fed) {
                (_, Client::Gone) => None,
                (report, Client::Told) => Some(report),
            }
        };
        let cut = tokio::select! {
            biased;
            told = told => match told {
                Some(report) => return Some(report.map_err(Status::from)),
                None => Cut::ClientGone,
            },
            () = queue.closed() => Cut::ClientGone,
            () = self.time_is_over() => Cut::TooLate,
            () = self.leaves(&home) => Cut::Ending,
        };
        let last_word = match cut {
            Cut::ClientGone => None,
            Cut::TooLate => Some(too_late()),
            // The step is the shim's now, whoever owned it.
            Cut::Ending => return Some(Err(leaving())),
        };
        match leave {
            Leave::GoesOn => {}
            Leave::Stops => {
                let root = PathBuf::from(self.project.root());
                self.supervisor.stop_step(&root, home, StopReason::Interrupt).await;
            }
        }
        last_word.map(Err)
    }

    /// Waits until the supervisor ends and leaves the step behind. What became of one that is over is still told.
    async fn leaves(&self, home: &RunHome) {
        self.ending.cancelled().await;
        let of = StepOf { root: self.project.root().to_owned(), home: home.clone() };
        if !self.supervisor.is_active(&of) {
            std::future::pending().await
        }
    }

    async fn time_is_over(&self) {
        match self.deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    }
}

/// Reads how long the caller waits: the header `grpc-timeout`, digits and a unit.
pub(super) fn deadline(metadata: &MetadataMap) -> Result<Option<Instant>, Status> {
    let Some(said) = metadata.get("grpc-timeout") else { return Ok(None) };
    let bad = || refusal::bad_request("the header 'grpc-timeout' is not understood");
    let said = said.to_str().map_err(|_| bad())?;
    let (digits, unit) = said.split_at_checked(said.len().saturating_sub(1)).ok_or_else(bad)?;
    if digits.is_empty() || digits.len() > 8 {
        return Err(bad());
    }
    let amount: u64 = digits.parse().map_err(|_| bad())?;
    let wait = match unit {
        "H" => Duration::from_secs(amount * 3600),
        "M" => Duration::from_secs(amount * 60),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return Err(bad()),
    };
    Ok(Instant::now().checked_add(wait))
}

fn halt_reason(reason: HaltReason) -> wire::HaltReason {
    match reason {
        HaltReason::Done => wire::HaltReason::Done,
        HaltReason::Blocked => wire::HaltReason::Blocked,
        HaltReason::AwaitingApproval => wire::HaltReason::AwaitingApproval,
        HaltReason::Parked => wire::HaltReason::Parked,
        HaltReason::NothingReady => wire::HaltReason::NothingReady,
        HaltReason::ProofFailed => wire::HaltReason::ProofFailed,
        HaltReason::MaxSteps => wire::HaltReason::MaxSteps,
        HaltReason::LimitReached => wire::HaltReason::LimitReached,
        HaltReason::OverBudget => wire::HaltReason::OverBudget,
        HaltReason::Stalled => wire::HaltReason::Stalled,
    }
}

fn apply_event(event: wire::StepEvent) -> wire::ApplyResponse {
    message_of_apply(apply_response::Message::Event(event))
}

fn message_of_apply(message: apply_response::Message) -> wire::ApplyResponse {
    wire::ApplyResponse { message: Some(message) }
}

fn run_event(event: wire::StepEvent) -> wire::RunResponse {
    message_of_run(run_response::Message::Event(event))
}

fn message_of_run(message: run_response::Message) -> wire::RunResponse {
    wire::RunResponse { message: Some(message) }
}

fn change_event(event: wire::StepEvent) -> wire::RunChangeResponse {
    message_of_change(run_change_response::Message::Event(event))
}

fn message_of_change(message: run_change_response::Message) -> wire::RunChangeResponse {
    wire::RunChangeResponse { message: Some(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_digits_and_a_unit() {
        let read = |text: &str| {
            let mut metadata = MetadataMap::new();
            metadata.insert("grpc-timeout", text.parse().unwrap());
            deadline(&metadata)
        };
        assert!(read("5S").unwrap().unwrap() > Instant::now() + Duration::from_secs(4));
        assert!(read("99999999H").unwrap().is_some());
        for bad in ["", "S", "5", "5x", "123456789S", "-1S"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!(deadline(&MetadataMap::new()).unwrap(), None);
    }
}
