//! Text that an agent writes for a person: pieces joined to lines, control characters taken out, long things clipped.

use super::lines::MAX_LINE;
use super::{AgentEvent, Sink};

/// The longest target or result that is shown, in characters (spec `agents-and-runtimes` 8).
pub(super) const CLIP: usize = 200;

/// Joins pieces of text and hands on each line when it is complete.
#[derive(Debug, Default)]
pub(super) struct Prose {
    pending: String,
}

impl Prose {
    /// Takes the next piece.
    pub(super) fn push(&mut self, piece: &str, sink: Sink<'_>) {
        self.pending.push_str(piece);
        if let Some(end) = self.pending.rfind('\n') {
            let rest = self.pending.split_off(end + 1);
            say(&self.pending, sink);
            self.pending = rest;
        } else if self.pending.len() > MAX_LINE {
            self.flush(sink);
        }
    }

    /// Hands on the line that has not been finished.
    pub(super) fn flush(&mut self, sink: Sink<'_>) {
        if !self.pending.is_empty() {
            say(&self.pending, sink);
            self.pending.clear();
        }
    }
}

/// Hands on a finished text; empty text is nothing.
pub(super) fn say(text: &str, sink: Sink<'_>) {
    if !text.is_empty() {
        let text = text.strip_suffix('\n').unwrap_or(text);
        sink(AgentEvent::Text(text.chars().filter(|c| is_harmless(*c)).collect()));
    }
}

/// Puts a text on one line of at most [`CLIP`] characters; the last is `…` if something was cut.
pub(super) fn one_line(text: &str) -> String {
    let mut line = first_line(text, CLIP + 1);
    if line.chars().count() > CLIP {
        line = line.chars().take(CLIP - 1).collect();
        line.push('…');
    }
    line
}

/// Puts the first `limit` characters of a text on one line: white space becomes single spaces.
pub(super) fn first_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut room = limit;
    let words = text.split(|c: char| c.is_whitespace() || !is_harmless(c));
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() && room > 0 {
            line.push(' ');
            room -= 1;
        }
        if room == 0 {
            break;
        }
        let before = line.len();
        line.extend(word.chars().take(room));
        room -= line[before..].chars().count();
    }
    line
}

/// Whether a terminal just shows the character. An agent's words must not move the cursor.
fn is_harmless(c: char) -> bool {
    c == '\n' || c == '\t' || !c.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[&str]) -> Vec<String> {
        let mut texts = Vec::new();
        let mut sink = |event: AgentEvent<'_>| match event {
            AgentEvent::Text(text) => texts.push(text),
            other => panic!("{other:?}"),
        };
        let mut prose = Prose::default();
        for piece in pieces {
            prose.push(piece, &mut sink);
        }
        prose.flush(&mut sink);
        texts
    }

    #[test]
    fn pieces_come_out_as_lines() {
        assert_eq!(joined(&["a", "b\nc", "\n\n", "d"]), ["ab", "c\n", "d"]);
        assert_eq!(joined(&["a\n"]), ["a"]);
        assert!(joined(&["", ""]).is_empty());
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(joined(&["a\u{1b}[2Jb\u{9b}c\td"]), ["a[2Jbc\td"]);
        assert_eq!(one_line("rm\n -rf\u{7} x"), "rm -rf x");
    }

    #[test]
    fn a_long_text_is_clipped_by_characters() {
        assert_eq!(one_line(&"ü".repeat(CLIP)), "ü".repeat(CLIP));
        let cut = one_line(&"ü ".repeat(CLIP));
        assert_eq!(cut.chars().count(), CLIP);
        assert!(cut.ends_with('…'));
        assert_eq!(one_line(&"x".repeat(500)).chars().count(), CLIP);
    }
}
