//! What telemetry is told of a command that has steps run. Each step is a trace of its own, because a run may last for days;
//! the steps of a run link to it, and each to the one before.

use ratchet_supervisor::project::Project;
use ratchet_telemetry::name::{Attribute, SpanName, TaskResult};
use ratchet_telemetry::{TraceParent, TraceSpan};

use super::host::Host;
use crate::diagnostic::Failure;

/// The spans of one command.
#[derive(Debug)]
pub(super) struct Asking {
    /// Whoever started this command, if they said so.
    above: Option<TraceParent>,
    run: Option<TraceSpan>,
    /// The step before.
    before: Option<TraceParent>,
    asked: u32,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// The next step of a batch.
    Apply,
    /// One forced step of a change.
    Change,
}

impl Asking {
    pub(super) fn new(project: &Project) -> Self {
        let environment = project.environment();
        let above = TraceParent::from_variables(|name| environment.var(name));
        Self { above, run: None, before: None, asked: 0 }
    }

    /// What is asked for from now on belongs to one run of a batch.
    pub(super) fn begin_run(&mut self, batch: &str) {
        let run = TraceSpan::under(self.above.as_ref(), SpanName::Run);
        run.set(Attribute::PipelineName, batch.to_owned());
        self.run = Some(run);
    }

    /// A step is asked for.
    pub(super) fn ask(&mut self, what: What, host: &Host) -> TraceSpan {
        let span = match &self.run {
            None => TraceSpan::under(self.above.as_ref(), SpanName::Ask),
            Some(run) => {
                let links: Vec<_> = run.parent().into_iter().chain(self.before.take()).collect();
                TraceSpan::root_linked(SpanName::Ask, &links)
            }
        };
        let what = match what {
            What::Apply => "apply",
            What::Change => "change",
        };
        let place = match host {
            Host::Here(_) => "embedded",
            Host::There(_) => "supervisor",
        };
        span.set(Attribute::CallerTask, what);
        span.set(Attribute::Host, place);
        self.before = span.parent();
        self.asked += 1;
        span
    }

    /// The command is over.
    pub(super) fn end(&self, failure: Option<&Failure>) {
        let Some(run) = &self.run else { return };
        run.set(Attribute::StepCount, i64::from(self.asked));
        let result = match failure {
            None => TaskResult::Success,
            Some(_) => TaskResult::Error,
        };
        run.set(Attribute::PipelineResult, result.as_str());
        end(run, failure);
    }
}

/// Ends the span of a question; one that could not be answered failed.
pub(super) fn end(span: &TraceSpan, failure: Option<&Failure>) {
    if let Some(failure) = failure {
        span.fail(failure.page().unwrap_or("error").to_owned());
    }
    span.end();
}
