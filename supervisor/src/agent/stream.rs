//! What an agent prints, read as neutral events: bytes in, [`AgentEvent`]s out.
//!
//! For showing only. Events decide nothing: a step is judged by its report and the tree. What they tell the supervisor is
//! that the agent has said its last word ([`Final`]), so that one which then hangs can be ended, and its own account of a
//! failure, for a person to read.
//! Memory is bounded, nothing panics, and what is not understood comes out as it went in. The formats move: unknown
//! types are expected (spec `agents-and-runtimes` 8).

use ratchet_engine::usage::SpawnUsage;

use self::json::Json;
use self::lines::{Line, Lines, Part};
use self::meter::Meter;
use self::prose::one_line;
use super::failure::Failure;

mod claude;
mod codex;
mod cursor;
mod gemini;
mod json;
mod lines;
mod meter;
mod opencode;
mod prose;
mod skim;
mod tools;

pub use self::lines::MAX_LINE;
pub use self::skim::Skim;

/// The formats that agents print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFormat {
    /// Plain lines.
    Raw,
    /// Claude Code's `stream-json`.
    Claude,
    /// `codex exec --json`.
    Codex,
    /// Gemini CLI's `stream-json`.
    Gemini,
    /// Cursor's `stream-json`.
    Cursor,
    /// `opencode run --format json`.
    Opencode,
}

/// Something an agent said or did.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent<'a> {
    /// The session has begun.
    Started {
        /// What resumes it.
        session: Option<String>,
        /// The model that answers.
        model: Option<String>,
    },
    /// Words for a person; without the newline that ends them.
    Text(String),
    /// A tool is called.
    ToolCall {
        /// The tool, by the agent's own name for it.
        tool: String,
        /// What it works on, on one line.
        target: String,
    },
    /// A tool has answered.
    ToolResult {
        /// The first lines that are not blank, at most three, and of each at most 201 characters.
        lines: Vec<String>,
        /// How many more there were.
        more: usize,
        /// The tool failed.
        error: bool,
    },
    /// A request to the model failed and will be made again.
    Retry {
        /// Which attempt failed, and of how many.
        attempt: Option<(u64, u64)>,
        /// The pause before the next one, in milliseconds.
        delay_ms: Option<u64>,
        /// Why it failed.
        reason: String,
    },
    /// A call was refused because nobody can approve it.
    Denied {
        /// The tool.
        tool: String,
        /// Why.
        reason: String,
    },
    /// The agent warns of something that does not end it.
    Notice(String),
    /// The agent's last word.
    Final(Final),
    /// Understood, and nothing to show.
    Quiet,
    /// Bytes that are not an event, as they were printed.
    Raw {
        /// The bytes, without a newline.
        bytes: &'a [u8],
        /// The line ends here. False for all parts but the last of a line over [`MAX_LINE`].
        ends_line: bool,
    },
}

/// What an agent says of itself when it ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Final {
    /// Why it failed; `None` if it calls itself successful.
    pub failure: Option<Failure>,
    /// Its closing words, or its error.
    pub text: Option<String>,
    /// Tokens in and out.
    pub tokens: Option<(u64, u64)>,
    /// What it cost, in US dollars.
    pub cost: Option<f64>,
    /// How many calls were refused.
    pub denials: usize,
}

/// What is known of a stream so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamFacts {
    /// At least one event was understood.
    pub saw_event: bool,
    /// The agent's last word, if it came.
    pub last_word: Option<Final>,
    /// The id that resumes the session.
    pub session: Option<String>,
    /// The model that answers, by the agent's own name for it.
    pub model: Option<String>,
    /// What it has used so far.
    pub usage: SpawnUsage,
    /// Why its last request to the model failed, if nothing has come since.
    pub trouble: Option<String>,
}

/// Where events go.
pub type Sink<'a> = &'a mut dyn FnMut(AgentEvent<'_>);

/// Reads the output of one agent.
#[derive(Debug)]
pub struct AgentStream {
    lines: Lines,
    reader: Reader,
}

/// Whether a parser knew an event. It emits nothing for one it did not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Yes,
    No,
}

#[derive(Debug)]
struct Reader {
    parser: Parser,
    facts: StreamFacts,
}

#[derive(Debug)]
enum Parser {
    Raw,
    Claude(Box<claude::Parser>),
    Codex(codex::Parser),
    Gemini(gemini::Parser),
    Cursor(cursor::Parser),
    Opencode(opencode::Parser),
}

impl AgentStream {
    /// Makes a reader of one format.
    #[must_use]
    pub fn new(format: StreamFormat) -> Self {
        Self { lines: Lines::default(), reader: Reader::new(format) }
    }

    /// Takes the next bytes of standard output, cut anywhere.
    pub fn push(&mut self, bytes: &[u8], sink: Sink<'_>) {
        let Self { lines, reader } = self;
        lines.push(bytes, &mut |line| reader.read(line, sink));
    }

