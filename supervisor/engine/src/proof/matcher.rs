//! Searches the standard output of a proof-of-work, fed in pieces, in bounded memory. It decides about the output only;
//! what the exit says comes first and is [`Finding`]'s.
//!
//! Plain texts are searched in all bytes, whatever their encoding. A pattern needs text: it sees the end of the output
//! ([`PLAIN_WINDOW`] or [`HARD_WINDOW`] bytes), decoded with replacement. When something was cut off in front, a
//! stand-in line takes its place, so that `^` cannot match at the cut, and a failure says what was searched.

use std::fmt;

use fancy_regex::{Regex, RegexBuilder};
use memchr::memmem;

use super::condition::{Condition, ConditionKind, classify};
use super::{Finding, Search};
use crate::outcome::SessionEnd;

/// How many bytes of the output's end a pattern sees if it can be matched in linear time.
pub const PLAIN_WINDOW: usize = 16 << 20;

/// How many bytes a pattern sees that needs backtracking (look-around, back-references).
pub const HARD_WINDOW: usize = 32 << 10;

/// Backtracking steps times bytes of text. One step may look at the whole rest of the text, so it is their product that
/// bounds the time: about ten seconds for the worst pattern on the fullest window.
const WORK: usize = 8 << 30;
/// Backtracking steps on any text, however short.
const STEPS: usize = 4_000_000;
/// Characters of an excerpt.
const EXCERPT: usize = 200;

/// A search over output that arrives in pieces.
#[derive(Debug)]
pub struct Matcher {
    pass: String,
    kind: Option<ConditionKind>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The condition does not ask for output.
    NotAsked,
    /// The condition cannot be read, so nothing satisfies it.
    Never,
    Text {
        finder: Box<memmem::Finder<'static>>,
        /// The last bytes seen, one fewer than the needle has: a hit may lie across two pieces.
        overlap: Vec<u8>,
        found: bool,
    },
    Pattern {
        pattern: String,
        window: Window,
    },
}

/// The last bytes of a stream.
#[derive(Debug)]
struct Window {
    limit: usize,
    bytes: Vec<u8>,
    cut: bool,
}

impl Matcher {
    /// Starts a search for what a pass condition asks for. A condition that cannot be read is never satisfied.
    #[must_use]
    pub fn new(pass: &str) -> Self {
        let condition = classify(pass).ok();
        let kind = condition.as_ref().map(Condition::kind);
        let state = match condition {
            None => State::Never,
            Some(Condition::ExitZero) => State::NotAsked,
            Some(Condition::Contains(needle) | Condition::Substring(needle)) => State::Text {
                finder: Box::new(memmem::Finder::new(&needle).into_owned()),
                overlap: Vec::new(),
                found: false,
            },
            Some(Condition::Regex(pattern)) => {
                let limit = if is_linear(&pattern) { PLAIN_WINDOW } else { HARD_WINDOW };
                State::Pattern { pattern, window: Window::new(limit) }
            }
        };
        Self { pass: pass.to_owned(), kind, state }
    }

    /// Takes the next piece of standard output.
    pub fn feed(&mut self, piece: &[u8]) {
        match &mut self.state {
            State::NotAsked | State::Never | State::Text { found: true, .. } => {}
            State::Text { finder, overlap, found } => *found = search(finder, overlap, piece),
            State::Pattern { window, .. } => window.push(piece),
        }
    }

    /// Ends the search and judges the run.
    pub fn finish(self, end: &SessionEnd) -> Finding {
        // The exit comes first; a pattern is not even tried on the output of a failed command.
        let search = match self.state {
            State::NotAsked => Search::NotAsked,
            State::Never => Search::Missing { only: None },
            State::Text { finder, found: true, .. } => {
                Search::Found { excerpt: excerpt(&String::from_utf8_lossy(finder.needle())) }
            }
            State::Text { found: false, .. } => Search::Missing { only: None },
            State::Pattern { .. } if *end != SessionEnd::Exited(0) => {
                Search::Missing { only: None }
            }
            State::Pattern { pattern, window } => match_pattern(&pattern, &window),
        };
        Finding::new(&self.pass, self.kind, end, search)
    }
}

/// Looks for the needle in the overlap and the piece, and keeps what the next piece may complete.
fn search(finder: &memmem::Finder<'_>, overlap: &mut Vec<u8>, piece: &[u8]) -> bool {
    let keep = finder.needle().len().saturating_sub(1);
    let mut seam = std::mem::take(overlap);
    seam.extend_from_slice(&piece[..piece.len().min(keep)]);
    if finder.find(&seam).is_some() || finder.find(piece).is_some() {
        return true;
    }
    let tail = if piece.len() >= keep { piece } else { seam.as_slice() };
    *overlap = tail[tail.len().saturating_sub(keep)..].to_vec();
    false
}

fn match_pattern(pattern: &str, window: &Window) -> Search {
    let text = window.text();
    let steps = STEPS.min(WORK / text.len().max(1));
    let regex = match RegexBuilder::new(pattern).backtrack_limit(steps).build() {
        Ok(regex) => regex,
        Err(error) => return given_up(&error),
    };
    match regex.find(&text) {
        Ok(Some(hit)) => Search::Found { excerpt: excerpt(hit.as_str()) },
        Ok(None) => Search::Missing { only: window.only() },
        Err(error) => given_up(&error),
    }
}

fn given_up(error: &fancy_regex::Error) -> Search {
    Search::GivenUp { why: format!("the pattern could not be searched to the end: {error}") }
}

/// Says whether a pattern is matched in linear time, without the backtracking machine.
///
/// The crate tells it in its debug print only. Should that print change, every pattern counts as hard: slower to be
/// satisfied, never wrong.
fn is_linear(pattern: &str) -> bool {
    struct Shape(Regex);
    impl fmt::Display for Shape {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.debug_print(f)
        }
    }
    Regex::new(pattern).is_ok_and(|regex| Shape(regex).to_string().starts_with("wrapped"))
}

fn excerpt(text: &str) -> String {
    text.chars().take(EXCERPT).collect()
}

impl Window {
    fn new(limit: usize) -> Self {
        Self { limit, bytes: Vec::new(), cut: false }
    }

    /// Keeps the last bytes. They are moved only when the buffer is twice too long, so each byte moves once.
    fn push(&mut self, mut piece: &[u8]) {
        if piece.len() > self.limit {
            self.cut = true;
            piece = &piece[piece.len() - self.limit..];
        }
        if self.bytes.len() + piece.len() > 2 * self.limit {
            let drop = self.bytes.len() - self.limit.min(self.bytes.len());
            self.bytes.drain(..drop);
        }
        self.bytes.extend_from_slice(piece);
        self.cut |= self.bytes.len() > self.limit;
    }

    fn text(&self) -> String {
        let start = self.bytes.len().saturating_sub(self.limit);
        let kept = String::from_utf8_lossy(&self.bytes[start..]);
        if self.cut { format!("\u{FFFD}\n{kept}") } else { kept.into_owned() }
    }

    fn only(&self) -> Option<String> {
        self.cut.then(|| format!("only its last {} KiB were searched", self.limit >> 10))
    }
}
