//! The events of `codex exec --json`: items that start and complete, between a turn's start and its end.
//!
//! An `error` item is only a warning and an `error` event mostly a retry; `turn.failed` alone is final. A command that
//! its sandbox stopped has no event at all.

use super::json::Json;
use super::prose::{one_line, say};
use super::tools::{self, Outcome};
use super::{AgentEvent, Final, Known, Sink};
use crate::agent::failure::Failure;

#[derive(Debug)]
pub(super) struct Parser;

impl Parser {
    pub(super) fn event(&self, kind: &str, json: &Json, sink: Sink<'_>) -> Known {
        match kind {
            "thread.started" => sink(AgentEvent::Started {
                session: json.text("thread_id").map(str::to_owned),
                model: None,
            }),
            "turn.started" | "item.updated" => sink(AgentEvent::Quiet),
            "item.started" => started(json.get("item"), sink),
            "item.completed" => completed(json.get("item"), sink),
            "error" => error(json.text("message").unwrap_or(""), sink),
            "turn.completed" => sink(AgentEvent::Final(Final {
                tokens: json.get("usage").and_then(|usage| {
                    usage.count("input_tokens").zip(usage.count("output_tokens"))
                }),
                ..Final::default()
            })),
            "turn.failed" => {
                let text = json.at(&["error", "message"]).and_then(Json::as_text).unwrap_or("");
                sink(AgentEvent::Final(Final {
                    failure: Some(Failure::from_text(text)),
                    text: Some(text.to_owned()),
                    ..Final::default()
                }));
            }
            _ => return Known::No,
        }
        Known::Yes
    }
}

fn started(item: Option<&Json>, sink: Sink<'_>) {
    let Some(item) = item else { return sink(AgentEvent::Quiet) };
    match item.text("type") {
        Some("command_execution") => {
            tools::call_on("shell", item.text("command").unwrap_or(""), sink);
        }
        Some("mcp_tool_call") => {
            let tool = format!(
                "{}.{}",
                item.text("server").unwrap_or("mcp"),
                item.text("tool").unwrap_or("?")
            );
            tools::call(&tool, item.get("arguments"), sink);
        }
        _ => sink(AgentEvent::Quiet),
    }
}

fn completed(item: Option<&Json>, sink: Sink<'_>) {
    let Some(item) = item else { return sink(AgentEvent::Quiet) };
    let went_well = item.text("status").is_none_or(|status| status == "completed");
    match item.text("type") {
        Some("agent_message") => say(item.text("text").unwrap_or(""), sink),
        Some("command_execution") => {
            let output = item.text("aggregated_output").unwrap_or("");
            let exited_zero = item.number("exit_code").is_none_or(|code| code == 0.0);
            let fine = went_well && exited_zero;
            tools::result(output, if fine { Outcome::Fine } else { Outcome::Failed }, sink);
        }
        Some("file_change") => {
            for change in item.get("changes").map_or(&[][..], Json::items) {
                let kind = change.text("kind").unwrap_or("edit");
                tools::call_on(
                    "apply_patch",
                    &format!("{kind} {}", change.text("path").unwrap_or("")),
                    sink,
                );
            }
            if !went_well {
                tools::result("the change was not made", Outcome::Failed, sink);
            }
        }
        Some("web_search") => tools::call("web_search", Some(item), sink),
        Some("mcp_tool_call") if !went_well => {
            let error = item.at(&["error", "message"]).and_then(Json::as_text).unwrap_or("failed");
            tools::result(error, Outcome::Failed, sink);
        }
        Some("error") => sink(AgentEvent::Notice(one_line(item.text("message").unwrap_or("")))),
        _ => {}
    }
    sink(AgentEvent::Quiet);
}

/// `Reconnecting... 1/5 (why)` is a retry; anything else is told again by `turn.failed`, if it is the end.
fn error(message: &str, sink: Sink<'_>) {
    let Some(rest) = message.strip_prefix("Reconnecting...") else {
        return sink(AgentEvent::Notice(one_line(message)));
    };
    let (count, why) = rest.split_once('(').unwrap_or((rest, ""));
    let attempt = count.trim().split_once('/');
    let reason = why.trim_end().strip_suffix(')').unwrap_or(why);
    sink(AgentEvent::Retry {
        attempt: attempt.and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?))),
        delay_ms: None,
        reason: one_line(if reason.is_empty() { rest } else { reason }),
    });
}
