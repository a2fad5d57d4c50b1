//! A command that runs, as telemetry sees it: when its first byte came, how long it was silent, which tools it called, how it
//! ended. Times are those of the stored frames and of the exit record, so that a step that is found again is told as well.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use ratchet_engine::outcome::SessionEnd;
use ratchet_engine::time::Timestamp;
use ratchet_engine::usage::{Completeness, SpawnUsage};
use ratchet_spawn::{ExitRecord, Frame};
use ratchet_telemetry::name::{Attribute, EventName, MetricName, SpanName};
use ratchet_telemetry::span::Fact;
use ratchet_telemetry::{TraceSpan, Value, metric};

use super::{STAND_IN, agent_of, number, word};
use crate::agent::Agent;
use crate::agent::stream::{AgentEvent, StreamFacts};
use crate::event::Origin;
use crate::store::inflight::{Inflight, Task};

/// How many tool calls of a spawn have a span each; later ones are counted.
const MOST_TOOLS: usize = 64;

/// A silence that is worth telling, in microseconds.
const SILENCE_US: u64 = 10_000_000;

/// A command being watched.
#[derive(Debug)]
pub(crate) struct SessionTrace {
    /// The agent, or a proof's command.
    span: TraceSpan,
    /// What is told on once the command is over: a proof's own span.
    outer: TraceSpan,
    agent: Option<String>,
    asked_at: Option<Timestamp>,
    /// When the newest frame was read, in microseconds since 1970.
    newest_us: Option<u64>,
    longest_us: u64,
    tools: Tools,
    has_said_last: bool,
    origin: Origin,
}

#[derive(Debug, Default)]
struct Tools {
    /// Calls that have no result yet, the oldest first: an agent's results come in the order of its calls.
    open: VecDeque<TraceSpan>,
    told: usize,
    dropped: u64,
}

impl SessionTrace {
    /// A command runs: below what started it, else below the step that found it.
    pub(crate) fn begin(
        step: &TraceSpan,
        above: &TraceSpan,
        inflight: &Inflight,
        origin: Origin,
    ) -> Self {
        let agent = agent_of(inflight);
        let asked_at = Timestamp::parse(&inflight.started_at);
        // One that was found running has begun long ago.
        let since = match origin {
            Origin::Fresh => None,
            Origin::Reattached => asked_at.and_then(|at| u64::try_from(at.unix_ms()).ok()),
        };
        let since = since.map(|ms| moment(ms.saturating_mul(1000)));
        let (span, outer) = match &inflight.task {
            Task::Step(task) => {
                let name = agent.as_deref().unwrap_or(STAND_IN);
                let span = above.child_since(SpanName::InvokeAgent(name), since);
                span.set(Attribute::Operation, "invoke_agent");
                span.set(Attribute::AgentName, name.to_owned());
                if task.via.is_none() {
                    span.set_some(Attribute::Provider, provider(&task.agent));
                }
                let model = task.model.as_ref().map(|named| named.model.clone());
                span.set_some(Attribute::RequestModel, model);
                (span, TraceSpan::none())
            }
            Task::Proof(_) => {
                let outer = step.child_since(SpanName::ProofOfWork, since);
                let span = outer.child_since(SpanName::Command(SHELL), since);
                span.set(Attribute::ExecutableName, SHELL);
                (span, outer)
            }
        };
        span.set(Attribute::TaskRunId, inflight.spawn.to_string());
        span.set_some(Attribute::ImageDigest, inflight.image.clone());
        Self {
            span,
            outer,
            agent,
            asked_at,
            origin,
            newest_us: None,
            longest_us: 0,
            tools: Tools::default(),
            has_said_last: false,
        }
    }

    /// Says whether tool calls are worth looking for.
    pub(crate) fn wants_tools(&self) -> bool {
        self.agent.is_some() && self.span.is_recording()
    }

    /// Something was printed.
    pub(crate) fn output(&mut self, frame: &Frame) {
        let at = frame.time_us;
        match self.newest_us.replace(at) {
            None => self.span.event_at(EventName::FirstByte, moment(at), []),
            Some(before) => self.silent(before, at),
        }
    }

