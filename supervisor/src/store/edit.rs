//! One value of a YAML file that a person wrote is changed; comments, order and everything else stay as they are.
//!
//! An edit is believed only if the new text, read by the engine, is the old document with that one value changed. What
//! the editor of the text cannot handle is kept from it: see `Frame` and `Masked`.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr as _;

use ratchet_engine::yaml::{self, Node, Value, YamlError};
use serde_json::{Map, Value as Json};
use thiserror::Error;
use yaml_edit::{Document, Mapping, YamlValue};

use super::file::{FileError, Limit, read_if_there, replace};

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
    #[error("Failed to read config.yaml: {} is not a map", named(at))]
    NotAMap {
        /// Where.
        at: String,
    },
    /// The file is written in a way that cannot be changed in place.
    #[error("config.yaml cannot be changed in place at '{at}': {why}")]
    TooClever {
        /// The value that was to be set.
        at: String,
        /// What is in the way.
        why: Notation,
    },
}

/// A way to write YAML that cannot be changed in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Notation {
    /// The same text stands for several values, so a change would show in all of them.
    #[error("parts of the file are shared by an anchor ('&name') or an alias ('*name')")]
    Shared,
    /// A tag.
    #[error("parts of the file have a tag ('!name')")]
    Tagged,
    /// Anything else.
    #[error("it is not written as one map with one key on a line")]
    Unusual,
}

fn named(at: &str) -> String {
    if at.is_empty() { "the whole".to_owned() } else { format!("'{at}'") }
}

/// Sets the value at a path of keys; maps on the way are made.
///
/// # Errors
/// Leaves the file as it was if the edit cannot be proved right.
pub(crate) fn set(path: &Path, keys: &[&str], value: &YamlValue) -> Result<(), EditError> {
    let bytes = read_if_there(path, Limit::CONFIG)?.unwrap_or_default();
    let old = yaml::parse_bytes(&bytes).map_err(|error| EditError::NotYaml { error })?;
    let text = String::from_utf8(bytes).expect("what is no UTF-8 is no YAML either");
    let expected = expected(&old, keys, value)?;
    let is_right = |new: &String| yaml::parse(new).is_ok_and(|node| plain(&node) == expected);
    let new = edited(&text, keys, value)
        .filter(is_right)
        .or_else(|| edited_in_frame(&text, keys, value).filter(is_right))
        .or_else(|| edited_under_mask(&text, keys, value).filter(is_right))
        .ok_or_else(|| EditError::TooClever { at: keys.join("."), why: Notation::of(&text) })?;
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
    Some(with_line_end(document.to_string()))
}

/// Makes the edit in the one document of a file, without what stands around it.
fn edited_in_frame(text: &str, keys: &[&str], value: &YamlValue) -> Option<String> {
    let Frame { head, body, foot } = Frame::of(text);
    let body = if holds_nothing(body) {
        let old = if body.is_empty() { String::new() } else { with_line_end(body.to_owned()) };
        old + &edited("", keys, value)?
    } else {
        edited(body, keys, value).or_else(|| edited_under_mask(body, keys, value))?
    };
    Some([head, &body, foot].concat())
}

/// Makes the edit while the anchors on the way are hidden.
fn edited_under_mask(text: &str, keys: &[&str], value: &YamlValue) -> Option<String> {
    let masked = Masked::of(text, keys);
    Some(masked.lift(&edited(&masked.text, keys, value)?))
}

/// A file with one document, cut at its markers: directives and `---` before it, `...` behind it.
struct Frame<'a> {
    head: &'a str,
    body: &'a str,
    foot: &'a str,
}

impl<'a> Frame<'a> {
    fn of(text: &'a str) -> Self {
        let marker = |mark: &str| {
            let mut at = 0;
            text.split_inclusive('\n').find_map(|line| {
                let start = at;
                at += line.len();
                let rest = line.trim_start_matches('\u{feff}').strip_prefix(mark)?.trim();
                (rest.is_empty() || rest.starts_with('#')).then_some((start, at))
            })
        };
        let start = marker("---").map_or(0, |(_, end)| end);
        let end = marker("...").map_or(text.len(), |(start, _)| start).max(start);
        Self { head: &text[..start], body: &text[start..end], foot: &text[end..] }
    }
}

/// A text in which the anchors of the maps on the way are blanks.
struct Masked {
    text: String,
    /// Lines as they were, by their number, and as they are meanwhile.
    lines: Vec<(usize, String, String)>,
}

