//! One value of a YAML file that a person wrote is changed; comments, order and everything else stay as they are.
//!
//! An edit is believed only if the new text, read by the engine, is the old document with that one value changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr as _;

use ratchet_engine::yaml::{self, Node, Value, YamlError};
use serde_json::{Map, Value as Json};
use thiserror::Error;
use yaml_edit::{Document, Mapping, YamlValue};

use super::file::{FileError, read_if_there, replace};

/// Why a file was not changed. It is as it was, byte for byte.
#[derive(Debug, Error)]
pub enum EditError {
    /// The file could not be read or replaced.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is no YAML.
    #[error("Failed to read config.yaml: {error}")]
    NotYaml {
        /// What is wrong with it.
        error: YamlError,
    },
    /// Something else than a map stands where the value is to go.
    #[error("Failed to read config.yaml: '{at}' is not a map")]
    NotAMap {
        /// Where.
        at: String,
    },
    /// The file is written in a way that cannot be changed in place.
    #[error("config.yaml is written in a way that cannot be changed in place (at '{at}')")]
    TooClever {
        /// The value that was to be set.
        at: String,
    },
}

/// Sets the value at a path of keys; maps on the way are made.
///
/// # Errors
/// Leaves the file as it was if the edit cannot be proved right.
pub(crate) fn set(path: &Path, keys: &[&str], value: &YamlValue) -> Result<(), EditError> {
    let bytes = read_if_there(path)?.unwrap_or_default();
    let old = yaml::parse_bytes(&bytes).map_err(|error| EditError::NotYaml { error })?;
    let text = String::from_utf8(bytes).expect("what is no UTF-8 is no YAML either");
    let expected = expected(&old, keys, value)?;
    let new = edited(&text, keys, value)
        .filter(|new| yaml::parse(new).is_ok_and(|node| plain(&node) == expected))
        .ok_or_else(|| EditError::TooClever { at: keys.join(".") })?;
    if new != text {
        replace(path, new.as_bytes())?;
    }
    Ok(())
}

/// Makes the edit; whether it is right is for the caller to see.
fn edited(text: &str, keys: &[&str], value: &YamlValue) -> Option<String> {
    let document = Document::from_str(text).ok()?;
    let (first, rest) = keys.split_first()?;
    match document.as_mapping() {
        Some(map) => put(&map, keys, value),
        None => drop(document.set(*first, nested(rest, value))),
    }
    let mut text = document.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Some(text)
}

fn put(map: &Mapping, keys: &[&str], value: &YamlValue) {
    let Some((first, rest)) = keys.split_first() else { return };
    match map.get_mapping(*first).filter(|inner| !rest.is_empty() && !inner.is_empty()) {
        Some(inner) => put(&inner, rest, value),
        None => map.set(*first, nested(rest, value)),
    }
}

/// Wraps a value into maps of one member each.
fn nested(keys: &[&str], value: &YamlValue) -> YamlValue {
    let wrap = |inner, key: &&str| YamlValue::Mapping(BTreeMap::from([((*key).to_owned(), inner)]));
    keys.iter().rev().fold(value.clone(), wrap)
}

/// Gives the document as it is to read after the edit.
fn expected(old: &Node, keys: &[&str], value: &YamlValue) -> Result<Json, EditError> {
    let mut document = match plain(old) {
        Json::Null => Json::Object(Map::new()),
        other => other,
    };
    let mut at = &mut document;
    for (depth, key) in keys.iter().enumerate() {
        let refuse = || EditError::NotAMap { at: keys[..depth].join(".") };
        at = at.as_object_mut().ok_or_else(refuse)?.entry(*key).or_insert(Json::Null);
        if at.is_null() && depth + 1 < keys.len() {
            *at = Json::Object(Map::new());
        }
    }
    *at = to_json(value);
    Ok(document)
}

/// Takes the places off, so that two readings can be compared.
fn plain(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Number(value) => (*value).into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(plain).collect(),
        Value::Map(members) => {
            members.iter().map(|member| (member.key.clone(), plain(&member.node))).collect()
        }
    }
}

