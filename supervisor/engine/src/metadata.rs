//! A change's own `.ratchet.yaml`: its workflow, its day, and the standards that it declares (spec `cli-core` 3.1).

use thiserror::Error;

use crate::yaml::{self, Node, YamlError};

/// What a change says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// Its workflow.
    pub schema: String,
    /// The day of its creation, `YYYY-MM-DD`.
    pub created: Option<String>,
    /// The tags of the standards that apply to it.
    pub standards: Vec<String>,
}

/// Why a `.ratchet.yaml` says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MetadataError {
    /// It is no YAML.
    #[error("{0}")]
    Yaml(#[from] YamlError),
    /// A member is not what it must be.
    #[error("{member}: {why} (line {line}, column {column})")]
    Member {
        /// Which.
        member: &'static str,
        /// What it must be.
        why: &'static str,
        /// Its line.
        line: u32,
        /// Its column.
        column: u32,
    },
}

/// Reads a change's metadata. Members that are not known are let pass.
///
/// # Errors
/// The first thing that is wrong.
pub fn parse(bytes: &[u8]) -> Result<Metadata, MetadataError> {
    let root = yaml::parse_bytes(bytes)?;
    let refuse = |node: &Node, member, why| MetadataError::Member {
        member,
        why,
        line: node.line,
        column: node.column,
    };
    let schema = match root.get("schema") {
        Some(node) => node
            .as_text()
            .filter(|text| !text.trim().is_empty())
            .ok_or_else(|| refuse(node, "schema", "expected a text that is not empty"))?,
        None => return Err(refuse(&root, "schema", "is missing")),
    };
    let created = match root.get("created") {
        Some(node) => Some(
            node.as_text()
                .filter(|text| is_date(text))
                .ok_or_else(|| refuse(node, "created", "expected a day, YYYY-MM-DD"))?
                .to_owned(),
        ),
        None => None,
    };
    let standards = match root.get("standards") {
        Some(node) => tags(node)
            .ok_or_else(|| refuse(node, "standards", "expected a list of tags, none empty"))?,
        None => Vec::new(),
    };
    Ok(Metadata { schema: schema.to_owned(), created, standards })
}

/// Reads only the tags, whatever else may be wrong with the file: what is no text is left out, what is no YAML has none.
#[must_use]
pub fn declared_tags(bytes: &[u8]) -> Vec<String> {
    let Ok(root) = yaml::parse_bytes(bytes) else { return Vec::new() };
    let list = root.get("standards").and_then(Node::as_list).unwrap_or_default();
    let texts = list.iter().filter_map(Node::as_text).map(str::trim);
    texts.filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
}

fn tags(node: &Node) -> Option<Vec<String>> {
    let tag = |node: &Node| Some(node.as_text()?.trim().to_owned()).filter(|tag| !tag.is_empty());
    node.as_list()?.iter().map(tag).collect()
}

fn is_date(text: &str) -> bool {
    let shape = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text.as_bytes()).unwrap_err().to_string()
    }

    // C-K03
    #[test]
    fn a_change_says_its_workflow_its_day_and_its_standards() {
        let text = "schema: ratchet\ncreated: 2031-05-04\nstandards: [a, ' b ']\nother: 1\n";
        let found = parse(text.as_bytes()).unwrap();
        assert_eq!(
            (found.schema.as_str(), found.created.as_deref()),
            ("ratchet", Some("2031-05-04"))
        );
        assert_eq!(found.standards, ["a", "b"]);
        assert!(parse(b"schema: x\n").unwrap().standards.is_empty());
    }

    // C-K03
    #[test]
    fn what_is_no_metadata_is_told_with_its_place() {
        assert_eq!(error("created: 2031-05-04\n"), "schema: is missing (line 1, column 1)");
        assert!(error("schema: ''\n").starts_with("schema: expected a text"));
        assert!(error("schema: a\ncreated: soon\n").contains("YYYY-MM-DD (line 2, column 10)"));
        assert!(error("schema: a\nstandards: b\n").starts_with("standards: expected a list"));
        assert!(error("schema: a\nstandards: [b, '']\n").starts_with("standards: "));
        assert!(error("schema: [\n").contains("line"));
        assert!(error("- a\n").starts_with("schema: is missing"));
    }

    // C-K06
    #[test]
    fn tags_are_read_out_of_anything() {
        let tags = |text: &str| declared_tags(text.as_bytes());
        assert_eq!(tags("schema: gone\nstandards: [a, 1, '', ' b ', {c: d}]\n"), ["a", "b"]);
        assert!(tags("standards: [a").is_empty() && tags("standards: a\n").is_empty());
        assert!(tags("").is_empty());
    }
}
