//! Hides secrets in what is shown: values that are known, in the usual encodings too, and what looks like a token.
//!
//! Works on bytes that may be cut anywhere, and holds back no more than what could still become a secret. It stands before
//! the display of output, messages of journals, spans and log lines; what is stored of an agent's output stays as it came.
//! It cannot know a secret that nobody told it of and that looks like nothing in particular.

mod encoding;
mod shape;
mod stream;

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use self::shape::{SHAPES, Shape};
pub use self::stream::Stream;

/// What stands in place of a secret.
pub const MARK: &str = "***";

/// The shortest value that counts as a secret, in bytes: shorter ones are words of every text.
pub const SHORTEST: usize = 8;

/// The longest, in bytes: as much is held back at most.
const LONGEST: usize = 16 << 10;

/// How much of a needle the automaton knows; the rest is compared. Keeps it small, however long the secrets are.
const HEAD: usize = 8;

/// The secrets of this process, and the redactor that was made of them.
static KNOWN: Mutex<Known> = Mutex::new(Known { values: VecDeque::new(), made: None });

/// How many values are known at most; the one that came first goes first. A supervisor has many callers, and their tokens
/// change.
const MOST_VALUES: usize = 256;

/// Up to so many heads the automaton may be the fast and large one.
const FEW_HEADS: usize = 1000;

struct Known {
    values: VecDeque<Vec<u8>>,
    made: Option<Arc<Redactor>>,
}

/// Has values hidden from now on, by everybody in this process. Short ones, and paths, are passed over.
pub fn know<'a>(values: impl IntoIterator<Item = &'a [u8]>) {
    let mut known = known();
    for value in values.into_iter().map(<[u8]>::trim_ascii).filter(|value| is_telling(value)) {
        if known.values.iter().any(|old| old == value) {
            continue;
        }
        if known.values.len() == MOST_VALUES {
            known.values.pop_front();
        }
        known.values.push_back(value.to_vec());
        known.made = None;
    }
}

/// Returns the redactor of everything that is known.
#[must_use]
pub fn current() -> Arc<Redactor> {
    let mut known = known();
    if let Some(made) = &known.made {
        return Arc::clone(made);
    }
    let made = Arc::new(Redactor::new(known.values.iter().map(Vec::as_slice)));
    known.made = Some(Arc::clone(&made));
    made
}

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_telling(value: &[u8]) -> bool {
    (SHORTEST..=LONGEST).contains(&value.len()) && !value.starts_with(b"/")
}

/// Finds secrets.
#[derive(Debug)]
pub struct Redactor {
    automaton: AhoCorasick,
    /// By the number of the pattern in the automaton.
    heads: Vec<Head>,
    /// Bytes with which a head begins.
    first: [bool; 256],
}

/// The beginning of one or more things to hide.
#[derive(Debug)]
struct Head {
    bytes: Vec<u8>,
    /// Whole values that begin so.
    needles: Vec<Vec<u8>>,
    shape: Option<&'static Shape>,
}

/// What a place in a text turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing to hide.
    Plain,
    /// Nobody can tell before more is there.
    Open,
    /// To be hidden: from here, to there, and whatever of these bytes follows.
    Secret { from: usize, to: usize, run: Option<&'static Shape> },
}

impl Redactor {
    /// Makes a redactor of these values, and of the shapes of tokens.
    ///
    /// # Panics
    /// Never: the heads are few and short.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let needles: BTreeSet<Vec<u8>> = values.into_iter().flat_map(encoding::forms).collect();
        let mut heads: Vec<Head> = Vec::new();
        for needle in needles {
            let bytes = needle[..needle.len().min(HEAD)].to_vec();
            match heads.last_mut().filter(|last| last.bytes == bytes) {
                Some(last) => last.needles.push(needle),
                None => heads.push(Head { bytes, needles: vec![needle], shape: None }),
            }
        }
        for shape in &SHAPES {
            let bytes = shape.prefix.as_bytes().to_vec();
            heads.push(Head { bytes, needles: Vec::new(), shape: Some(shape) });
        }
        let mut first = [false; 256];
        for head in &heads {
            first[usize::from(head.bytes[0])] = true;
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind((heads.len() <= FEW_HEADS).then_some(AhoCorasickKind::DFA))
            .build(heads.iter().map(|head| &head.bytes))
            .expect("a few thousand short heads fit into an automaton");
        Self { automaton, heads, first }
    }

    /// Begins to hide secrets in a stream.
    #[must_use]
    pub fn stream(self: &Arc<Self>) -> Stream {
        Stream::new(Arc::clone(self))
    }

    /// Hides the secrets of a text that is whole.
    #[must_use]
    pub fn bytes(&self, text: &[u8]) -> Vec<u8> {
        let mut clean = Vec::with_capacity(text.len());
        let mut state = stream::State::default();
        state.take(self, text, stream::More::No, &mut |bytes| clean.extend_from_slice(bytes));
        clean
    }

    /// Hides the secrets of a text, in its place.
    pub fn clean(&self, text: &mut String) {
        if self.automaton.is_match(text.as_bytes()) {
            *text = String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned();
        }
    }

    /// As [`Redactor::clean`], for a text that is given away.
    #[must_use]
    pub fn cleaned(&self, mut text: String) -> String {
        self.clean(&mut text);
        text
    }

    /// Finds the next head at or after a place: where it begins, and which it is.
    fn head(&self, text: &[u8], from: usize) -> Option<(usize, &Head)> {
        let found = self.automaton.find(Input::new(text).range(from..))?;
        Some((found.start(), &self.heads[found.pattern().as_usize()]))
    }

    /// Finds the first place after which everything could be the beginning of a head.
    fn half_a_head(&self, text: &[u8], from: usize) -> Option<usize> {
        let longest = self.heads.iter().map(|head| head.bytes.len()).max().unwrap_or(1);
        let from = from.max(text.len().saturating_sub(longest - 1));
        (from..text.len()).find(|at| {
            let rest = &text[*at..];
            self.first[usize::from(rest[0])]
                && self
                    .heads
                    .iter()
                    .any(|head| head.bytes.len() > rest.len() && head.bytes.starts_with(rest))
        })
    }
}

impl Head {
    /// Looks at a place where it was found. `before` is what stands there, as far as it is known.
    fn judge(&self, before: &[u8], text: &[u8], at: usize, more: stream::More) -> Place {
        let rest = &text[at..];
        let whole = self.needles.iter().filter(|needle| rest.starts_with(needle)).map(Vec::len);
        let whole = whole.max();
        let open = more == stream::More::May
            && self
                .needles
                .iter()
                .any(|needle| needle.len() > rest.len() && needle.starts_with(rest));
        match (whole, &self.shape) {
            // What is longer may still come, and would be cut in the middle.
            _ if open => Place::Open,
            (Some(length), _) => Place::Secret { from: at, to: at + length, run: None },
            (None, Some(shape)) => shape.judge(before, text, at, more),
            (None, None) => Place::Plain,
        }
    }
}

#[cfg(test)]
mod tests;