impl Masked {
    fn of(text: &str, keys: &[&str]) -> Self {
        let mut lines = Vec::new();
        let mask = |(number, line): (usize, &str)| match without_anchor(line, keys) {
            Some(masked) => {
                lines.push((number, line.to_owned(), masked.clone()));
                masked
            }
            None => line.to_owned(),
        };
        let text = text.split_inclusive('\n').enumerate().map(mask).collect();
        Self { text, lines }
    }

    /// Puts the anchors back; a line that the edit moved or changed stays as it is now.
    fn lift(&self, edited: &str) -> String {
        let was = |(number, line): (usize, &str)| {
            let hidden = self
                .lines
                .iter()
                .find(|(at, _, masked)| *at == number && masked.trim_end() == line.trim_end());
            hidden.map_or_else(|| line.to_owned(), |(_, was, _)| was.clone())
        };
        edited.split_inclusive('\n').enumerate().map(was).collect()
    }
}

/// Takes the anchor off a line like `key: &anchor`.
fn without_anchor(line: &str, keys: &[&str]) -> Option<String> {
    let (key, rest) = line.split_once(':')?;
    let name = key.trim().trim_matches(['"', '\'']);
    let anchor = rest.trim_start_matches(' ').split(char::is_whitespace).next()?;
    if !keys.contains(&name) || anchor.len() < 2 || !anchor.starts_with('&') {
        return None;
    }
    let rest = rest.replacen(anchor, "", 1);
    Some(format!("{key}:{}", if rest.trim().is_empty() { "\n" } else { &rest }))
}

fn holds_nothing(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

fn with_line_end(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

impl Notation {
    /// Guesses what is in the way, for a person to look at.
    fn of(text: &str) -> Self {
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let words = || code.clone().flat_map(|line| line.split([' ', ',', '[', '{', ']', '}']));
        let has = |marks: &[char]| words().any(|word| word.len() > 1 && word.starts_with(marks));
        match () {
            () if has(&['&', '*']) => Self::Shared,
            () if has(&['!']) => Self::Tagged,
            () => Self::Unusual,
        }
    }
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
    fn a_file_of_comments_directives_or_anchors_takes_a_setting() {
        let set = "batch:\n  gate: warn-me\n";
        let cases = [
            ("# only a comment\n", format!("# only a comment\n{set}")),
            ("# no line end", format!("# no line end\n{set}")),
            ("\n\n", format!("\n\n{set}")),
            ("---\n", format!("---\n{set}")),
            ("---\n# c\n...\n", format!("---\n# c\n{set}...\n")),
            ("# c\n---\n# d\n", format!("# c\n---\n# d\n{set}")),
            ("%YAML 1.2\n---\nschema: a\n", format!("%YAML 1.2\n---\nschema: a\n{set}")),
            (
                "%YAML 1.2\n# c\n---\nbatch:\n  gate: old # why\n",
                "%YAML 1.2\n# c\n---\nbatch:\n  gate: warn-me # why\n".to_owned(),
            ),
            (
                "batch: &all # why\n  gate: old\n  port: 1\n",
                "batch: &all # why\n  gate: warn-me\n  port: 1\n".to_owned(),
            ),
            (
                "batch: &all\n  locus: local\n# end\n",
                "batch: &all\n  locus: local\n  gate: warn-me\n# end\n".to_owned(),
            ),
            ("batch: &b {locus: local}\n", "batch: &b {locus: local, gate: warn-me}\n".to_owned()),
            (
                "%YAML 1.2\n---\nbatch: &b\n  gate: a\n",
                "%YAML 1.2\n---\nbatch: &b\n  gate: warn-me\n".to_owned(),
            ),
        ];
        for (before, after) in cases {
            assert_eq!(gate(before), after, "{before:?}");
        }
    }

    #[test]
    fn what_cannot_be_changed_in_place_is_refused_with_a_reason() {
        let cases = [
            ("batch: &all\n  gate: old\nother: *all\n", Notation::Shared),
            ("base: &all\n  locus: local\nbatch: *all\n", Notation::Shared),
        ];
        for (text, expected) in cases {
            let error = set_in(text, GATE, &YamlValue::from("x")).unwrap_err();
            assert!(
                matches!(&error, EditError::TooClever { why, .. } if *why == expected),
                "{text:?}: {error}"
            );
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
