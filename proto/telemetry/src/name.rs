//! Every name that telemetry shows: spans, attributes, events, metrics. Nobody else spells one, so that a convention that
//! moves is followed in this file alone. `docs/guide/telemetry.md` holds the same table; a test compares them.
//!
//! Names of the CI/CD, process and GenAI conventions of OpenTelemetry where one fits, `ratchet.*` else.

use std::borrow::Cow;
use std::fmt;

/// What a step does, as `cicd.pipeline.task.name` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// A change is proposed.
    Propose,
    /// Its plan is carried out.
    Apply,
    /// The result is checked.
    Verify,
    /// A phase is taken apart into changes.
    Decompose,
    /// A pull request is opened.
    Pr,
    /// The command of a phase's gate.
    Proof,
}

impl Task {
    /// Returns the task's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Apply => "apply",
            Self::Verify => "verify",
            Self::Decompose => "decompose",
            Self::Pr => "pr",
            Self::Proof => "proof",
        }
    }
}

/// How many characters of a foreign name stand in a span's.
const LONGEST: usize = 64;

/// The name of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanName<'a> {
    /// A whole `ratchet batch run`. Its steps are traces of their own and link to it.
    Run,
    /// Somebody asks for a step, and waits for its outcome: the root of a step's trace.
    Ask,
    /// A supervisor that is another process answers.
    Serve,
    /// A step whose task is not known yet, or that came to nothing.
    Step,
    /// A step.
    StepOf(Task),
    /// A step that an earlier process began is gone on with.
    Reattach,
    /// The single-flight lock is taken.
    LockAcquire,
    /// What is next is worked out: gather and decide.
    Select,
    /// What the spawn needs is made: its order and its folder.
    Preflight,
    /// The intent is put on disk.
    Intend,
    /// The command waits for room and is started at its place.
    Dispatch,
    /// A container is made and started.
    ContainerStart,
    /// The agent runs.
    InvokeAgent(&'a str),
    /// An agent calls a tool, as its stream tells.
    ExecuteTool(&'a str),
    /// A gate's command is run and looked at.
    ProofOfWork,
    /// That command, by the name of its program.
    Command(&'a str),
    /// The session is judged.
    OutcomeMap,
    /// The outcome is put on disk.
    JournalAppend,
}

impl SpanName<'_> {
    /// One of each, with the place of a foreign name in braces: for the table of names.
    pub const ALL: [SpanName<'static>; 18] = [
        SpanName::Run,
        SpanName::Ask,
        SpanName::Serve,
        SpanName::Step,
        SpanName::StepOf(Task::Apply),
        SpanName::Reattach,
        SpanName::LockAcquire,
        SpanName::Select,
        SpanName::Preflight,
        SpanName::Intend,
        SpanName::Dispatch,
        SpanName::ContainerStart,
        SpanName::InvokeAgent("{agent}"),
        SpanName::ExecuteTool("{tool}"),
        SpanName::ProofOfWork,
        SpanName::Command("{program}"),
        SpanName::OutcomeMap,
        SpanName::JournalAppend,
    ];

    /// Returns the name. What comes from an agent's stream is cut to 64 characters, without control characters.
    #[must_use]
    pub fn text(self) -> Cow<'static, str> {
        match self {
            Self::Run => "ratchet batch run".into(),
            Self::Ask => "ratchet ask".into(),
            Self::Serve => "ratchet serve".into(),
            Self::Step => "ratchet step".into(),
            Self::StepOf(Task::Propose) => "ratchet step propose".into(),
            Self::StepOf(Task::Apply) => "ratchet step apply".into(),
            Self::StepOf(Task::Verify) => "ratchet step verify".into(),
            Self::StepOf(Task::Decompose) => "ratchet step decompose".into(),
            Self::StepOf(Task::Pr) => "ratchet step pr".into(),
            Self::StepOf(Task::Proof) => "ratchet step proof".into(),
            Self::Reattach => "ratchet reattach".into(),
            Self::LockAcquire => "ratchet lock.acquire".into(),
            Self::Select => "ratchet select".into(),
            Self::Preflight => "ratchet preflight".into(),
            Self::Intend => "ratchet intend".into(),
            Self::Dispatch => "ratchet runtime.dispatch".into(),
            Self::ContainerStart => "ratchet container.start".into(),
            Self::InvokeAgent(agent) => format!("invoke_agent {}", short(agent)).into(),
            Self::ExecuteTool(tool) => format!("execute_tool {}", short(tool)).into(),
            Self::ProofOfWork => "ratchet proof-of-work".into(),
            Self::Command(program) => short(program).into(),
            Self::OutcomeMap => "ratchet outcome.map".into(),
            Self::JournalAppend => "ratchet journal.append".into(),
        }
    }
}

