//! What the user's own configuration says about workflows: which, and in which form (spec `cli-core` 5.2). What the words
//! mean is `project::setup`'s.

use std::path::Path;

use serde_json::Value;

use super::file::{Limit, read_if_there};
use crate::error::with_causes;

/// The words of the user's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfileFile {
    /// `profile`
    pub profile: Option<String>,
    /// `delivery`
    pub delivery: Option<String>,
    /// `workflows`
    pub workflows: Vec<String>,
    /// Why it counts as absent, if it is there.
    pub warnings: Vec<String>,
}

/// Reads them. A file that is no JSON object counts as absent, with a warning.
#[must_use]
pub fn read(path: Option<&Path>) -> ProfileFile {
    let Some(path) = path else { return ProfileFile::default() };
    let ignored = |why: String| ProfileFile {
        warnings: vec![format!("{}: {why}; ignored", path.display())],
        ..ProfileFile::default()
    };
    let bytes = match read_if_there(path, Limit::CONFIG) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return ProfileFile::default(),
        Err(error) => return ignored(with_causes(&error)),
    };
    let root = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(root)) => root,
        Ok(_) => return ignored("not a map".to_owned()),
        Err(error) => return ignored(error.to_string()),
    };
    let text = |key: &str| root.get(key).and_then(Value::as_str).map(str::to_owned);
    let workflows = root.get("workflows").and_then(Value::as_array);
    let workflows = workflows.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    ProfileFile {
        profile: text("profile"),
        delivery: text("delivery"),
        workflows: workflows.collect(),
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-M20
    #[test]
    fn the_users_words_are_read_and_a_broken_file_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.json");
        assert_eq!(read(Some(&path)), ProfileFile::default());
        assert_eq!(read(None), ProfileFile::default());
        assert!(!path.exists(), "nothing is made by looking");
        std::fs::write(&path, r#"{"profile":"custom","workflows":["eval",1],"delivery":2,"x":[]}"#)
            .unwrap();
        let found = read(Some(&path));
        assert_eq!((found.profile.as_deref(), found.delivery), (Some("custom"), None));
        assert_eq!(found.workflows, ["eval"]);
        for text in ["{", "[]"] {
            std::fs::write(&path, text).unwrap();
            let found = read(Some(&path));
            assert!(found.profile.is_none() && found.warnings.len() == 1, "{found:?}");
        }
    }
}
