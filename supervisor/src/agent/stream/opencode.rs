//! The events of `opencode run --format json`: whole parts, no pieces; a tool call comes when it has ended.
//!
//! There is no closing event: the last step says why it finished, and any reason but a tool call is the end.

use super::json::Json;
use super::prose::{one_line, say};
use super::tools::{self, Outcome};
use super::{AgentEvent, Final, Known, Sink};
use crate::agent::failure::Failure;

#[derive(Debug)]
pub(super) struct Parser;

impl Parser {
    pub(super) fn event(&self, kind: &str, json: &Json, sink: Sink<'_>) -> Known {
        let part = json.get("part").unwrap_or(&Json::Null);
        match kind {
            "step_start" => sink(AgentEvent::Started {
                session: json.text("sessionID").map(str::to_owned),
                model: None,
            }),
            "text" => say(part.text("text").unwrap_or(""), sink),
            "reasoning" => sink(AgentEvent::Quiet),
            "tool_use" => tool_use(part, sink),
            "step_finish" => step_finish(part, sink),
            "error" => sink(AgentEvent::Final(error(json.get("error").unwrap_or(&Json::Null)))),
            _ => return Known::No,
        }
        Known::Yes
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

fn step_finish(part: &Json, sink: Sink<'_>) {
    let failure = match part.text("reason") {
        Some("stop") => None,
        Some("length" | "content-filter") => Some(Failure::Other),
        // A tool's answer goes to the model next; of a reason that is not known nothing is concluded.
        _ => return sink(AgentEvent::Quiet),
    };
    let tokens = |key| part.get("tokens").and_then(|tokens| tokens.count(key));
    sink(AgentEvent::Final(Final {
        failure,
        text: failure.and_then(|_| part.text("reason")).map(|why| format!("stopped by: {why}")),
        tokens: tokens("input").zip(tokens("output")),
        cost: part.number("cost").filter(|cost| *cost > 0.0),
        denials: 0,
    }));
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
