//! Tool calls and their results, as far as all agents have them alike.

use super::json::Json;
use super::prose::{CLIP, first_line, one_line};
use super::{AgentEvent, Sink};

/// Where the interesting argument of a call is, the most telling name first (spec `agents-and-runtimes` 8).
const TARGETS: [&str; 15] = [
    "file_path",
    "notebook_path",
    "command",
    "cmd",
    "pattern",
    "url",
    "query",
    "absolute_path",
    "filePath",
    "path",
    "globPattern",
    "searchTerm",
    "dir_path",
    "directory",
    "description",
];

/// How many lines of a result are shown.
const RESULT_LINES: usize = 3;

/// How a tool call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Fine,
    Failed,
}

/// Hands on a call, with its target taken from the arguments.
pub(super) fn call(tool: &str, arguments: Option<&Json>, sink: Sink<'_>) {
    let target = arguments.and_then(target).unwrap_or("");
    call_on(tool, target, sink);
}

/// Hands on a call whose target is known.
pub(super) fn call_on(tool: &str, target: &str, sink: Sink<'_>) {
    sink(AgentEvent::ToolCall { tool: one_line(tool), target: one_line(target) });
}

/// Hands on a result.
pub(super) fn result(text: &str, outcome: Outcome, sink: Sink<'_>) {
    let error = outcome == Outcome::Failed;
    let mut all = text.lines().filter(|line| !line.trim().is_empty());
    let lines = all.by_ref().take(RESULT_LINES).map(|line| first_line(line, CLIP + 1)).collect();
    sink(AgentEvent::ToolResult { lines, more: all.count(), error });
}

fn target(arguments: &Json) -> Option<&str> {
    let named = TARGETS.iter().find_map(|key| arguments.text(key));
    named.or_else(|| arguments.members().iter().find_map(|(_, value)| value.as_text()))
}
