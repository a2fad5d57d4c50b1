//! The language of the fake agent: what it does, in order, for each kind of step. A script is JSON, so that the agent
//! is a separate program like a real one; tests build it with the constructors here. `src/bin/fake_agent.rs` obeys it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::asked::Kind;

/// The environment variable that names the script when the agent stands in for a real one (`claude`, `codex`…) and so
/// can't take it as an argument. Its prefix lets it through the environment allow-list.
pub const SCRIPT_VAR: &str = "RATCHET_FAKE_AGENT_SCRIPT";

/// What the agent does: by kind of step, or always the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// What to do whatever is asked. A script that only has this need not read its prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<Action>,
    /// What to do for one kind of step, after `always`. With any of these the prompt is read first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub on: BTreeMap<Kind, Vec<Action>>,
}

/// One thing an agent does. Paths are relative to where the agent was started, the project's root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    // Input.
    /// Reads the prompt to its end. Without this, or `on`, the agent never touches its standard input.
    ReadPrompt,
    /// Writes the prompt, as it was read, to a file.
    SavePrompt { path: String },
    /// Writes its arguments, one a line, to a file.
    SaveArguments { path: String },
    /// Writes its environment, `NAME=value` each ended by a NUL, to a file.
    SaveEnvironment { path: String },
    /// Asks a question on the terminal and waits for the answer; goes on at once when there is no terminal.
    AskOnTerminal { question: String },

    // Output.
    /// Prints a text to standard output, as it is.
    Print { text: String },
    /// Prints a text to standard error.
    PrintError { text: String },
    /// Prints bytes that need not be UTF-8.
    PrintBytes { bytes: Vec<u8> },
    /// Prints one line of that many bytes.
    PrintLongLine { bytes: usize },
    /// Prints that many bytes in lines of 100.
    Flood { bytes: u64 },
    /// Prints `count` lines that each hold the monotonic clock in nanoseconds, one every `every_us` microseconds.
    PrintClock { count: u32, every_us: u64 },
    /// Turns its standard output away and goes on.
    CloseOutput,

    // Work.
    /// Writes a file, its parents too.
    Write { path: String, text: String },
    /// Writes a file of any bytes.
    WriteBytes { path: String, bytes: Vec<u8> },
    /// Appends to a file in one write; `{pid}` in the text becomes the agent's id, `{spawn}` that of its spawn.
    Append { path: String, text: String },
    /// Appends to `log`, in one write, that the agent has begun: `<spawn> <note> intended`, or `unintended` when the
    /// file `intent` does not name the spawn.
    Start { log: String, intent: String, note: String },
    /// Removes a file or a folder with all it holds.
    Remove { path: String },
    /// Makes a change's folder with a feature and a plan of `tasks` open boxes. No change given: the one asked for.
    Plan { change: Option<String>, tasks: u32 },
    /// Ticks the first `tasks` open boxes of a change's plan; all when absent.
    Tick { change: Option<String>, tasks: Option<u32> },
    /// Runs a command with `sh -c` and waits for it.
    Run { command: String },
    /// Reports to ratchet with the command that the prompt gives: a flag and a text, in which `{spawn}` becomes the agent's
    /// spawn. When the command fails the agent exits with 97.
    Report { flag: String, text: String },
    /// Runs `ratchet` with these arguments, whatever the prompt says.
    Ratchet { arguments: Vec<String> },

    // Time.
    /// Waits until a file is there: how a test holds an agent at a point of its work.
    WaitFor { path: String },
    /// Does nothing for that many microseconds.
    Pause { us: u64 },
    /// Never goes on.
    Hang,

    // Processes and signals.
    /// Starts a process that obeys `actions`, and does not wait for it. It keeps the output open.
    Background { actions: Vec<Action> },
    /// Like `Background`, without any output and with an empty environment: nothing marks it as ours.
    BackgroundUnmarked { actions: Vec<Action> },
    /// Makes itself the leader of a new session, out of reach of its old process group.
    NewSession,
    /// Never ends of a TERM signal: becomes a shell that ignores it and then obeys `actions`.
    IgnoreTerm { actions: Vec<Action> },
    /// Waits for a TERM signal, then exits with 0 as if all were well. Creates `ready` when it is listening.
    TrapTermAndExitZero { ready: String },
    /// Ends itself by this signal (`KILL`, `SEGV`, `TERM`).
    DieBy { signal: String },
    /// Exits with this code, at once.
    Exit { code: u8 },
}

impl Script {
    /// Does the same whatever is asked, and never reads its prompt unless told to.
    pub fn always(actions: impl IntoIterator<Item = Action>) -> Self {
        Self { always: actions.into_iter().collect(), on: BTreeMap::new() }
    }

    /// Adds what to do for one kind of step.
    #[must_use]
    pub fn on(mut self, kind: Kind, actions: impl IntoIterator<Item = Action>) -> Self {
        self.on.insert(kind, actions.into_iter().collect());
        self
    }

    /// An agent as it should be: plans two tasks, does them, checks them, reports each. Leaves one line for each run
    /// in `agent-runs.log`: its step.
    pub fn honest() -> Self {
        Self::default()
            .on(
                Kind::Propose,
                [
                    Action::ran("propose"),
                    Action::Plan { change: None, tasks: 2 },
                    Action::complete("planned two tasks"),
                ],
            )
            .on(
                Kind::Apply,
                [
                    Action::ran("apply"),
                    Action::Tick { change: None, tasks: None },
                    Action::complete("did both tasks"),
                ],
            )
            .on(
                Kind::Verify,
                [Action::ran("verify"), Action::complete("All scenarios hold. Ready for archive.")],
            )
            .on(Kind::Pr, [Action::ran("pr"), Action::complete("opened the pull request")])
    }
}

impl Action {
    /// Reports completion.
    pub fn complete(text: &str) -> Self {
        Self::report("--complete", text)
    }

    /// Reports a blocker.
    pub fn blocker(text: &str) -> Self {
        Self::report("--blocker", text)
    }

    /// Reports under any flag.
    pub fn report(flag: &str, text: &str) -> Self {
        Self::Report { flag: flag.to_owned(), text: text.to_owned() }
    }

    /// Leaves a line in `agent-runs.log`; the number of lines is the number of runs.
    pub fn ran(what: &str) -> Self {
        Self::append(RUNS, &format!("{what}\n"))
    }

    /// Prints a line.
    pub fn say(line: &str) -> Self {
        Self::Print { text: format!("{line}\n") }
    }

    /// Writes a file.
    pub fn write(path: &str, text: &str) -> Self {
        Self::Write { path: path.to_owned(), text: text.to_owned() }
    }

    /// Appends to a file.
    pub fn append(path: &str, text: &str) -> Self {
        Self::Append { path: path.to_owned(), text: text.to_owned() }
    }

    /// Waits for a file.
    pub fn wait_for(path: &str) -> Self {
        Self::WaitFor { path: path.to_owned() }
    }

    /// Runs a shell command.
    pub fn run(command: &str) -> Self {
        Self::Run { command: command.to_owned() }
    }

    /// Exits.
    pub fn exit(code: u8) -> Self {
        Self::Exit { code }
    }
}

/// Where [`Action::ran`] leaves its lines.
pub const RUNS: &str = "agent-runs.log";
