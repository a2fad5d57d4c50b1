//! Cursor's `stream-json`: Claude Code's messages, with tool calls as events of their own.
//!
//! Known from its documents only. The tool is the one member of `tool_call`, as `readToolCall`; on a failure there
//! may be no `result` at all, and after one it sometimes does not exit.

use ratchet_engine::usage::Usage;

use super::json::Json;
use super::meter::Meter;
use super::prose::say;
use super::tools::{self, Outcome};
use super::{AgentEvent, Final, Known, Sink};
use crate::agent::failure::Failure;

#[derive(Debug, Default)]
pub(super) struct Parser {
    meter: Meter,
}

impl Parser {
    pub(super) fn event(&mut self, kind: &str, json: &Json, sink: Sink<'_>) -> Known {
        match kind {
            "system" => system(json, sink),
            "assistant" => {
                for block in json.at(&["message", "content"]).map_or(&[][..], Json::items) {
                    say(block.text("text").unwrap_or(""), sink);
                }
                sink(AgentEvent::Quiet);
            }
            "user" | "thinking" => sink(AgentEvent::Quiet),
            "tool_call" => tool_call(json, sink),
            "result" => {
                if let Some(usage) = json.get("usage") {
                    self.meter.total(counts(usage));
                }
                sink(AgentEvent::Final(last_word(json)));
            }
            _ => return Known::No,
        }
        Known::Yes
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }
}

fn counts(usage: &Json) -> Usage {
    let count = |key| usage.count(key).unwrap_or(0);
    Usage {
        input_tokens: count("inputTokens"),
        cached_input_tokens: count("cacheReadTokens"),
        cache_write_tokens: count("cacheWriteTokens"),
        output_tokens: count("outputTokens"),
        ..Usage::default()
    }
}

fn system(json: &Json, sink: Sink<'_>) {
    let owned = |key: &str| json.text(key).map(str::to_owned);
    sink(match json.text("subtype") {
        Some("init") => AgentEvent::Started { session: owned("session_id"), model: owned("model") },
        _ => AgentEvent::Quiet,
    });
}

fn tool_call(json: &Json, sink: Sink<'_>) {
    let call = json.get("tool_call").and_then(|call| call.members().first());
    let Some((name, call)) = call else { return sink(AgentEvent::Quiet) };
    let tool = name.strip_suffix("ToolCall").unwrap_or(name);
    match json.text("subtype") {
        Some("started") => tools::call(tool, call.get("args"), sink),
        Some("completed") => match call.get("result").and_then(|result| result.members().first()) {
            Some((word, result)) => {
                let text = ["content", "stdout", "output", "message", "error", "reason"]
                    .iter()
                    .find_map(|key| result.text(key));
                let outcome = if word == "success" { Outcome::Fine } else { Outcome::Failed };
                tools::result(text.unwrap_or(""), outcome, sink);
            }
            None => sink(AgentEvent::Quiet),
        },
        _ => sink(AgentEvent::Quiet),
    }
}

fn last_word(json: &Json) -> Final {
    let text = json.text("result").map(str::to_owned);
    let failed =
        json.is_true("is_error") || json.text("subtype").is_some_and(|word| word != "success");
    let usage = json.get("usage");
    let tokens = |key| usage.and_then(|usage| usage.count(key));
    Final {
        failure: failed.then(|| Failure::from_text(text.as_deref().unwrap_or(""))),
        text,
        tokens: tokens("inputTokens").zip(tokens("outputTokens")),
        ..Final::default()
    }
}
