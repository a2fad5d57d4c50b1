//! What telemetry is told of a step: engine values in, spans and numbers out. Decides nothing, and costs a look while
//! nobody wants telemetry. Names are those of [`ratchet_telemetry::name`]; what agents and people write is in none of them.

pub(crate) mod outcome;
pub(crate) mod session;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use ratchet_engine::change::ChangeFacts;
use ratchet_engine::decide::Plan;
use ratchet_engine::outcome::{Cause, StepResult, StepState};
use ratchet_engine::report::ApplyReport;
use ratchet_engine::settings::Word as _;
use ratchet_engine::snapshot::Snapshot;
use ratchet_engine::time::Timestamp;
use ratchet_engine::transition::StepKind;
use ratchet_telemetry::name::{Attribute, EventName, MetricName, SpanName, Task, TaskResult};
use ratchet_telemetry::span::Fact;
use ratchet_telemetry::{TraceParent, TraceSpan, metric};
use serde::Serialize;

use crate::actor::message::Report;
use crate::error::Error;
use crate::store::inflight::{Inflight, StoredTrace, Task as InflightTask};
use crate::store::layout::RunHome;
use crate::store::lock::LockError;

/// What an agent is called under `RATCHET_BATCH_AGENT_CMD`.
pub(crate) const STAND_IN: &str = "stand-in";

/// A step as telemetry sees it, from the first look to the answer.
#[derive(Debug)]
pub(crate) struct StepTrace {
    pub(crate) span: TraceSpan,
    begun: Instant,
    labels: Labels,
}

/// By what steps are told apart in numbers.
#[derive(Debug, Default)]
struct Labels {
    task: Option<Task>,
    agent: Option<String>,
    locus: Option<&'static str>,
}

impl StepTrace {
    /// A step is asked for in a run home.
    pub(crate) fn begin(span: TraceSpan, home: &RunHome) -> Self {
        if let RunHome::Batch(batch) = home {
            span.set(Attribute::PipelineName, batch.to_string());
            span.set(Attribute::Batch, batch.to_string());
        }
        Self { span, begun: Instant::now(), labels: Labels::default() }
    }

    /// The single-flight lock is held by somebody else.
    pub(crate) fn fenced(&self, lock: &TraceSpan, error: &LockError) {
        if let LockError::Running { .. } = error {
            lock.event(EventName::Fenced, []);
            metric::add(MetricName::Fenced, 1, []);
        }
    }

    /// It is known what is to run.
    pub(crate) fn of(&mut self, inflight: &Inflight) {
        let task = task_of(inflight);
        self.span.rename(SpanName::StepOf(task));
        self.describe(inflight, task);
    }

    /// It was begun by an earlier process, and is gone on with.
    pub(crate) fn reattached(&mut self, inflight: &Inflight, now: Timestamp) {
        self.span.rename(SpanName::Reattach);
        if let Some(original) = inflight.trace.as_ref().and_then(StoredTrace::parent) {
            self.span.link(&original);
        }
        if let Some(begun) = Timestamp::parse(&inflight.started_at) {
            self.span.set(Attribute::DowntimeMs, now.unix_ms().saturating_sub(begun.unix_ms()));
        }
        self.describe(inflight, task_of(inflight));
        metric::add(MetricName::Reattaches, 1, []);
    }

    fn describe(&mut self, inflight: &Inflight, task: Task) {
        let (span, locus) = (&self.span, inflight.place.locus.as_str());
        span.set(Attribute::TaskName, task.as_str());
        span.set(Attribute::TaskRunId, inflight.spawn.to_string());
        span.set(Attribute::Change, inflight.key.to_string());
        span.set(Attribute::Locus, locus);
        let agent = agent_of(inflight);
        span.set_some(Attribute::AgentName, agent.clone());
        self.labels = Labels { task: Some(task), agent, locus: Some(locus) };
    }

    /// It is over: whatever it came to, this is its last word.
    pub(crate) fn over(&self, report: &Result<Report, Error>) {
        let (result, state) = match report {
            Ok(report) => ended(report),
            Err(error) => (TaskResult::Error, Cow::Borrowed(error.code())),
        };
        let span = &self.span;
        let step = report.as_ref().ok().and_then(step_of);
        if let Some(step) = step.filter(|_| self.labels.task.is_none()) {
            // It was refused before it had an intent.
            let task = task_for(step.transition);
            span.rename(SpanName::StepOf(task));
            span.set(Attribute::TaskName, task.as_str());
            span.set(Attribute::Change, step.change.to_string());
        }
        let cause = step.and_then(|step| step.cause).map(|cause| word(&cause));
        span.set(Attribute::TaskRunResult, result.as_str());
        if report.is_ok() {
            span.set(Attribute::StepState, state.clone());
        }
        span.set_some(Attribute::Cause, cause.clone());
        match result {
            TaskResult::Failure | TaskResult::Timeout | TaskResult::Error => {
                span.fail(cause.unwrap_or(state));
            }
            TaskResult::Success | TaskResult::Cancellation | TaskResult::Skip => {}
        }
        span.end();
        let mut facts: Vec<Fact> = vec![(Attribute::TaskRunResult, result.as_str().into())];
        let Labels { task, agent, locus } = &self.labels;
        facts.extend(task.map(|task| (Attribute::TaskName, task.as_str().into())));
        facts.extend(agent.clone().map(|agent| (Attribute::AgentName, agent.into())));
        facts.extend(locus.map(|locus| (Attribute::Locus, locus.into())));
        metric::add(MetricName::Steps, 1, facts.clone());
        metric::took(MetricName::StepDuration, self.begun.elapsed(), facts);
    }
}

