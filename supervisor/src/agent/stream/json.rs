//! JSON as the agents print it: a tree that keeps the order of members and answers questions without panics.
//!
//! The order matters once, for the first text among the arguments of an unknown tool; `serde_json`'s own tree sorts.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value. Numbers are as precise as an `f64`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses one line that holds an object; anything else is `None`. Nesting is limited by `serde_json`.
    pub(super) fn object(line: &[u8]) -> Option<Self> {
        if line.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return None;
        }
        serde_json::from_slice(line).ok()
    }

    /// Returns a member; the last one if it is there twice.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// Follows member names down.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// Returns a member that is a text.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// Returns a member that is a whole number, not negative.
    pub(super) fn count(&self, key: &str) -> Option<u64> {
        let number = self.number(key)?;
        // Casting saturates, so nothing odd comes out of an odd number.
        (number >= 0.0).then_some(number as u64)
    }

    /// Returns a member that is a number.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        match self.get(key)? {
            Self::Number(number) => Some(*number),
            Self::Null | Self::Bool(_) | Self::Text(_) | Self::List(_) | Self::Object(_) => None,
        }
    }

    /// Says whether a member is `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key) == Some(&Self::Bool(true))
    }

    /// Returns the text this is, if it is one.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::List(_) | Self::Object(_) => None,
        }
    }

    /// Returns the items; none if this is no list.
    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Object(_) => &[],
        }
    }

    /// Returns the members; none if this is no object.
    pub(super) fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => &[],
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_odd_lines_are_none() {
        let json = Json::object(b" {\"z\":1,\"a\":[true,null,\"x\"],\"n\":-2,\"z\":3}\r").unwrap();
        assert_eq!(json.members()[0].0, "z");
        assert_eq!((json.count("z"), json.count("n")), (Some(3), None));
        assert_eq!(json.get("a").unwrap().items()[2].as_text(), Some("x"));
        for line in [&b""[..], b"[1]", b"{", b"{}x", b"{\"a\":\"\xff\"}", b"text"] {
            assert_eq!(Json::object(line), None);
        }
        assert_eq!(Json::object("{\"a\":".repeat(100_000).as_bytes()), None);
    }
}