    fn silent(&mut self, from: u64, to: u64) {
        let silence = to.saturating_sub(from);
        self.longest_us = self.longest_us.max(silence);
        if silence > SILENCE_US {
            let length = number(silence / 1000).into();
            self.span.event_at(EventName::Idle, moment(to), [(Attribute::SilenceMs, length)]);
        }
    }

    /// The agent said or did something.
    pub(crate) fn event(&mut self, event: &AgentEvent<'_>) {
        let now = self.newest_us.map(moment);
        match event {
            AgentEvent::ToolCall { tool, .. } => self.tools.begin(&self.span, tool, now),
            AgentEvent::ToolResult { error: true, .. } => self.tools.end(Answer::Failure, now),
            AgentEvent::ToolResult { error: false, .. } => self.tools.end(Answer::Success, now),
            AgentEvent::Final(_) if !self.has_said_last => {
                self.has_said_last = true;
                let at = now.unwrap_or(SystemTime::UNIX_EPOCH);
                self.span.event_at(EventName::ResultSeen, at, []);
            }
            AgentEvent::Final(_)
            | AgentEvent::Started { .. }
            | AgentEvent::Text(_)
            | AgentEvent::Retry { .. }
            | AgentEvent::Denied { .. }
            | AgentEvent::Notice(_)
            | AgentEvent::Quiet
            | AgentEvent::Raw { .. } => {}
        }
    }

    /// It is over. Returns the span that judging a proof goes on with.
    pub(crate) fn over(
        mut self,
        end: &SessionEnd,
        facts: &StreamFacts,
        record: Option<&ExitRecord>,
    ) -> TraceSpan {
        if let (Some(last), Some(record)) = (self.newest_us, record) {
            self.silent(last, record.ended_at.saturating_mul(1000));
        }
        self.tools.close(self.newest_us.map(moment));
        if self.tools.dropped > 0 {
            self.span.set(Attribute::ToolsDropped, number(self.tools.dropped));
        }
        self.tell_end(end);
        if let Some(record) = record {
            self.tell_record(record);
        }
        if self.agent.is_some() {
            self.tell_agent(facts);
        }
        let longest = Duration::from_micros(self.longest_us);
        self.span.set(Attribute::SilenceMs, number(self.longest_us / 1000));
        metric::took(MetricName::Idle, longest, self.labels());
        match (self.origin, record) {
            (Origin::Reattached, Some(record)) => {
                self.span.end_at(Some(moment(record.ended_at.saturating_mul(1000))));
            }
            // What is told of it is told as it happens; the record's clock is coarser.
            (Origin::Fresh, _) | (Origin::Reattached, None) => self.span.end(),
        }
        self.outer
    }

    fn labels(&self) -> Vec<Fact> {
        self.agent.iter().map(|agent| (Attribute::AgentName, agent.clone().into())).collect()
    }

    fn tell_end(&self, end: &SessionEnd) {
        let span = &self.span;
        match end {
            SessionEnd::Exited(code) => {
                span.set(Attribute::ExitCode, i64::from(*code));
                if *code != 0 {
                    span.fail("exit-code");
                }
            }
            SessionEnd::Signaled(signal) => {
                span.set(Attribute::Signal, signal.clone());
                span.fail("signal");
            }
            SessionEnd::TimedOut { limit, .. } => self.hit(limit.clone()),
            SessionEnd::OutputLimit { .. } => self.hit("output".to_owned()),
            SessionEnd::OutOfMemory => self.hit("memory".to_owned()),
            SessionEnd::Stopped { by } => {
                span.fail("stopped");
                self.killed("stopped", by.clone());
            }
            SessionEnd::Lingered => self.killed("lingered", "linger".to_owned()),
            SessionEnd::NotStarted { code, .. } => {
                span.set(Attribute::ExitCode, i64::from(*code));
                span.fail("not-started");
            }
            SessionEnd::Lost { .. } => span.fail("lost"),
        }
    }

    fn hit(&self, limit: String) {
        self.span.set(Attribute::Limit, limit.clone());
        self.span.event(EventName::LimitHit, [(Attribute::Limit, limit.clone().into())]);
        self.span.fail("limit");
        self.killed("limit", limit);
    }

