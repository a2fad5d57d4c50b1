//! The facts of a stream without all of its events, for whoever shows only its beginning: most later lines are recognised
//! as telling none and are not parsed.
//!
//! A type that is spelled with escapes is overlooked. No agent does so, and facts decide nothing ([`super`]).

use memchr::memmem::Finder;

use super::lines::Lines;
use super::{Reader, Sink, StreamFacts, StreamFormat};

/// Reads the facts in the output of one agent.
#[derive(Debug)]
pub struct Skim {
    lines: Lines,
    reader: Reader,
    telling: Vec<Finder<'static>>,
    calling: Vec<Finder<'static>>,
}

impl Skim {
    /// Makes a reader of one format.
    #[must_use]
    pub fn new(format: StreamFormat) -> Self {
        let finders = |words: &[&'static str]| words.iter().copied().map(Finder::new).collect();
        let (telling, calling) = (finders(words(format)), finders(tool_words(format)));
        Self { lines: Lines::default(), reader: Reader::new(format), telling, calling }
    }

    /// Takes the next bytes of standard output, cut anywhere, and gives every event of them.
    pub fn push_shown(&mut self, bytes: &[u8], sink: Sink<'_>) {
        let Self { lines, reader, .. } = self;
        lines.push(bytes, &mut |line| reader.read(line, sink));
    }

    /// Takes the next bytes, cut anywhere, for their facts only.
    pub fn push(&mut self, bytes: &[u8]) {
        let Self { lines, reader, telling, .. } = self;
        if telling.is_empty() {
            return;
        }
        lines.push(bytes, &mut |line| {
            // Only what comes after a trouble tells whether it is over.
            let open = !reader.facts.saw_event || reader.facts.trouble.is_some();
            if open || telling.iter().any(|word| word.find(line.bytes).is_some()) {
                reader.read(line, &mut |_| {});
            }
        });
    }

    /// As [`Skim::push`], and gives the events of lines that call a tool or have its answer.
    pub fn push_tools(&mut self, bytes: &[u8], sink: Sink<'_>) {
        let Self { lines, reader, telling, calling } = self;
        lines.push(bytes, &mut |line| {
            let open = !reader.facts.saw_event || reader.facts.trouble.is_some();
            let has =
                |words: &[Finder<'_>]| words.iter().any(|word| word.find(line.bytes).is_some());
            if open || has(telling) || has(calling) {
                reader.read(line, sink);
            }
        });
    }

    /// Takes the end of the output, and gives what is known.
    pub fn finish(self, sink: Sink<'_>) -> StreamFacts {
        let Self { mut lines, mut reader, .. } = self;
        lines.finish(&mut |line| reader.read(line, sink));
        reader.facts
    }

    /// Returns what is known so far.
    #[must_use]
    pub fn facts(&self) -> &StreamFacts {
        &self.reader.facts
    }
}

/// The words of which each line that tells a fact has at least one: types of events, and subtypes.
fn words(format: StreamFormat) -> &'static [&'static str] {
    match format {
        StreamFormat::Raw => &[],
        StreamFormat::Claude => {
            &["\"result\"", "\"init\"", "\"rate_limit_event\"", "\"usage\"", "\"api_retry\""]
        }
        StreamFormat::Codex => {
            &["\"turn.completed\"", "\"turn.failed\"", "\"thread.started\"", "\"error\""]
        }
        StreamFormat::Gemini | StreamFormat::Cursor => &["\"result\"", "\"init\""],
        StreamFormat::Opencode => &["\"step_finish\"", "\"step_start\"", "\"error\""],
    }
}

/// The same for lines that call a tool, or have its answer.
fn tool_words(format: StreamFormat) -> &'static [&'static str] {
    match format {
        StreamFormat::Raw => &[],
        StreamFormat::Claude => &["\"tool_use\"", "\"tool_result\""],
        StreamFormat::Codex => &["\"item.started\"", "\"item.completed\""],
        StreamFormat::Gemini => &["\"tool_use\"", "\"tool_result\""],
        StreamFormat::Cursor => &["\"tool_call\""],
        StreamFormat::Opencode => &["\"tool_use\"", "\"tool\""],
    }
}