/// Cuts a name that is not ours.
pub(crate) fn short(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

/// Defines an enumeration of names: each with its text and what it says.
macro_rules! names {
    ($(#[$about:meta])* $kind:ident { $($name:ident $text:literal $what:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind { $(#[doc = $what] $name,)* }

        impl $kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the name.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Says what it tells, for the table of names.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

names! {
    /// An attribute of a span, an event, a metric or a log record.
    Attribute {
        PipelineName "cicd.pipeline.name" "The batch.",
        PipelineResult "cicd.pipeline.result" "How a `batch run` ended: success, or error if a step could not be run.",
        TaskName "cicd.pipeline.task.name" "What the step does: propose, apply, verify, decompose, pr or proof.",
        TaskRunId "cicd.pipeline.task.run.id" "The spawn's id; also in the journal's outcome entry.",
        TaskRunResult "cicd.pipeline.task.run.result" "success, failure, error, timeout, cancellation or skip.",
        WorkerState "cicd.worker.state" "available or busy.",
        Batch "ratchet.batch" "The batch.",
        Phase "ratchet.phase" "The phase.",
        Change "ratchet.change" "The key under which the step is journaled: a change, or a phase for proofs and decompositions.",
        StepState "ratchet.step.state" "advanced, blocked, awaiting-approval or nothing-ready; passed or failed for a proof.",
        Cause "ratchet.step.cause" "What made the step fail, in one word.",
        Locus "ratchet.locus" "Where the command runs: local, docker or remote.",
        Host "ratchet.host" "embedded or supervisor: which process ran the step.",
        DecidePlan "ratchet.select.plan" "What was decided: spawn, prove, parked or idle.",
        Candidates "ratchet.select.candidates" "Changes in the manifest.",
        Parked "ratchet.select.parked" "Steps that wait for a person.",
        QueueMs "ratchet.queue_ms" "How long the command waited for room, in milliseconds.",
        PullMs "ratchet.container.pull_ms" "How long it took until the image was there, in milliseconds.",
        SyncMs "ratchet.journal.sync_ms" "How long the write and its sync took, in milliseconds.",
        AwakeMs "ratchet.awake_ms" "How long the command ran in awake time, in milliseconds; the span's own length is wall time.",
        DowntimeMs "ratchet.downtime_ms" "How long nobody may have watched, in milliseconds: from the intent until the step was found again.",
        Rule "ratchet.outcome.rule" "The rule that fired: 1, 2, 3a, 3b, 3c, 3d, 4a or 4b (its table is in the guide).",
        Claim "ratchet.outcome.claim" "What the agent claimed: completion, blocker, needs-input or none.",
        EvidenceBefore "ratchet.outcome.evidence.before" "The change's folder before the step: exists, plan, ticked boxes of all.",
        EvidenceAfter "ratchet.outcome.evidence.after" "The same, after it.",
        ReportCount "ratchet.outcome.reports" "How many reports the session wrote.",
        ParkKind "ratchet.park.kind" "What the step waits for: blocked or awaiting-approval.",
        ReasonLength "ratchet.park.reason_length" "Length of the reason in bytes; the text is in the journal only.",
        GatePassed "ratchet.proof.gate_passed" "Whether the phase's gate opened.",
        ProofPolicy "ratchet.proof.policy" "What a failed proof does: hard-gate or warn.",
        TestStatus "test.suite.run.status" "success or failure of a proof-of-work.",
        UsageSource "ratchet.usage.source" "Where token counts come from: always `stream`, the agent's own output.",
        UsageComplete "ratchet.usage.completeness" "known, partial or unknown.",
        Cost "ratchet.usage.cost_usd" "What the agent says it cost, in US dollars.",
        ToolsDropped "ratchet.tools.dropped" "Tool calls beyond the first 64 of a spawn, which have no span.",
        Limit "ratchet.limit" "Which limit was hit: start, idle, wall, output or memory.",
        StopBy "ratchet.stop.by" "Who asked for the stop.",
        StrayCount "ratchet.strays" "Processes that were left running and ended.",
        SilenceMs "ratchet.idle.longest_ms" "The longest time without output, in milliseconds.",
        Signal "ratchet.process.signal" "The signal that ended the process.",
        ExecutableName "process.executable.name" "The program.",
        ExitCode "process.exit.code" "What it exited with.",
        CpuMs "ratchet.process.cpu_ms" "Processor time of everything the command started, in milliseconds.",
        PeakMemory "ratchet.process.peak_memory" "The largest resident size of one process, in bytes.",
        OutputBytes "ratchet.process.output_bytes" "What it printed, in bytes.",
        ContainerId "container.id" "The container.",
        ImageDigest "container.image.id" "The very image.",
        Operation "gen_ai.operation.name" "invoke_agent or execute_tool.",
        Provider "gen_ai.provider.name" "Who provides the model, where the agent implies it.",
        AgentName "gen_ai.agent.name" "The agent, as the settings call it; `stand-in` for RATCHET_BATCH_AGENT_CMD.",
        Conversation "gen_ai.conversation.id" "What resumes the agent's session.",
        RequestModel "gen_ai.request.model" "The model that was asked for.",
        ResponseModel "gen_ai.response.model" "The model that answered.",
        InputTokens "gen_ai.usage.input_tokens" "Tokens read.",
        OutputTokens "gen_ai.usage.output_tokens" "Tokens written.",
        CacheReadTokens "gen_ai.usage.cache_read.input_tokens" "Tokens read from a cache.",
        CacheWriteTokens "gen_ai.usage.cache_creation.input_tokens" "Tokens written to a cache.",
        TokenType "gen_ai.token.type" "input, output, cache_read or cache_creation.",
        ToolName "gen_ai.tool.name" "The tool, by the agent's own name for it.",
        RpcSystem "rpc.system" "Always `grpc`.",
        RpcMethod "rpc.method" "The method that was called.",
        ErrorType "error.type" "The code of the page in docs/errors/, or the word for the failure.",
        CallerTask "ratchet.ask" "What was asked for: apply or change.",
        StepCount "ratchet.run.steps" "How many steps the run had.",
        Reason "ratchet.reason" "Why, in one word.",
        Telemetry "ratchet.telemetry.signal" "traces, metrics or logs.",
    }
}

names! {
    /// Something that happened at one instant of a span.
    EventName {
        FirstByte "first_byte" "The first output came.",
        Idle "idle" "No output came for more than ten seconds; told when it is over.",
        ResultSeen "result_seen" "The agent said its last word.",
        LimitHit "limit_hit" "A limit ended the command.",
        Kill "kill" "The command was made to end.",
        Park "park" "The step waits for a person.",
        Fenced "fenced" "Somebody else holds the lock.",
    }
}

names! {
    /// A metric.
    MetricName {
        Steps "ratchet.steps" "Steps that are over, by result, task, agent and locus.",
        StepDuration "ratchet.step.duration" "Length of steps in seconds.",
        SpawnLatency "ratchet.spawn.latency" "From the intent until the command runs, in seconds.",
        QueueWait "ratchet.queue.wait" "Waiting for room, in seconds.",
        Idle "ratchet.agent.idle" "The longest silence of each spawn, in seconds.",
        Kills "ratchet.kills" "Commands that were made to end, by reason.",
        Reattaches "ratchet.reattaches" "Steps of an earlier process that were gone on with.",
        Fenced "ratchet.fenced" "Steps refused because the lock was held.",
        JournalSync "ratchet.journal.sync" "Writing and syncing an outcome, in seconds.",
        Strays "ratchet.strays" "Processes that were left running and ended.",
        Tokens "gen_ai.client.token.usage" "Tokens of each spawn, by class and agent.",
        Cost "ratchet.cost" "What agents say they cost, in US dollars.",
        CostUnknown "ratchet.cost.unknown" "Spawns that told no cost.",
        Workers "cicd.worker.count" "Room for commands at this supervisor, by state.",
        Dropped "ratchet.telemetry.dropped" "Spans, log records and metric exports that were given up, by signal.",
    }
}

/// What became of a task, in the words of the CI/CD conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskResult {
    /// It did what it was to do; also when a person must approve it.
    Success,
    /// The agent, or the evidence, says no.
    Failure,
    /// Something broke.
    Error,
    /// A limit ended it.
    Timeout,
    /// Somebody stopped it.
    Cancellation,
    /// Nothing was run.
    Skip,
}

impl TaskResult {
    /// Returns the word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Cancellation => "cancellation",
            Self::Skip => "skip",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_name_is_given_twice() {
        let unique = |names: &[&str]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
        assert!(unique(&Attribute::ALL.iter().map(|name| name.as_str()).collect::<Vec<_>>()));
        assert!(unique(&MetricName::ALL.iter().map(|name| name.as_str()).collect::<Vec<_>>()));
        assert!(unique(&EventName::ALL.iter().map(|name| name.as_str()).collect::<Vec<_>>()));
    }

    #[test]
    fn a_foreign_name_is_short_and_drives_no_terminal() {
        let tool = format!("Ba\u{1b}[31msh{}", "x".repeat(500));
        let text = SpanName::ExecuteTool(&tool).text();
        assert!(!text.contains('\u{1b}') && text.len() <= "execute_tool ".len() + 64, "{text}");
    }
}
