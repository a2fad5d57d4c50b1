//! YAML text as a tree that remembers where everything stood, so that every error can name line and column.
//!
//! YAML 1.2, core schema: `yes`, `on`, dates and `12:30:45` are texts, and so is a number with a leading zero, which people
//! mean as an id. `<<` is a key like any other. The scanner under this is the one of `serde_yaml`; its serde side is not
//! used, because it gives no tree and no place for a type error.
//!
//! What the tree must look like is said in [`crate::manifest`] and [`crate::settings`].

use std::fmt;

use thiserror::Error;

mod build;
pub(crate) mod reader;
mod scalar;
#[cfg(test)]
mod tests;

/// The longest text that is read, in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;
/// How deep lists and maps may nest.
pub const MAX_DEPTH: usize = 100;
/// How many nodes anchors and aliases may copy, all in all.
pub const MAX_ALIASED_NODES: usize = 10_000;
/// How many bytes of text anchors and aliases may copy, all in all.
pub const MAX_ALIASED_BYTES: usize = 1024 * 1024;

/// One value and the place where it begins, both counted from 1; columns are counted in characters.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Its line.
    pub line: u32,
    /// Its column.
    pub column: u32,
}

/// What a node is. `Debug` shows shapes, not texts, because a text may be a token.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `null`, `~` or nothing at all.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number; too large a one is infinite.
    Number(f64),
    /// Any other scalar.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file. No key occurs twice.
    Map(Vec<Member>),
}

/// One key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key's text; keys of other types count by their spelling.
    pub key: String,
    /// The key's line.
    pub line: u32,
    /// The key's column.
    pub column: u32,
    /// The value.
    pub node: Node,
}

/// Says why a text is not the YAML we read, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem} (line {line}, column {column})")]
pub struct YamlError {
    /// What is wrong.
    pub problem: YamlProblem,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum YamlProblem {
    /// The scanner's words.
    #[error("{0}")]
    Syntax(String),
    /// A key occurs twice in one map.
    #[error("the key '{key}' is given twice in one map; it was first given in line {first_line}")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Where it was given first.
        first_line: u32,
    },
    /// A list or a map is used as a key.
    #[error("a key must be a text")]
    CompositeKey,
    /// A value does not fit its tag.
    #[error("the value does not fit its tag '!!{tag}'")]
    Tag {
        /// The tag, without its marks.
        tag: &'static str,
    },
    /// More than one document.
    #[error("a second document begins here; one file holds one document")]
    SecondDocument,
    /// Too deep.
    #[error("lists and maps are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// Anchors and aliases copy too much.
    #[error("anchors and aliases (&name, *name) copy too much; write the values out")]
    TooManyAliases,
    /// An alias stands inside the value that it stands for.
    #[error("an alias (*name) stands inside its own value")]
    AliasInItself,
    /// Too long.
    #[error("the text has {bytes} bytes; more than {MAX_BYTES} are not read")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Not UTF-8.
    #[error("the byte here is not UTF-8; save the file as UTF-8")]
    NotUtf8,
}

/// Parses one document. A text without any is null.
///
/// # Errors
/// The first problem, with its place.
pub fn parse(text: &str) -> Result<Node, YamlError> {
    if text.len() > MAX_BYTES {
        return Err(YamlProblem::TooLong { bytes: text.len() }.at(1, 1));
    }
    build::tree(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Parses one document from bytes.
///
/// # Errors
/// As [`parse`]; bytes that are not UTF-8 are a problem with its place, too.
pub fn parse_bytes(bytes: &[u8]) -> Result<Node, YamlError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(error) => {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            Err(YamlProblem::NotUtf8.at(narrow(line), narrow(column)))
        }
    }
}

impl Node {
    /// Returns the value of a key, if this is a map that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.iter().find(|member| member.key == key).map(|member| &member.node)
    }

    /// Returns the members, if this is a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&[Member]> {
        if let Value::Map(members) = &self.value { Some(members) } else { None }
    }

    /// Returns the items, if this is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Self]> {
        if let Value::List(items) = &self.value { Some(items) } else { None }
    }

    /// Returns the text, if this is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// Returns the boolean, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self.value { Some(value) } else { None }
    }

    /// Returns the number, if this is one that is whole, above 0, and small enough for every tool that reads the file.
    #[must_use]
    pub fn as_whole_number(&self) -> Option<u64> {
        self.as_number().and_then(reader::whole_number)
    }

    /// Returns the number, if this is one and it is finite.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        if let Value::Number(value) = self.value {
            Some(value).filter(|n| n.is_finite())
        } else {
            None
        }
    }

    /// Says what kind of value this is, with its article.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

impl YamlProblem {
    fn at(self, line: u32, column: u32) -> YamlError {
        YamlError { problem: self, line, column }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Bool(value) => write!(f, "Bool({value})"),
            Self::Number(_) => f.write_str("Number"),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::List(items) => f.debug_list().entries(items).finish(),
            Self::Map(members) => f.debug_list().entries(members).finish(),
        }
    }
}

/// Lines and columns fit, because texts are at most [`MAX_BYTES`] long.
fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