/// What was decided, and from how much.
pub(crate) fn selected(step: &TraceSpan, span: &TraceSpan, snapshot: &Snapshot, plan: &Plan) {
    if !span.is_recording() {
        return;
    }
    let (word, phase) = match plan {
        Plan::Spawn(step) => ("spawn", Some(step.phase.name.to_string())),
        Plan::Prove(proving) => ("prove", Some(proving.phase.to_string())),
        Plan::Parked(_) => ("parked", None),
        Plan::Idle(_) => ("idle", None),
    };
    step.set_some(Attribute::Phase, phase);
    let changes = snapshot.manifest.phases.iter().map(|phase| phase.changes.len());
    span.set(Attribute::DecidePlan, word);
    span.set(Attribute::Candidates, count(changes.sum()));
    span.set(Attribute::Parked, count(snapshot.parks.len()));
}

/// Says how long a command waited for room.
pub(crate) fn queued(span: &TraceSpan, waited: Duration) {
    span.set(Attribute::QueueMs, millis(waited));
    metric::took(MetricName::QueueWait, waited, []);
}

/// Keeps a span's ids with an intent, so that whoever goes on with it can link to it.
pub(crate) fn stored(span: &TraceSpan) -> Option<StoredTrace> {
    span.parent().as_ref().map(StoredTrace::of)
}

impl StoredTrace {
    fn of(parent: &TraceParent) -> Self {
        Self { traceparent: parent.to_string(), tracestate: parent.state() }
    }

    fn parent(&self) -> Option<TraceParent> {
        TraceParent::parse(&self.traceparent, self.tracestate.as_deref())
    }
}

/// Says what a change's folder held.
fn evidence(facts: &ChangeFacts) -> String {
    let ChangeFacts { exists, archived, has_plan, tasks_total, tasks_complete } = facts;
    format!(
        "exists={exists} archived={archived} plan={has_plan} tasks={tasks_complete}/{tasks_total}"
    )
}

fn task_of(inflight: &Inflight) -> Task {
    match &inflight.task {
        InflightTask::Proof(_) => Task::Proof,
        InflightTask::Step(task) => task_for(task.subject.kind),
    }
}

fn task_for(kind: StepKind) -> Task {
    match kind {
        StepKind::Propose => Task::Propose,
        StepKind::Apply => Task::Apply,
        StepKind::Verify => Task::Verify,
        StepKind::Decompose => Task::Decompose,
        StepKind::Pr => Task::Pr,
    }
}

/// Names the agent; `None` for a proof.
fn agent_of(inflight: &Inflight) -> Option<String> {
    match &inflight.task {
        InflightTask::Proof(_) => None,
        InflightTask::Step(task) if task.via.is_some() => Some(STAND_IN.to_owned()),
        InflightTask::Step(task) => Some(task.agent.to_string()),
    }
}

fn step_of(report: &Report) -> Option<&StepResult> {
    match report {
        Report::Applied(ApplyReport::Step(step)) | Report::Stepped(step) => Some(step),
        Report::Applied(
            ApplyReport::Proof(_) | ApplyReport::Parked(_) | ApplyReport::NothingReady(_),
        )
        | Report::Nothing => None,
    }
}

/// Maps what a step came to onto the words of the CI/CD conventions.
fn ended(report: &Report) -> (TaskResult, Cow<'static, str>) {
    match report {
        Report::Applied(ApplyReport::Step(step)) | Report::Stepped(step) => {
            (result_of(step), word(&step.state))
        }
        Report::Applied(ApplyReport::Proof(proof)) if proof.passed => {
            (TaskResult::Success, "passed".into())
        }
        Report::Applied(ApplyReport::Proof(_)) => (TaskResult::Failure, "failed".into()),
        Report::Applied(ApplyReport::Parked(_)) => (TaskResult::Skip, "parked".into()),
        Report::Applied(ApplyReport::NothingReady(_)) | Report::Nothing => {
            (TaskResult::Skip, word(&StepState::NothingReady))
        }
    }
}

fn result_of(step: &StepResult) -> TaskResult {
    match step.state {
        StepState::Advanced | StepState::AwaitingApproval => TaskResult::Success,
        StepState::NothingReady => TaskResult::Skip,
        StepState::Blocked => match step.cause {
            None => TaskResult::Failure,
            Some(Cause::Timeout | Cause::OutputLimit) => TaskResult::Timeout,
            Some(Cause::Stopped) => TaskResult::Cancellation,
            Some(
                Cause::Crash
                | Cause::Quota
                | Cause::Credit
                | Cause::Login
                | Cause::Model
                | Cause::Provider
                | Cause::Network
                | Cause::AgentLimit
                | Cause::OutOfMemory
                | Cause::Lost
                | Cause::NotStarted,
            ) => TaskResult::Error,
        },
    }
}

/// Gives a value's word, as files and JSON have it: it has one home.
fn word(value: &impl Serialize) -> Cow<'static, str> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word.into(),
        Ok(_) | Err(_) => "unknown".into(),
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