fn to_json(value: &YamlValue) -> Json {
    match value {
        YamlValue::Mapping(members) => {
            members.iter().map(|(key, value)| (key.clone(), to_json(value))).collect()
        }
        other => match (other.to_bool(), other.to_i64(), other.to_f64()) {
            (Some(value), _, _) => value.into(),
            // The engine reads every number as this type.
            (None, Some(value), _) => (value as f64).into(),
            (None, None, Some(value)) => value.into(),
            (None, None, None) => other.as_str().into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_in(text: &str, keys: &[&str], value: &YamlValue) -> Result<String, EditError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.yaml");
        std::fs::write(&path, text).unwrap();
        let result = set(&path, keys, value);
        let after = std::fs::read_to_string(&path).unwrap();
        if result.is_err() {
            assert_eq!(after, text, "a refused edit changes nothing");
        }
        result.map(|()| after)
    }

    const GATE: &[&str] = &["batch", "gate"];

    fn gate(text: &str) -> String {
        set_in(text, GATE, &YamlValue::from("warn-me")).unwrap()
    }

    #[test]
    fn everything_but_the_value_stays() {
        let cases = [
            ("", "batch:\n  gate: warn-me\n"),
            ("schema: a\n", "schema: a\nbatch:\n  gate: warn-me\n"),
            ("schema: a", "schema: a\nbatch:\n  gate: warn-me\n"),
            ("batch:\n  gate: old # why\n", "batch:\n  gate: warn-me # why\n"),
            ("batch:\n  gate: 'old'\n", "batch:\n  gate: warn-me\n"),
            (
                "# top\nbatch: # all\n    # four\n    locus: local\n# end\n",
                "# top\nbatch: # all\n    # four\n    locus: local\n    gate: warn-me\n# end\n",
            ),
            (
                "batch:\n  locus: local\n\nrules:\n  - a\n",
                "batch:\n  locus: local\n  gate: warn-me\n\nrules:\n  - a\n",
            ),
            ("batch: {locus: local}\n", "batch: {locus: local, gate: warn-me}\n"),
        ];
        for (before, after) in cases {
            assert_eq!(gate(before), after, "{before:?}");
        }
    }

    #[test]
    fn unusual_files_are_edited_rightly_or_not_at_all() {
        for text in [
            "# only a comment\n",
            "---\nschema: a\n...\n",
            "batch:\n",
            "batch: {}\n",
            "batch: ~\nschema: a\n",
            "\u{feff}schema: a\r\nbatch:\r\n  gate: old\r\n",
            "batch: &all\n  gate: old\nother: *all\n",
            "batch:\n  gate: >\n    folded\n    text\n  locus: local\n",
            "batch:\n  gate: {a: b}\n  locus: local\n",
            "batch:\n  gate:\n    a: b\n    c: d\n  locus: local\n",
            "\"batch\":\n  \"gate\": old\n",
            "{batch: {gate: old}}\n",
            "? batch\n: gate: old\n",
            "batch:\n- a\n",
            "- a\n",
            "just text\n",
            "batch: text\n",
        ] {
            // `set_in` and `set` themselves check both ways out.
            if let Ok(after) = set_in(text, GATE, &YamlValue::from("warn-me")) {
                assert!(after.contains("warn-me"), "{text:?}: {after:?}");
                for line in text.lines().filter(|line| line.trim_start().starts_with('#')) {
                    assert!(after.contains(line), "{text:?} lost {line:?}");
                }
            }
        }
        for refused in ["batch:\n- a\n", "- a\n", "just text\n", "batch: text\n"] {
            let error = set_in(refused, GATE, &YamlValue::from("x")).unwrap_err();
            assert!(error.to_string().starts_with("Failed to read config.yaml:"), "{error}");
        }
        for broken in ["batch: [\n", "a: 1\na: 2\n"] {
            let error = set_in(broken, GATE, &YamlValue::from("x")).unwrap_err();
            assert!(error.to_string().starts_with("Failed to read config.yaml:"), "{error}");
        }
    }

    #[test]
    fn values_keep_their_types() {
        let read = |value: &YamlValue| {
            let text = set_in("batch:\n  gate: x\n", GATE, value).unwrap();
            let node = yaml::parse(&text).unwrap();
            plain(node.get("batch").unwrap().get("gate").unwrap())
        };
        for text in
            ["123", "true", "null", "~", "1000:1000", "2g", "a: b", "#x", "é\u{1f600}", "''"]
        {
            assert_eq!(read(&YamlValue::from(text)), Json::from(text), "{text:?}");
        }
        assert_eq!(read(&YamlValue::from(90_000_i64)), Json::from(90_000.0));
        assert_eq!(read(&YamlValue::from(0.5)), Json::from(0.5));
        assert_eq!(read(&YamlValue::from(true)), Json::from(true));
        let stages = YamlValue::from(BTreeMap::from([("apply", "codex"), ("propose", "claude:x")]));
        assert_eq!(read(&stages)["propose"], "claude:x");
    }

    #[test]
    fn a_nested_value_makes_the_maps_on_its_way() {
        let keys = ["batch", "permissions", "posture"];
        let text = set_in("batch:\n  gate: x\n", &keys, &YamlValue::from("full-autonomy")).unwrap();
        let expected = "batch:\n  gate: x\n  permissions:\n    posture: full-autonomy\n";
        assert_eq!(text, expected);
    }
}
