//! Which standards the features of one capability follow: the `.ratchet.yaml` beside them in the store (spec `cli-core`
//! 9.4).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::yaml::{self, Node};

/// Features, by their path inside the capability, with the tags of their standards.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Links(BTreeMap<String, BTreeSet<String>>);

impl Links {
    /// Reads them. What is malformed has no links; entries that are none are left out.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let Ok(root) = yaml::parse_bytes(bytes) else { return Self::default() };
        let members = root.get("features").and_then(Node::as_map).unwrap_or_default();
        let links = members.iter().filter_map(|member| {
            let tags = member.node.as_list()?.iter().filter_map(Node::as_text);
            let tags: BTreeSet<String> = tags.map(str::to_owned).collect();
            (!tags.is_empty()).then(|| (member.key.clone(), tags))
        });
        Self(links.collect())
    }

    /// Gives a feature exactly these tags; without any it has no link.
    pub fn set(&mut self, feature: &str, tags: impl IntoIterator<Item = String>) {
        let tags: BTreeSet<String> = tags.into_iter().collect();
        if tags.is_empty() {
            self.0.remove(feature);
        } else {
            self.0.insert(feature.to_owned(), tags);
        }
    }

    /// Takes a feature out.
    pub fn remove(&mut self, feature: &str) {
        self.0.remove(feature);
    }

    /// Lists every feature with each of its tags.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(feature, tags)| {
            tags.iter().map(move |tag| (feature.as_str(), tag.as_str()))
        })
    }

    /// Writes them down, sorted; `None` if there are none, for then the file goes.
    #[must_use]
    pub fn render(&self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let mut text = "features:\n".to_owned();
        for (feature, tags) in &self.0 {
            writeln!(text, "  {}:", scalar(feature)).expect("a String takes every write");
            for tag in tags {
                writeln!(text, "    - {}", scalar(tag)).expect("a String takes every write");
            }
        }
        Some(text)
    }
}

/// Writes a text as YAML: plain if nothing else can be meant, else as JSON, which is YAML too.
fn scalar(text: &str) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    let reads_as_text = yaml::parse(text).is_ok_and(|node| node.as_text() == Some(text));
    if text.bytes().all(is_plain) && reads_as_text {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-L09
    #[test]
    fn links_are_sorted_and_each_stands_once() {
        let mut links = Links::default();
        links.set("b.feature", ["y".to_owned(), "x".to_owned(), "y".to_owned()]);
        links.set("a b: c.feature", ["true".to_owned()]);
        let text = links.render().unwrap();
        assert_eq!(
            text,
            "features:\n  \"a b: c.feature\":\n    - \"true\"\n  b.feature:\n    - x\n    - y\n"
        );
        assert_eq!(Links::parse(text.as_bytes()), links);
        links.set("b.feature", []);
        links.remove("a b: c.feature");
        assert_eq!(links.render(), None);
    }

    // C-L09
    #[test]
    fn what_is_malformed_has_no_links() {
        for text in ["", "features: 1", "features: [a]", "a: [", "just text", "features: {a: b}"] {
            assert_eq!(Links::parse(text.as_bytes()), Links::default(), "{text}");
        }
        let odd = Links::parse(b"features:\n  a: [x, 1, {b: c}]\n  d: []\n");
        assert_eq!(odd.iter().collect::<Vec<_>>(), [("a", "x")]);
    }
}