    fn killed(&self, reason: &'static str, by: String) {
        let facts = [(Attribute::Reason, reason.into()), (Attribute::StopBy, by.into())];
        self.span.event(EventName::Kill, facts.clone());
        metric::add(MetricName::Kills, 1, facts);
    }

    fn tell_record(&self, record: &ExitRecord) {
        let span = &self.span;
        span.set(Attribute::AwakeMs, number(record.awake_ms));
        let cpu = record.usage.cpu_user_us.saturating_add(record.usage.cpu_system_us);
        span.set(Attribute::CpuMs, number(cpu / 1000));
        span.set(Attribute::PeakMemory, number(record.usage.max_rss_bytes));
        let output = record.output.stdout_bytes.saturating_add(record.output.stderr_bytes);
        span.set(Attribute::OutputBytes, number(output));
        if !record.strays.is_empty() {
            let strays = record.strays.len() as u64;
            span.set(Attribute::StrayCount, number(strays));
            metric::add(MetricName::Strays, strays, self.labels());
        }
        if let Some(asked) = self.asked_at.and_then(|at| u64::try_from(at.unix_ms()).ok()) {
            let latency = Duration::from_millis(record.started_at.saturating_sub(asked));
            metric::took(MetricName::SpawnLatency, latency, self.labels());
        }
    }

    fn tell_agent(&self, facts: &StreamFacts) {
        let span = &self.span;
        span.set_some(Attribute::Conversation, facts.session.clone());
        span.set_some(Attribute::ResponseModel, facts.model.clone());
        let SpawnUsage { usage, completeness } = facts.usage;
        if completeness == Completeness::Unknown {
            metric::add(MetricName::CostUnknown, 1, self.labels());
            return;
        }
        span.set(Attribute::UsageSource, "stream");
        span.set(Attribute::UsageComplete, word(&completeness));
        for (attribute, class, tokens) in [
            (Attribute::InputTokens, "input", usage.input_tokens),
            (Attribute::OutputTokens, "output", usage.output_tokens + usage.reasoning_tokens),
            (Attribute::CacheReadTokens, "cache_read", usage.cached_input_tokens),
            (Attribute::CacheWriteTokens, "cache_creation", usage.cache_write_tokens),
        ] {
            span.set(attribute, number(tokens));
            let mut labels = self.labels();
            labels.push((Attribute::TokenType, Value::from(class)));
            // Exact below 2^53, and a spawn has never used as many.
            metric::note(MetricName::Tokens, tokens as f64, labels);
        }
        match usage.cost_usd {
            Some(cost) => {
                span.set(Attribute::Cost, cost.dollars());
                metric::sum(MetricName::Cost, cost.dollars(), self.labels());
            }
            None => metric::add(MetricName::CostUnknown, 1, self.labels()),
        }
    }
}

/// How a tool answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Success,
    Failure,
}

impl Tools {
    fn begin(&mut self, agent: &TraceSpan, tool: &str, at: Option<SystemTime>) {
        if self.told == MOST_TOOLS {
            self.dropped += 1;
            return;
        }
        self.told += 1;
        let span = agent.child_since(SpanName::ExecuteTool(tool), at);
        span.set(Attribute::Operation, "execute_tool");
        span.set(Attribute::ToolName, tool.to_owned());
        self.open.push_back(span);
    }

    fn end(&mut self, answer: Answer, at: Option<SystemTime>) {
        let Some(span) = self.open.pop_front() else { return };
        match answer {
            Answer::Success => {}
            Answer::Failure => span.fail("tool"),
        }
        span.end_at(at);
    }

    /// Calls without a result end with the agent.
    fn close(&mut self, at: Option<SystemTime>) {
        for span in self.open.drain(..) {
            span.end_at(at);
        }
    }
}

/// What runs a proof's command.
const SHELL: &str = "bash";

/// Who provides the model of an agent that has only one.
fn provider(agent: &ratchet_engine::name::AgentName) -> Option<&'static str> {
    match Agent::find(agent).ok()? {
        Agent::Claude => Some("anthropic"),
        Agent::Codex => Some("openai"),
        Agent::Gemini => Some("gcp.gemini"),
        Agent::Cursor | Agent::Opencode => None,
    }
}

fn moment(us: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(us)
}