    /// Takes the end of the output: what was held back comes out.
    pub fn finish(&mut self, sink: Sink<'_>) {
        let Self { lines, reader } = self;
        lines.finish(&mut |line| reader.read(line, sink));
        reader.parser.flush(sink);
    }

    /// Returns what is known so far.
    #[must_use]
    pub fn facts(&self) -> &StreamFacts {
        &self.reader.facts
    }
}

impl Reader {
    fn new(format: StreamFormat) -> Self {
        let parser = match format {
            StreamFormat::Raw => Parser::Raw,
            StreamFormat::Claude => Parser::Claude(Box::default()),
            StreamFormat::Codex => Parser::Codex(codex::Parser::default()),
            StreamFormat::Gemini => Parser::Gemini(gemini::Parser::default()),
            StreamFormat::Cursor => Parser::Cursor(cursor::Parser::default()),
            StreamFormat::Opencode => Parser::Opencode(opencode::Parser::default()),
        };
        Self { parser, facts: StreamFacts::default() }
    }

    fn read(&mut self, line: Line<'_>, sink: Sink<'_>) {
        let Self { parser, facts } = self;
        let event = match (line.part, &parser) {
            (Part::Piece | Part::Tail, _) | (Part::Whole, Parser::Raw) => None,
            (Part::Whole, _) => Json::object(line.bytes),
        };
        let mut noting = |event: AgentEvent<'_>| {
            facts.note(&event);
            sink(event);
        };
        if event.is_some_and(|json| parser.event(&json, &mut noting) == Known::Yes) {
            facts.saw_event = true;
            if let Some(meter) = parser.meter() {
                facts.usage = meter.reading();
            }
            return;
        }
        parser.flush(sink);
        let ends_line = matches!(line.part, Part::Whole | Part::Tail);
        sink(AgentEvent::Raw { bytes: line.bytes, ends_line });
    }
}

impl StreamFacts {
    fn note(&mut self, event: &AgentEvent<'_>) {
        match event {
            AgentEvent::Final(last_word) => self.last_word = Some(last_word.clone()),
            AgentEvent::Started { session, model } => {
                self.session = session.clone().or(self.session.take());
                self.model = model.clone().or(self.model.take());
            }
            AgentEvent::Retry { reason, .. } => self.trouble = Some(reason.clone()),
            AgentEvent::Text(_) | AgentEvent::ToolCall { .. } | AgentEvent::ToolResult { .. } => {
                self.trouble = None;
            }
            AgentEvent::Denied { .. }
            | AgentEvent::Notice(_)
            | AgentEvent::Quiet
            | AgentEvent::Raw { .. } => {}
        }
    }

    /// Gives the agent's account of its own failure: the error it ended with, or the trouble it was in when it was ended.
    /// `by_code` is what its exit code is known to mean, and counts where its words tell less.
    #[must_use]
    pub fn account(&self, by_code: Option<Failure>) -> Option<String> {
        let (failure, text) = match (&self.last_word, &self.trouble) {
            (Some(last_word), _) => (last_word.failure.or(by_code)?, last_word.text.as_deref()),
            (None, Some(reason)) => (Failure::from_text(reason), Some(reason.as_str())),
            (None, None) => (by_code?, None),
        };
        let failure = if failure == Failure::Other { by_code.unwrap_or(failure) } else { failure };
        Some(explained(failure, text))
    }
}

/// Says what a failure is known to be, and the agent's text for it.
fn explained(failure: Failure, text: Option<&str>) -> String {
    match (failure, text.map(one_line).filter(|text| !text.is_empty())) {
        (Failure::Other, Some(text)) => text,
        (failure, Some(text)) => format!("{failure}: {text}"),
        (failure, None) => failure.to_string(),
    }
}

impl Parser {
    fn event(&mut self, json: &Json, sink: Sink<'_>) -> Known {
        let Some(kind) = json.text("type") else { return Known::No };
        match self {
            Self::Raw => Known::No,
            Self::Claude(parser) => parser.event(kind, json, sink),
            Self::Codex(parser) => parser.event(kind, json, sink),
            Self::Gemini(parser) => parser.event(kind, json, sink),
            Self::Cursor(parser) => parser.event(kind, json, sink),
            Self::Opencode(parser) => parser.event(kind, json, sink),
        }
    }

    fn meter(&self) -> Option<&Meter> {
        match self {
            Self::Raw => None,
            Self::Claude(parser) => Some(parser.meter()),
            Self::Codex(parser) => Some(parser.meter()),
            Self::Gemini(parser) => Some(parser.meter()),
            Self::Cursor(parser) => Some(parser.meter()),
            Self::Opencode(parser) => Some(parser.meter()),
        }
    }

    /// Hands on text that waits for its line to end, so that nothing overtakes it.
    fn flush(&mut self, sink: Sink<'_>) {
        match self {
            Self::Claude(parser) => parser.flush(sink),
            Self::Gemini(parser) => parser.flush(sink),
            Self::Raw | Self::Codex(_) | Self::Cursor(_) | Self::Opencode(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
