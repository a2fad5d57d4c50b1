//! Reads typed values out of a tree and collects every problem on the way, with its path and place.
//!
//! A problem names the value it found, so that it can be recognised; the `secret_` readers name its kind only.

use std::collections::BTreeMap;
use std::fmt;

use super::{Member, Node, Value};
use crate::settings::Word;

/// One problem in a file that people write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Where in the tree, as `phases.0.changes.1.done`; `(root)` for the whole.
    pub path: String,
    /// What is wrong and what would be right.
    pub message: String,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)?;
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, " (line {line}, column {column})"),
            _ => Ok(()),
        }
    }
}

/// A way from the root to a node. It lives on the stack; only a problem spells it out.
#[derive(Clone, Copy)]
pub(crate) enum Trail<'p> {
    Root,
    Key(&'p Trail<'p>, &'p str),
    Index(&'p Trail<'p>, usize),
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("(root)"),
            Self::Key(Self::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(Self::Root, index) => write!(f, "{index}"),
            Self::Index(parent, index) => write!(f, "{parent}.{index}"),
        }
    }
}

/// Collects problems while values are read.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) issues: Vec<Issue>,
}

impl Issue {
    /// Makes an issue about a node.
    pub(crate) fn at(trail: &Trail<'_>, node: &Node, message: impl Into<String>) -> Self {
        Self {
            path: trail.to_string(),
            message: message.into(),
            line: Some(node.line),
            column: Some(node.column),
        }
    }
}

impl Reader {
    /// Notes a problem of a node.
    pub(crate) fn refuse(&mut self, trail: &Trail<'_>, node: &Node, message: impl Into<String>) {
        self.issues.push(Issue::at(trail, node, message));
    }

    /// Notes that a member is missing; the place is that of the map it is missing from.
    pub(crate) fn missing(&mut self, trail: &Trail<'_>, map: &Node) {
        self.refuse(trail, map, "required, but missing");
    }

    /// Notes a key that nobody knows.
    pub(crate) fn unknown(&mut self, trail: &Trail<'_>, member: &Member, known: &str) {
        self.issues.push(Issue {
            path: trail.to_string(),
            message: format!("unknown key '{}'; known are {known}", member.key),
            line: Some(member.line),
            column: Some(member.column),
        });
    }

    /// Gives what `read` gives, unless it found a problem.
    pub(crate) fn whole<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let before = self.issues.len();
        let value = read(self);
        value.filter(|_| self.issues.len() == before)
    }

    pub(crate) fn map<'n>(&mut self, trail: &Trail<'_>, node: &'n Node) -> Option<&'n [Member]> {
        self.expect(trail, node, "a map", Node::as_map(node))
    }

    pub(crate) fn list<'n>(&mut self, trail: &Trail<'_>, node: &'n Node) -> Option<&'n [Node]> {
        self.expect(trail, node, "a list", Node::as_list(node))
    }

    pub(crate) fn boolean(&mut self, trail: &Trail<'_>, node: &Node) -> Option<bool> {
        self.expect(trail, node, "true or false", Node::as_bool(node))
    }

    pub(crate) fn number(&mut self, trail: &Trail<'_>, node: &Node) -> Option<f64> {
        self.expect(trail, node, "a number", Node::as_number(node))
    }

    pub(crate) fn positive_number(&mut self, trail: &Trail<'_>, node: &Node) -> Option<f64> {
        let number = node.as_number().filter(|number| *number > 0.0);
        self.expect(trail, node, "a number above 0", number)
    }

    pub(crate) fn positive_integer(&mut self, trail: &Trail<'_>, node: &Node) -> Option<u64> {
        let integer = node.as_whole_number();
        self.expect(trail, node, "a whole number from 1 to 9007199254740991", integer)
    }

    pub(crate) fn text<'n>(&mut self, trail: &Trail<'_>, node: &'n Node) -> Option<&'n str> {
        self.expect(trail, node, "a text", Node::as_text(node))
    }

    pub(crate) fn filled_text<'n>(&mut self, trail: &Trail<'_>, node: &'n Node) -> Option<&'n str> {
        let text = self.text(trail, node)?;
        if text.is_empty() {
            self.refuse(trail, node, "must not be empty");
            return None;
        }
        Some(text)
    }

    /// Reads a text that must not be shown.
    pub(crate) fn secret_text<'n>(&mut self, trail: &Trail<'_>, node: &'n Node) -> Option<&'n str> {
        let text = node.as_text();
        if text.is_none() {
            self.refuse(
                trail,
                node,
                format!("expected a text, got {}; put it in quotes", node.kind()),
            );
        }
        text
    }

    /// Reads a list of texts that must not be shown.
    pub(crate) fn secret_texts(&mut self, trail: &Trail<'_>, node: &Node) -> Option<Vec<String>> {
        let items = self.list(trail, node)?;
        self.whole(|reader| {
            let texts = items.iter().enumerate().filter_map(|(index, item)| {
                reader.secret_text(&Trail::Index(trail, index), item).map(str::to_owned)
            });
            Some(texts.collect())
        })
    }

    /// Reads one of the words of an enum.
    pub(crate) fn word<T: Word>(&mut self, trail: &Trail<'_>, node: &Node) -> Option<T> {
        let word = node.as_text().and_then(T::parse);
        if word.is_none() {
            self.refuse(
                trail,
                node,
                format!("must be one of: {} (got {})", T::list(), found(node)),
            );
        }
        word
    }

    /// Reads a map whose keys are names that people choose.
    pub(crate) fn named<'n, K: Ord, V>(
        &mut self,
        trail: &Trail<'_>,
        node: &'n Node,
        mut read: impl FnMut(&mut Self, &Trail<'_>, &'n Member) -> Option<(K, V)>,
    ) -> Option<BTreeMap<K, V>> {
        let members = self.map(trail, node)?;
        self.whole(|reader| {
            let entries = members
                .iter()
                .filter_map(|member| read(reader, &Trail::Key(trail, &member.key), member));
            Some(entries.collect())
        })
    }

    fn expect<T>(
        &mut self,
        trail: &Trail<'_>,
        node: &Node,
        what: &str,
        value: Option<T>,
    ) -> Option<T> {
        if value.is_none() {
            let hint = match (what, &node.value) {
                ("a text", Value::Number(_) | Value::Bool(_)) => "; put it in quotes",
                _ => "",
            };
            self.refuse(trail, node, format!("expected {what}, got {}{hint}", found(node)));
        }
        value
    }
}

/// Gives a number that is whole, above 0, and small enough for every tool that reads the file (2^53).
pub(crate) fn whole_number(number: f64) -> Option<u64> {
    const MAX_SAFE: f64 = 9_007_199_254_740_991.0;
    let fits = number.fract() == 0.0 && (1.0..=MAX_SAFE).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole and between 1 and 2^53"
    )]
    let whole = number as u64;
    fits.then_some(whole)
}

/// Names a value in a message, shortly.
fn found(node: &Node) -> String {
    const MOST: usize = 60;
    match &node.value {
        Value::Text(text) if text.chars().count() > MOST => {
            format!("'{}…'", text.chars().take(MOST).collect::<String>().escape_debug())
        }
        Value::Text(text) => format!("'{}'", text.escape_debug()),
        Value::Number(number) if !number.is_finite() => "one that is not finite".to_owned(),
        Value::Number(number) => format!("the number {number}"),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Null | Value::List(_) | Value::Map(_) => node.kind().to_owned(),
    }
}
