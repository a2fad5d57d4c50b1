//! Claude Code's `stream-json`. The order of members is not fixed, and new types appear all the time.
//!
//! With partial messages the same text comes twice: in pieces while it is written, and whole when it is finished. It
//! is shown as it is written; the whole one is shown only if its pieces were not.

use ratchet_engine::usage::{Usage, Usd};

use super::json::Json;
use super::meter::Meter;
use super::prose::{Prose, one_line, say};
use super::tools::{self, Outcome};
use super::{AgentEvent, Final, Known, Sink};
use crate::agent::failure::Failure;

/// How much shown text is remembered, to know it again when it comes whole, in bytes.
const REMEMBERED: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Parser {
    prose: Prose,
    /// Text of the block that is being written.
    writing: Block,
    /// Texts of finished blocks whose whole message has not come yet.
    written: Vec<Block>,
    /// When the usage limit that was hit ends, in seconds since 1970.
    limit_resets_at: Option<u64>,
    meter: Meter,
}

/// Text that was shown in pieces: its beginning, and how long it was.
#[derive(Debug, Default)]
struct Block {
    start: String,
    len: usize,
}

impl Parser {
    pub(super) fn event(&mut self, kind: &str, json: &Json, sink: Sink<'_>) -> Known {
        match kind {
            "stream_event" => {
                self.count_partial(json);
                self.partial(json.get("event"), sink);
            }
            "assistant" => self.message(json, sink),
            "user" => self.results(json, sink),
            "system" => self.system(json, sink),
            "rate_limit_event" => self.rate_limit(json, sink),
            "tool_progress" => sink(AgentEvent::Quiet),
            "result" => self.result(json, sink),
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

    fn partial(&mut self, event: Option<&Json>, sink: Sink<'_>) {
        let piece = event.and_then(|event| event.at(&["delta", "text"])).and_then(Json::as_text);
        match (event.and_then(|event| event.text("type")), piece) {
            (Some("content_block_delta"), Some(piece)) => {
                self.writing.push(piece);
                self.prose.push(piece, sink);
            }
            (Some("content_block_start" | "content_block_stop"), _) => self.close_block(sink),
            (Some("message_start"), _) => {
                self.close_block(sink);
                self.written.clear();
            }
            _ => {}
        }
        sink(AgentEvent::Quiet);
    }

    fn close_block(&mut self, sink: Sink<'_>) {
        self.flush(sink);
        let block = std::mem::take(&mut self.writing);
        let remembered: usize = self.written.iter().map(|block| block.start.len()).sum();
        if block.len > 0 && remembered < REMEMBERED {
            self.written.push(block);
        }
    }

    /// Counts are in the beginning of a message (what it read) and in its end (what it wrote).
    fn count_partial(&mut self, json: &Json) {
        let parent = json.text("parent_tool_use_id");
        let Some(event) = json.get("event") else { return };
        match (event.text("type"), event.get("message"), event.get("usage")) {
            (Some("message_start"), Some(message), _) => self.count_message(message, parent),
            (Some("message_delta"), _, Some(usage)) => self.meter.newest(parent, counts(usage)),
            _ => {}
        }
    }

    fn count_message(&mut self, message: &Json, parent: Option<&str>) {
        if let (Some(id), Some(usage)) = (message.text("id"), message.get("usage")) {
            self.meter.message(id, parent, counts(usage));
        }
    }

    fn message(&mut self, json: &Json, sink: Sink<'_>) {
        if let Some(message) = json.get("message") {
            self.count_message(message, json.text("parent_tool_use_id"));
        }
        let content = json.at(&["message", "content"]).map_or(&[][..], Json::items);
        for block in content {
            match (block.text("type"), block.text("text"), block.text("name")) {
                (Some("text"), Some(text), _) => self.whole_text(text, sink),
                (Some("tool_use"), _, Some(tool)) => {
                    self.flush(sink);
                    tools::call(tool, block.get("input"), sink);
                }
                _ => {}
            }
        }
        sink(AgentEvent::Quiet);
    }

    fn whole_text(&mut self, text: &str, sink: Sink<'_>) {
        self.flush(sink);
        if self.writing.is(text) {
            self.writing = Block::default();
        } else if let Some(known) = self.written.iter().position(|block| block.is(text)) {
            self.written.remove(known);
        } else {
            say(text, sink);
        }
    }

    fn results(&mut self, json: &Json, sink: Sink<'_>) {
        self.flush(sink);
        let content = json.at(&["message", "content"]).map_or(&[][..], Json::items);
        for block in content.iter().filter(|block| block.text("type") == Some("tool_result")) {
            tools::result(&text_of(block.get("content")), outcome(block), sink);
        }
        sink(AgentEvent::Quiet);
    }

    fn system(&mut self, json: &Json, sink: Sink<'_>) {
        let owned = |key: &str| json.text(key).map(str::to_owned);
        let event = match json.text("subtype") {
            Some("init") => {
                AgentEvent::Started { session: owned("session_id"), model: owned("model") }
            }
            Some("api_retry") => AgentEvent::Retry {
                attempt: json.count("attempt").zip(json.count("max_retries")),
                delay_ms: json.count("retry_delay_ms"),
                reason: retry_reason(json),
            },
            Some("permission_denied") => AgentEvent::Denied {
                tool: one_line(json.text("tool_name").unwrap_or("")),
                reason: one_line(json.text("message").unwrap_or("")),
            },
            _ => AgentEvent::Quiet,
        };
        if event != AgentEvent::Quiet {
            self.flush(sink);
        }
        sink(event);
    }

    fn rate_limit(&mut self, json: &Json, sink: Sink<'_>) {
        let limit = json.get("rate_limit_info");
        if let Some(limit) = limit.filter(|limit| limit.text("status") == Some("rejected")) {
            self.limit_resets_at = limit.count("resetsAt");
        }
        sink(AgentEvent::Quiet);
    }

    fn result(&mut self, json: &Json, sink: Sink<'_>) {
        self.flush(sink);
        let usage = json.get("usage");
        if let Some(total) = total(json) {
            self.meter.total(total);
        }
        let tokens = |key| usage.and_then(|usage| usage.count(key));
        let errors: Vec<&str> = json
            .get("errors")
            .map_or(&[][..], Json::items)
            .iter()
            .filter_map(Json::as_text)
            .collect();
        let text = json.text("result").map(str::to_owned);
        sink(AgentEvent::Final(Final {
            failure: self.failure(json),
            text: text.or_else(|| (!errors.is_empty()).then(|| errors.join("; "))),
            tokens: tokens("input_tokens").zip(tokens("output_tokens")),
            cost: json.number("total_cost_usd"),
            denials: json.get("permission_denials").map_or(0, |denials| denials.items().len()),
        }));
    }

    /// An API failure calls itself `"subtype":"success"`; only `is_error` and what stands beside it count.
    fn failure(&self, json: &Json) -> Option<Failure> {
        let subtype = json.text("subtype").unwrap_or("");
        if !json.is_true("is_error") && !subtype.starts_with("error") {
            return None;
        }
        if json.text("terminal_reason").is_some_and(|reason| reason.starts_with("aborted")) {
            return Some(Failure::Interrupted);
        }
        let failure = match (subtype, json.text("api_error_type"), json.count("api_error_status")) {
            ("error_max_turns", ..) => Failure::Turns,
            ("error_max_budget_usd", ..) => Failure::Budget,
            (_, Some("authentication_error" | "permission_error"), _) => Failure::Login,
            (_, Some("not_found_error"), _) => Failure::Model,
            (_, Some("rate_limit_error"), _) => Failure::Limit { resets_at: None },
            (_, Some("overloaded_error" | "api_error"), _) => Failure::Provider,
            (_, _, Some(status)) if Failure::from_status(status) != Failure::Other => {
                Failure::from_status(status)
            }
            // No answer at all: the text then is only advice.
            _ if json.text("terminal_reason") == Some("api_error")
                && json.get("api_error_status") == Some(&Json::Null) =>
            {
                match Failure::from_text(json.text("result").unwrap_or("")) {
                    Failure::Other => Failure::Network,
                    told => told,
                }
            }
            _ => Failure::from_text(json.text("result").unwrap_or("")),
        };
        Some(match failure {
            Failure::Limit { .. } => Failure::Limit { resets_at: self.limit_resets_at },
            other => other,
        })
    }
}

impl Block {
    fn push(&mut self, piece: &str) {
        self.len += piece.len();
        if self.start.len() < REMEMBERED {
            self.start.push_str(piece);
        }
    }

    fn is(&self, text: &str) -> bool {
        self.len > 0 && self.len == text.len() && text.starts_with(&self.start)
    }
}

/// The tokens of one message or one turn of the main agent.
fn counts(usage: &Json) -> Usage {
    let count = |key| usage.count(key).unwrap_or(0);
    Usage {
        input_tokens: count("input_tokens"),
        cached_input_tokens: count("cache_read_input_tokens"),
        cache_write_tokens: count("cache_creation_input_tokens"),
        output_tokens: count("output_tokens"),
        ..Usage::default()
    }
}

/// The tokens and the price of the whole run: by model, which includes subagents and side calls, else those of the main agent.
fn total(result: &Json) -> Option<Usage> {
    let by_model = result.get("modelUsage").map(Json::members).filter(|models| !models.is_empty());
    let tokens = match by_model {
        Some(models) => {
            models.iter().map(|(_, model)| model_counts(model)).fold(Usage::default(), Usage::plus)
        }
        None => counts(result.get("usage")?),
    };
    let cost_usd = result.number("total_cost_usd").and_then(Usd::from_dollars);
    Some(Usage { cost_usd, ..tokens })
}

fn model_counts(model: &Json) -> Usage {
    let count = |key| model.count(key).unwrap_or(0);
    Usage {
        input_tokens: count("inputTokens"),
        cached_input_tokens: count("cacheReadInputTokens"),
        cache_write_tokens: count("cacheCreationInputTokens"),
        output_tokens: count("outputTokens"),
        ..Usage::default()
    }
}

fn outcome(result: &Json) -> Outcome {
    if result.is_true("is_error") { Outcome::Failed } else { Outcome::Fine }
}

fn retry_reason(json: &Json) -> String {
    let error = json.text("error").unwrap_or("no answer");
    let text = match json.count("error_status") {
        Some(status) => format!("{status} {error}"),
        None => error.to_owned(),
    };
    one_line(&text)
}

/// A result is a text, or a list of blocks of which some are text.
fn text_of(content: Option<&Json>) -> String {
    let Some(content) = content else { return String::new() };
    match content.as_text() {
        Some(text) => text.to_owned(),
        None => {
            let texts: Vec<&str> =
                content.items().iter().filter_map(|block| block.text("text")).collect();
            texts.join("\n")
        }
    }
}
