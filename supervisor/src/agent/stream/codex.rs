//! The events of `codex exec --json`: items that start and complete, between a turn's start and its end.
//!
//! An `error` item is only a warning and an `error` event mostly a retry; `turn.failed` alone is final. A command that
//! its sandbox stopped has no event at all.

use std::borrow::Cow;

use ratchet_engine::usage::Usage;

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
        match kind {
            "thread.started" => sink(AgentEvent::Started {
                session: json.text("thread_id").map(str::to_owned),
                model: None,
            }),
            "turn.started" | "item.updated" => sink(AgentEvent::Quiet),
            "item.started" => started(json.get("item"), sink),
            "item.completed" => completed(json.get("item"), sink),
            "error" => error(json.text("message").unwrap_or(""), sink),
            "turn.completed" => {
                let usage = json.get("usage");
                if let Some(usage) = usage {
                    self.meter.total(counts(usage));
                }
                sink(AgentEvent::Final(Final {
                    tokens: usage.and_then(|usage| {
                        usage.count("input_tokens").zip(usage.count("output_tokens"))
                    }),
                    ..Final::default()
                }));
            }
            "turn.failed" => {
                let text = json.at(&["error", "message"]).and_then(Json::as_text).unwrap_or("");
                let text = plain(text);
                sink(AgentEvent::Final(Final {
                    failure: Some(Failure::from_text(&text)),
                    text: Some(text.into_owned()),
                    ..Final::default()
                }));
            }
            _ => return Known::No,
        }
        Known::Yes
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }
}

/// The tokens of the whole thread up to here. What came from or went to the cache is part of the input, reasoning part of the
/// output. No price is named.
fn counts(usage: &Json) -> Usage {
    let count = |key| usage.count(key).unwrap_or(0);
    let (cached, written) = (count("cached_input_tokens"), count("cache_write_input_tokens"));
    let reasoning = count("reasoning_output_tokens");
    Usage {
        input_tokens: count("input_tokens").saturating_sub(cached).saturating_sub(written),
        cached_input_tokens: cached,
        cache_write_tokens: written,
        output_tokens: count("output_tokens").saturating_sub(reasoning),
        reasoning_tokens: reasoning,
        cost_usd: None,
    }
}

fn started(item: Option<&Json>, sink: Sink<'_>) {
    let Some(item) = item else { return sink(AgentEvent::Quiet) };
    match item.text("type") {
        Some("command_execution") => {
            let command = item.text("command").unwrap_or("");
            match unwrapped(command) {
                Some(inner) => tools::call_on("shell", &inner, sink),
                None => tools::call_on("shell", command, sink),
            }
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
        return sink(AgentEvent::Notice(one_line(&plain(message))));
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

/// Takes the words out of a provider's answer, which comes as the JSON it was.
fn plain(message: &str) -> Cow<'_, str> {
    let json = Json::object(message.as_bytes());
    let inner = json.as_ref().and_then(|json| json.at(&["error", "message"]));
    match inner.and_then(Json::as_text) {
        Some(inner) => Cow::Owned(inner.to_owned()),
        None => Cow::Borrowed(message),
    }
}

/// Takes the command out of the shell that runs it, as in `/bin/bash -lc 'make test'`; `None` if it is not just that.
fn unwrapped(command: &str) -> Option<String> {
    let (shell, rest) = command.split_once(' ')?;
    let known = ["bash", "sh", "zsh"].contains(&shell.rsplit('/').next()?);
    let word = rest.strip_prefix("-lc ").or_else(|| rest.strip_prefix("-c "))?;
    if known { unquoted(word) } else { None }
}

/// Reads the one shell word that a text is; `None` if it is more than one, or not whole.
fn unquoted(word: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    c => out.push(c),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => match chars.next()? {
                        c @ ('"' | '\\' | '$' | '`') => out.push(c),
                        c => out.extend(['\\', c]),
                    },
                    c => out.push(c),
                }
            },
            '\\' => out.push(chars.next()?),
            c if c.is_whitespace() => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_taken_out_of_its_shell() {
        for (wrapped, bare) in [
            ("/bin/bash -lc 'ls out'", "ls out"),
            ("bash -c ls", "ls"),
            (r#"/bin/bash -c "echo 'a' \"b\" \$c""#, r#"echo 'a' "b" $c"#),
            (r#"/bin/bash -c "s/"'^- '"\\[x\\]""#, r"s/^- \[x\]"),
        ] {
            assert_eq!(unwrapped(wrapped).as_deref(), Some(bare), "{wrapped}");
        }
        for other in
            ["ls -l", "/bin/bash -c ls out", "bash -c 'ls", "bash script.sh", "python -c 'x'", ""]
        {
            assert_eq!(unwrapped(other), None, "{other}");
        }
    }

    #[test]
    fn a_providers_answer_is_reduced_to_its_words() {
        let answer = r#"{"error": {"message": "Your credit balance is too low", "type": "x"}}"#;
        assert_eq!(plain(answer), "Your credit balance is too low");
        assert_eq!(plain("stream disconnected"), "stream disconnected");
        assert_eq!(plain(r#"{"other": 1}"#), r#"{"other": 1}"#);
    }
}
