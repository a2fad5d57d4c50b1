//! Gemini CLI's `stream-json`. Its answer comes in pieces only, and never again as a whole.
//!
//! A command that exits non-zero, or that its injection check refused, still counts as a success here.

use ratchet_engine::usage::Usage;

use super::json::Json;
use super::meter::Meter;
use super::prose::{Prose, one_line};
use super::tools::{self, Outcome};
use super::{AgentEvent, Final, Known, Sink};
use crate::agent::failure::Failure;

#[derive(Debug, Default)]
pub(super) struct Parser {
    prose: Prose,
    meter: Meter,
}

impl Parser {
    pub(super) fn event(&mut self, kind: &str, json: &Json, sink: Sink<'_>) -> Known {
        if kind == "message" {
            self.message(json, sink);
            return Known::Yes;
        }
        let owned = |key: &str| json.text(key).map(str::to_owned);
        match kind {
            "init" => {
                sink(AgentEvent::Started { session: owned("session_id"), model: owned("model") });
            }
            "tool_use" => {
                self.flush(sink);
                tools::call(json.text("tool_name").unwrap_or("?"), json.get("parameters"), sink);
            }
            "tool_result" => {
                self.flush(sink);
                let output = json.text("output");
                let error = json.at(&["error", "message"]).and_then(Json::as_text);
                let outcome = match json.text("status") {
                    Some("error") => Outcome::Failed,
                    _ => Outcome::Fine,
                };
                tools::result(output.or(error).unwrap_or(""), outcome, sink);
            }
            "error" => {
                self.flush(sink);
                sink(AgentEvent::Notice(one_line(json.text("message").unwrap_or(""))));
            }
            "result" => {
                self.flush(sink);
                if let Some(stats) = json.get("stats") {
                    self.meter.total(counts(stats));
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

    pub(super) fn flush(&mut self, sink: Sink<'_>) {
        self.prose.flush(sink);
    }

    /// The prompt comes back as a message of the user's.
    fn message(&mut self, json: &Json, sink: Sink<'_>) {
        let text = json.text("content").unwrap_or("");
        if json.text("role") == Some("assistant") {
            self.prose.push(text, sink);
            if !json.is_true("delta") {
                self.flush(sink);
            }
        }
        sink(AgentEvent::Quiet);
    }
}

/// The tokens of the whole run. What came from the cache is part of the input; what the total has beyond input and output is
/// thinking. No price is named.
fn counts(stats: &Json) -> Usage {
    let count = |key| stats.count(key).unwrap_or(0);
    let (input, output, cached) = (count("input_tokens"), count("output_tokens"), count("cached"));
    Usage {
        input_tokens: input.saturating_sub(cached),
        cached_input_tokens: cached,
        output_tokens: output,
        reasoning_tokens: count("total_tokens").saturating_sub(input).saturating_sub(output),
        ..Usage::default()
    }
}

fn last_word(json: &Json) -> Final {
    let text = json.at(&["error", "message"]).and_then(Json::as_text);
    let failure = match (json.text("status"), json.at(&["error", "type"]).and_then(Json::as_text)) {
        (Some("success"), _) => None,
        (_, Some("FatalTurnLimitedError")) => Some(Failure::Turns),
        (_, Some("FatalAuthenticationError")) => Some(Failure::Login),
        _ => Some(Failure::from_text(text.unwrap_or(""))),
    };
    let stats = json.get("stats");
    let tokens = |key| stats.and_then(|stats| stats.count(key));
    Final {
        failure,
        text: text.map(str::to_owned),
        tokens: tokens("input_tokens").zip(tokens("output_tokens")),
        ..Final::default()
    }
}
