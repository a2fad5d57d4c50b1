//! The events of `opencode run --format json`: whole parts, no pieces; a tool call comes when it has ended.
//!
//! There is no closing event: the last step says why it finished, and any reason but a tool call is the end.

use ratchet_engine::usage::{Usage, Usd};

use super::json::Json;
use super::meter::Meter;
use super::prose::{one_line, say};
use super::tools::{self, Outcome};
use super::{AgentEvent, Final, Known, Sink};
use crate::agent::failure::Failure;

#[derive(Debug, Default)]
pub(super) struct Parser {
    meter: Meter,
}

impl Parser {
    pub(super) fn event(&mut self, kind: &str, json: &Json, sink: Sink<'_>) -> Known {
        let part = json.get("part").unwrap_or(&Json::Null);
        match kind {
            "step_start" => sink(AgentEvent::Started {
                session: json.text("sessionID").map(str::to_owned),
                model: None,
            }),
            "text" => say(part.text("text").unwrap_or(""), sink),
            "reasoning" => sink(AgentEvent::Quiet),
            "tool_use" => tool_use(part, sink),
            "step_finish" => {
                self.meter.step(counts(part));
                let last_word = step_finish(part);
                if last_word.is_some() {
                    self.meter.over();
                }
                sink(last_word.map_or(AgentEvent::Quiet, AgentEvent::Final));
            }
            "error" => sink(AgentEvent::Final(error(json.get("error").unwrap_or(&Json::Null)))),
            _ => return Known::No,
        }
        Known::Yes
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }
}

fn tool_use(part: &Json, sink: Sink<'_>) {
    let state = part.get("state").unwrap_or(&Json::Null);
    tools::call(part.text("tool").unwrap_or("?"), state.get("input"), sink);
    let exited_zero =
        state.get("metadata").and_then(|data| data.number("exit")).is_none_or(|exit| exit == 0.0);
    let fine = exited_zero && state.text("status") != Some("error");
    let text = state.text("output").or(state.text("error")).unwrap_or("");
    tools::result(text, if fine { Outcome::Fine } else { Outcome::Failed }, sink);
}

/// The tokens and the price of one step; its classes are disjoint. A price of 0 is what a model without a price has.
fn counts(step: &Json) -> Usage {
    let tokens =
        |path: &[&str], key| step.at(path).and_then(|tokens| tokens.count(key)).unwrap_or(0);
    Usage {
        input_tokens: tokens(&["tokens"], "input"),
        cached_input_tokens: tokens(&["tokens", "cache"], "read"),
        cache_write_tokens: tokens(&["tokens", "cache"], "write"),
        output_tokens: tokens(&["tokens"], "output"),
        reasoning_tokens: tokens(&["tokens"], "reasoning"),
        cost_usd: step.number("cost").filter(|cost| *cost > 0.0).and_then(Usd::from_dollars),
    }
}

fn step_finish(part: &Json) -> Option<Final> {
    let failure = match part.text("reason") {
        Some("stop") => None,
        Some("length" | "content-filter") => Some(Failure::Other),
        // A tool's answer goes to the model next; of a reason that is not known nothing is concluded.
        _ => return None,
    };
    let tokens = |key| part.get("tokens").and_then(|tokens| tokens.count(key));
    Some(Final {
        failure,
        text: failure.and_then(|_| part.text("reason")).map(|why| format!("stopped by: {why}")),
        tokens: tokens("input").zip(tokens("output")),
        cost: part.number("cost").filter(|cost| *cost > 0.0),
        denials: 0,
    })
}

fn error(error: &Json) -> Final {
    let message = error.at(&["data", "message"]).and_then(Json::as_text);
    let text = message.or(error.text("name")).unwrap_or("");
    let status = error.get("data").and_then(|data| data.count("statusCode"));
    let failure = match status.map(Failure::from_status) {
        None | Some(Failure::Other) => Failure::from_text(text),
        Some(failure) => failure,
    };
    Final { failure: Some(failure), text: Some(one_line(text)), ..Final::default() }
}
