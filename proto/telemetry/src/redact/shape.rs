//! What tokens look like that say by their beginning what they are.

use super::Place;
use super::stream::More;

/// A kind of token: how it begins, and what follows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// How it begins.
    pub(super) prefix: &'static str,
    /// What else it is made of.
    alphabet: Alphabet,
    /// How many of these must follow at least.
    least: usize,
    /// What stands before it.
    before: Before,
    /// Whether the beginning is hidden, too.
    kept: Kept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    /// Letters and digits.
    Plain,
    /// Capitals and digits.
    Capitals,
    /// Letters, digits, `_` and `-`.
    Word,
    /// The parts of a JSON web token, and the dots between them.
    Web,
    /// What RFC 6750 allows in a bearer token.
    Bearer,
}

/// Whether a token begins anywhere: `task-…` is none of those that begin with `sk-`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    NoWord,
    Anything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Nothing,
    Prefix,
}

const fn token(prefix: &'static str, alphabet: Alphabet, least: usize) -> Shape {
    Shape { prefix, alphabet, least, before: Before::NoWord, kept: Kept::Nothing }
}

const fn bearer(prefix: &'static str) -> Shape {
    Shape {
        prefix,
        alphabet: Alphabet::Bearer,
        least: 16,
        before: Before::Anything,
        kept: Kept::Prefix,
    }
}

/// The kinds that are known.
pub(super) const SHAPES: [Shape; 25] = [
    token("sk-", Alphabet::Word, 20),
    token("sk_live_", Alphabet::Plain, 16),
    token("sk_test_", Alphabet::Plain, 16),
    token("rk_live_", Alphabet::Plain, 16),
    token("ghp_", Alphabet::Plain, 20),
    token("gho_", Alphabet::Plain, 20),
    token("ghu_", Alphabet::Plain, 20),
    token("ghs_", Alphabet::Plain, 20),
    token("ghr_", Alphabet::Plain, 20),
    token("github_pat_", Alphabet::Word, 20),
    token("glpat-", Alphabet::Word, 20),
    token("xoxb-", Alphabet::Word, 16),
    token("xoxp-", Alphabet::Word, 16),
    token("xapp-", Alphabet::Word, 16),
    token("AKIA", Alphabet::Capitals, 16),
    token("ASIA", Alphabet::Capitals, 16),
    token("AIza", Alphabet::Word, 30),
    token("hf_", Alphabet::Plain, 30),
    token("npm_", Alphabet::Plain, 30),
    token("pypi-", Alphabet::Word, 30),
    token("eyJ", Alphabet::Web, 24),
    bearer("Bearer "),
    bearer("bearer "),
    bearer("BEARER "),
    bearer("Bearer%20"),
];

/// The most bytes of the head of a web token.
const WEB_HEAD: usize = 512;

impl Shape {
    /// Says whether a byte can go on in a token of this kind.
    pub(super) fn goes_on(&self, byte: u8) -> bool {
        match self.alphabet {
            Alphabet::Plain => byte.is_ascii_alphanumeric(),
            Alphabet::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alphabet::Word => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Alphabet::Web => byte.is_ascii_alphanumeric() || b"_-.".contains(&byte),
            Alphabet::Bearer => byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte),
        }
    }

    /// Looks at a place where its beginning was found.
    pub(super) fn judge(&'static self, before: &[u8], text: &[u8], at: usize, more: More) -> Place {
        if self.before == Before::NoWord && ends_in_a_word(before) {
            return Place::Plain;
        }
        let start = at + self.prefix.len();
        let run = text[start..].iter().take_while(|byte| self.goes_on(**byte)).count();
        let may_go_on = more == More::May && start + run == text.len();
        let from = match self.kept {
            Kept::Nothing => at,
            Kept::Prefix => start,
        };
        let enough = match self.alphabet {
            Alphabet::Web => is_web(&text[start..start + run]),
            Alphabet::Plain | Alphabet::Capitals | Alphabet::Word | Alphabet::Bearer => {
                run >= self.least
            }
        };
        if enough {
            let run_on = may_go_on.then_some(self);
            Place::Secret { from, to: start + run, run: run_on }
        } else if may_go_on && run < WEB_HEAD {
            Place::Open
        } else {
            Place::Plain
        }
    }
}

/// The second part of a web token begins as its first does.
fn is_web(rest: &[u8]) -> bool {
    let dot = rest.iter().position(|byte| *byte == b'.');
    dot.is_some_and(|dot| dot >= 8 && rest[dot + 1..].starts_with(b"eyJ"))
}

/// An escaped newline or tab before it ends in a letter, and in no word.
fn ends_in_a_word(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b't' | b'r'] => false,
        [.., last] => last.is_ascii_alphanumeric(),
        [] => false,
    }
}
