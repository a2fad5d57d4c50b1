//! Events as pieces of text with a style; the caller writes them and knows about colour (spec `agents-and-runtimes` 8).
//!
//! Bytes that are no event go through as they are, uncopied. Nothing is decided here.

use std::borrow::Cow;

use super::stream::{AgentEvent, Final};

/// How a piece of text is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As the agent printed it.
    Plain,
    /// The agent's words.
    Prose,
    /// The sign and the name of a tool.
    Tool,
    /// What a tool works on, what it answered, figures: less important than the rest.
    Faint,
    /// It went well.
    Good,
    /// It went wrong.
    Bad,
    /// Worth a look.
    Warning,
}

/// A piece of text; it may hold newlines, and is bytes because an agent may print anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// How it is meant.
    pub style: Style,
    /// The text.
    pub text: Cow<'a, [u8]>,
}

/// The line above an agent's last word.
const RULE: &str = "────────────────────────────────────────";
const CLIP: usize = 200;

/// Hands the pieces of one event to `put`. Every shown event ends its line.
pub fn render<'a>(event: &'a AgentEvent<'_>, put: &mut dyn FnMut(Piece<'a>)) {
    let mut line = Line { put };
    match event {
        AgentEvent::Raw { bytes, ends_line } => {
            (line.put)(Piece { style: Style::Plain, text: Cow::Borrowed(bytes) });
            if *ends_line {
                line.end();
            }
        }
        AgentEvent::Text(text) => {
            line.borrow(Style::Prose, text);
            line.end();
        }
        AgentEvent::ToolCall { tool, target } => {
            line.own(Style::Tool, format!("{} {tool}", glyph(tool)));
            if !target.is_empty() {
                line.own(Style::Faint, format!(" {target}"));
            }
            line.end();
        }
        AgentEvent::ToolResult { lines, more, error } => {
            line.borrow(Style::Faint, "  ↳");
            if *error {
                line.borrow(Style::Bad, if lines.is_empty() { " error" } else { " error:" });
            }
            if !lines.is_empty() {
                line.own(Style::Faint, format!(" {}", preview(lines, *more)));
            }
            line.end();
        }
        AgentEvent::Retry { attempt, delay_ms, reason } => {
            line.own(Style::Warning, retry(*attempt, *delay_ms, reason));
            line.end();
        }
        AgentEvent::Denied { tool, reason } => {
            line.own(Style::Warning, format!("⊘ denied {tool}: {reason}"));
            line.end();
        }
        AgentEvent::Notice(text) => {
            line.own(Style::Warning, format!("! {text}"));
            line.end();
        }
        AgentEvent::Final(last_word) => line.last_word(last_word),
        AgentEvent::Started { .. } | AgentEvent::Quiet => {}
    }
}

struct Line<'p, 'a> {
    put: &'p mut dyn FnMut(Piece<'a>),
}

impl<'a> Line<'_, 'a> {
    fn borrow(&mut self, style: Style, text: &'a str) {
        (self.put)(Piece { style, text: Cow::Borrowed(text.as_bytes()) });
    }

    fn own(&mut self, style: Style, text: String) {
        (self.put)(Piece { style, text: Cow::Owned(text.into_bytes()) });
    }

    fn end(&mut self) {
        self.borrow(Style::Plain, "\n");
    }

    fn last_word(&mut self, last: &'a Final) {
        self.borrow(Style::Faint, RULE);
        self.end();
        match &last.failure {
            None => self.borrow(Style::Good, "✔ success"),
            Some(_) => self.borrow(Style::Bad, "✘ error"),
        }
        if let (Some(_), Some(text)) = (&last.failure, &last.text) {
            self.own(Style::Bad, format!(": {}", clipped(text)));
        }
        if let Some((input, output)) = last.tokens {
            self.own(Style::Faint, format!("  {input} in / {output} out tok"));
        }
        if let Some(cost) = last.cost {
            self.own(Style::Faint, format!("  ${cost:.4}"));
        }
        if last.denials > 0 {
            let calls = if last.denials == 1 { "call" } else { "calls" };
            self.own(Style::Warning, format!("  {} {calls} denied", last.denials));
        }
        self.end();
    }
}

fn glyph(tool: &str) -> &'static str {
    let name = tool.to_ascii_lowercase();
    match name.as_str() {
        "edit" | "multiedit" | "write" | "notebookedit" | "write_file" | "replace"
        | "apply_patch" | "patch" | "applypatch" | "searchreplace" | "delete" => "✎",
        "read" | "notebookread" | "read_file" | "read_many_files" => "◉",
        "bash" | "shell" | "run_shell_command" => "⚙",
        "grep" | "glob" | "grep_search" | "search_file_content" => "🔍",
        _ if name.contains("web") => "🌐",
        _ => "•",
    }
}

/// At most three lines in one, and how many lines are not shown in full.
fn preview(lines: &[String], more: usize) -> String {
    let mut room = CLIP;
    let mut shown = String::new();
    let mut cut = 0;
    for line in lines {
        let line_and_gap = line.chars().count() + usize::from(!shown.is_empty());
        if line_and_gap > room {
            cut += 1;
        }
        let gap = if shown.is_empty() { "" } else { " " };
        shown.extend(gap.chars().chain(line.chars()).take(room));
        room = room.saturating_sub(line_and_gap);
    }
    match cut + more {
        0 => shown,
        hidden => format!("{} … (+{hidden} more)", shown.trim_end()),
    }
}

fn retry(attempt: Option<(u64, u64)>, delay_ms: Option<u64>, reason: &str) -> String {
    let mut text = String::from("↻ retry");
    if let Some((n, of)) = attempt {
        text.push_str(&format!(" {n}/{of}"));
    }
    if let Some(delay) = delay_ms {
        text.push_str(&format!(" in {}.{} s", delay / 1000, delay % 1000 / 100));
    }
    format!("{text}: {reason}")
}

fn clipped(text: &str) -> String {
    let one_line: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect();
    let one_line = one_line.join(" ");
    if one_line.chars().count() <= CLIP {
        return one_line;
    }
    one_line.chars().take(CLIP - 1).chain(['…']).collect()
}
