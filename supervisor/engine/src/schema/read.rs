//! A `schema.yaml`, read into a workflow that holds together: no artifact twice, none that waits for what is not there or
//! for itself, none that leaves the change's folder.

use std::collections::BTreeSet;

use thiserror::Error;

use super::{Apply, Artifact, Schema, ordered};
use crate::yaml::{self, Node, YamlError};

/// Why a text is no workflow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaError {
    /// It is no YAML.
    #[error("{0}")]
    Yaml(#[from] YamlError),
    /// A member is missing, or not what it must be.
    #[error("{path}: {why} (line {line}, column {column})")]
    Member {
        /// Which.
        path: String,
        /// What it must be.
        why: &'static str,
        /// Its line, or that of what it is missing in.
        line: u32,
        /// Its column.
        column: u32,
    },
    /// An id stands twice.
    #[error("the artifact '{id}' is defined twice")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// Something waits for what is not there.
    #[error("'{by}' requires '{id}', which is no artifact")]
    Unknown {
        /// Who waits: an artifact, or `apply`.
        by: String,
        /// For what.
        id: String,
    },
    /// Artifacts wait for each other.
    #[error("artifacts require each other: {}", .0.join(" → "))]
    Cycle(Vec<String>),
}

/// Reads a workflow.
///
/// # Errors
/// The first thing that is wrong.
pub fn parse(bytes: &[u8]) -> Result<Schema, SchemaError> {
    let root = yaml::parse_bytes(bytes)?;
    let name = text(&root, "", "name")?;
    let version = root.get("version").and_then(Node::as_number);
    if !version.is_some_and(|number| number >= 1.0 && number.fract() == 0.0) {
        return Err(refuse(
            root.get("version").unwrap_or(&root),
            "version",
            "expected a whole number above 0",
        ));
    }
    optional(&root, "", "description")?;
    let items = root.get("artifacts").and_then(Node::as_list).unwrap_or_default();
    if items.is_empty() {
        let at = root.get("artifacts").unwrap_or(&root);
        return Err(refuse(at, "artifacts", "expected a list with at least one artifact"));
    }
    let artifacts: Vec<Artifact> =
        items.iter().enumerate().map(|(at, node)| artifact(node, at)).collect::<Result<_, _>>()?;
    let apply = root.get("apply").map(apply).transpose()?;
    check_ids(&artifacts, apply.as_ref())?;
    let artifacts = ordered(artifacts).map_err(SchemaError::Cycle)?;
    Ok(Schema { name, artifacts, apply })
}

fn artifact(node: &Node, at: usize) -> Result<Artifact, SchemaError> {
    let within = format!("artifacts.{at}.");
    let below = |key| {
        let path = text(node, &within, key)?;
        if stays_below(&path) {
            return Ok(path);
        }
        let at = node.get(key).unwrap_or(node);
        Err(refuse(at, &format!("{within}{key}"), "expected a path that stays in its folder"))
    };
    Ok(Artifact {
        id: text(node, &within, "id")?,
        generates: below("generates")?,
        description: text(node, &within, "description")?,
        template: below("template")?,
        instruction: optional(node, &within, "instruction")?,
        requires: list(node, &within, "requires")?,
    })
}

fn apply(node: &Node) -> Result<Apply, SchemaError> {
    let requires = list(node, "apply.", "requires")?;
    if requires.is_empty() {
        return Err(refuse(node, "apply.requires", "expected a list with at least one artifact"));
    }
    let tracks = optional(node, "apply.", "tracks")?;
    if tracks.as_deref().is_some_and(|path| !stays_below(path)) {
        return Err(refuse(node, "apply.tracks", "expected a path that stays in its folder"));
    }
    Ok(Apply { requires, tracks, instruction: optional(node, "apply.", "instruction")? })
}

fn check_ids(artifacts: &[Artifact], apply: Option<&Apply>) -> Result<(), SchemaError> {
    let mut ids = BTreeSet::new();
    for artifact in artifacts {
        if !ids.insert(artifact.id.as_str()) {
            return Err(SchemaError::Duplicate { id: artifact.id.clone() });
        }
    }
    let of_artifacts = artifacts.iter().map(|artifact| (artifact.id.as_str(), &artifact.requires));
    for (by, requires) in of_artifacts.chain(apply.map(|apply| ("apply", &apply.requires))) {
        if let Some(id) = requires.iter().find(|id| !ids.contains(id.as_str())) {
            return Err(SchemaError::Unknown { by: by.to_owned(), id: id.clone() });
        }
    }
    Ok(())
}

fn text(node: &Node, within: &str, key: &str) -> Result<String, SchemaError> {
    optional(node, within, key)?
        .ok_or_else(|| refuse(node, &format!("{within}{key}"), "is missing"))
}

fn optional(node: &Node, within: &str, key: &str) -> Result<Option<String>, SchemaError> {
    let found = match node.get(key) {
        Some(found) if found.value != yaml::Value::Null => found,
        Some(_) | None => return Ok(None),
    };
    match found.as_text().filter(|text| !text.trim().is_empty()) {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(refuse(found, &format!("{within}{key}"), "expected a text that is not empty")),
    }
}

fn list(node: &Node, within: &str, key: &str) -> Result<Vec<String>, SchemaError> {
    let Some(found) = node.get(key) else { return Ok(Vec::new()) };
    let texts = |items: &[Node]| -> Option<Vec<String>> {
        items.iter().map(|item| item.as_text().map(str::to_owned)).collect()
    };
    found
        .as_list()
        .and_then(texts)
        .ok_or_else(|| refuse(found, &format!("{within}{key}"), "expected a list of texts"))
}

fn refuse(node: &Node, path: &str, why: &'static str) -> SchemaError {
    SchemaError::Member { path: path.to_owned(), why, line: node.line, column: node.column }
}

fn stays_below(path: &str) -> bool {
    !path.starts_with('/') && path.split(['/', '\\']).all(|part| !matches!(part, "" | "." | ".."))
}
