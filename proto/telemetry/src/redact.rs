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

use aho_corasick::{AhoCorasick, Input, MatchKind, packed};

use self::shape::{SHAPES, Shape};
use self::stream::More;
pub use self::stream::Stream;

/// What stands in place of a secret.
pub const MARK: &str = "***";

/// The shortest value that counts as a secret, in bytes: shorter ones are words of every text.
pub const SHORTEST: usize = 8;

/// The longest, in bytes: as much is held back at most.
const LONGEST: usize = 16 << 10;

/// How many bytes of a beginning the finder looks for; the rest is compared.
const HEAD: usize = 4;

/// The longest beginning of a kind of token.
const LONGEST_PREFIX: usize = 12;

/// The secrets of this process, and the redactor that was made of them.
static KNOWN: Mutex<Known> = Mutex::new(Known { values: VecDeque::new(), made: None });

/// How many values are known at most; the one that came first goes first. A supervisor has many callers, and their tokens
/// change.
const MOST_VALUES: usize = 256;

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
    finder: Finder,
    /// All forms of all values, by their first byte.
    needles: Vec<Vec<Vec<u8>>>,
    /// The beginnings that the finder looks for.
    heads: BTreeSet<Vec<u8>>,
}

/// Finds where something to hide could begin: by vector instructions, if the processor has them and the beginnings are few.
#[derive(Debug)]
enum Finder {
    Packed(packed::Searcher),
    Automaton(AhoCorasick),
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

impl Finder {
    fn new(heads: &BTreeSet<Vec<u8>>) -> Self {
        // Where something begins is all that is asked for, so that any kind of match will do.
        let packed = packed::Searcher::new(heads);
        packed.map_or_else(
            || {
                let automaton = AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostFirst)
                    .build(heads)
                    .expect("a few thousand short heads fit into an automaton");
                Self::Automaton(automaton)
            },
            Self::Packed,
        )
    }

    fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::Packed(searcher) => {
                Some(searcher.find_in(text, (from..text.len()).into())?.start())
            }
            Self::Automaton(automaton) => {
                Some(automaton.find(Input::new(text).range(from..))?.start())
            }
        }
    }
}

impl Redactor {
    /// Makes a redactor of these values, and of the shapes of tokens.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut needles = vec![Vec::new(); 256];
        let mut heads = BTreeSet::new();
        let forms: BTreeSet<Vec<u8>> = values.into_iter().flat_map(encoding::forms).collect();
        for form in forms {
            heads.insert(head_of(&form));
            needles[usize::from(form[0])].push(form);
        }
        heads.extend(SHAPES.iter().map(|shape| head_of(shape.prefix.as_bytes())));
        Self { finder: Finder::new(&heads), needles, heads }
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
        state.take(self, text, More::No, &mut |bytes| clean.extend_from_slice(bytes));
        clean
    }

    /// Hides the secrets of a text, in its place.
    pub fn clean(&self, text: &mut String) {
        if self.finder.find(text.as_bytes(), 0).is_some() {
            *text = String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned();
        }
    }

    /// As [`Redactor::clean`], for a text that is given away.
    #[must_use]
    pub fn cleaned(&self, mut text: String) -> String {
        self.clean(&mut text);
        text
    }

    /// Finds the next place, from here on, where something to hide could begin.
    fn candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        self.finder.find(text, from)
    }

    /// Looks at such a place. `before` is what stands there, as far as it is known.
    fn judge(&self, before: &[u8], text: &[u8], at: usize, more: More) -> Place {
        let rest = &text[at..];
        let mut found = Place::Plain;
        for needle in &self.needles[usize::from(rest[0])] {
            if more == More::May && needle.len() > rest.len() && needle.starts_with(rest) {
                // What is longer may still come, and would be cut in the middle.
                return Place::Open;
            }
            if rest.starts_with(needle) {
                found =
                    found.or_longer(Place::Secret { from: at, to: at + needle.len(), run: None });
            }
        }
        for shape in SHAPES.iter().filter(|shape| rest.starts_with(shape.prefix.as_bytes())) {
            match shape.judge(before, text, at, more) {
                // A value that is known need not wait until a token turns out to be none.
                Place::Open if found == Place::Plain => return Place::Open,
                Place::Open | Place::Plain => {}
                secret @ Place::Secret { .. } => found = found.or_longer(secret),
            }
        }
        if found == Place::Plain && more == More::May && self.is_half_a_prefix(rest) {
            return Place::Open;
        }
        found
    }

    /// A prefix that is longer than a head may be cut after it.
    fn is_half_a_prefix(&self, rest: &[u8]) -> bool {
        rest.len() < LONGEST_PREFIX
            && SHAPES.iter().any(|shape| {
                let prefix = shape.prefix.as_bytes();
                prefix.len() > rest.len() && prefix.starts_with(rest)
            })
    }

    /// Finds the first place after which everything could be the beginning of a head.
    fn half_a_head(&self, text: &[u8], from: usize) -> Option<usize> {
        let from = from.max(text.len().saturating_sub(HEAD - 1));
        (from..text.len()).find(|at| {
            let rest = &text[*at..];
            self.heads.iter().any(|head| head.len() > rest.len() && head.starts_with(rest))
        })
    }
}

impl Place {
    /// Gives the one that hides more.
    fn or_longer(self, other: Self) -> Self {
        match (self, other) {
            (Self::Secret { to: one, .. }, Self::Secret { to: two, .. }) if one >= two => self,
            (Self::Secret { .. } | Self::Plain | Self::Open, Self::Secret { .. }) => other,
            (_, Self::Plain | Self::Open) => self,
        }
    }
}

fn head_of(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(HEAD)].to_vec()
}

#[cfg(test)]
mod tests;
