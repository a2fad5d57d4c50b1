//! Which paths of a folder belong to its snapshot. The rules travel in the snapshot, so that what comes back is taken by the
//! same ones, whoever takes it.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::{Deserialize, Serialize};

/// What is in a snapshot whatever `.gitignore` says, and what never is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rules {
    /// Folders and files, relative to the workspace, that are included although a `.gitignore` names them.
    pub always: Vec<String>,
    /// Patterns as in a `.gitignore` of the workspace's own folder; what they match is in no snapshot, is never laid out, never
    /// brought in and never removed. They go before `always`.
    pub never: Vec<String>,
    /// Patterns that count as if they stood in a `.gitignore` above the workspace. [`crate::Base::Project`] adds those of
    /// the repository around it.
    pub excludes: Vec<String>,
}

/// Rules that can be asked.
#[derive(Debug)]
pub(crate) struct Matcher {
    always: Vec<Vec<u8>>,
    never: Gitignore,
    pub(crate) excludes: Gitignore,
}

impl Matcher {
    pub(crate) fn of(rules: &Rules) -> Self {
        Self {
            always: rules
                .always
                .iter()
                .map(|path| path.trim_matches('/').as_bytes().to_vec())
                .collect(),
            never: patterns(b"", rules.never.iter().map(String::as_str)),
            excludes: patterns(b"", rules.excludes.iter().map(String::as_str)),
        }
    }

    /// Tells whether no snapshot may hold this path; `is_folder` of the path itself.
    pub(crate) fn never(&self, path: &Path, place: Place) -> bool {
        self.never.matched(path, place == Place::Folder).is_ignore()
    }

    /// Tells whether no snapshot may hold this path or any folder above it.
    pub(crate) fn never_beneath(&self, path: &Path, place: Place) -> bool {
        self.never.matched_path_or_any_parents(path, place == Place::Folder).is_ignore()
    }

    /// Tells whether this path is included whatever is ignored.
    pub(crate) fn always(&self, path: &[u8]) -> bool {
        self.always.iter().any(|root| is_within(path, root))
    }

    /// Tells whether something below this folder may be included whatever is ignored.
    pub(crate) fn always_beneath(&self, folder: &[u8]) -> bool {
        self.always.iter().any(|root| is_within(root, folder))
    }
}

/// What a pattern is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A folder.
    Folder,
    /// Anything else.
    Leaf,
}

/// Tells whether a path is a folder or lies in it.
pub(crate) fn is_within(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Makes patterns of a `.gitignore` in a folder. A line that is no pattern counts for nothing, as in git.
pub(crate) fn patterns<'a>(folder: &[u8], lines: impl Iterator<Item = &'a str>) -> Gitignore {
    use std::os::unix::ffi::OsStrExt as _;
    let mut builder = GitignoreBuilder::new(Path::new(std::ffi::OsStr::from_bytes(folder)));
    for line in lines {
        let _ours_to_pass_over = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_travels_goes_before_what_always_does() {
        let rules = Rules {
            always: vec![".house".to_owned()],
            never: vec!["/.house/*/run/".to_owned()],
            excludes: Vec::new(),
        };
        let matcher = Matcher::of(&rules);
        assert!(matcher.always(b".house") && matcher.always(b".house/a/run"));
        assert!(!matcher.always(b".household") && matcher.always_beneath(b".house"));
        assert!(matcher.never(Path::new(".house/a/run"), Place::Folder));
        assert!(!matcher.never(Path::new(".house/a/b/run"), Place::Folder));
        assert!(!matcher.never(Path::new(".house/a/run"), Place::Leaf));
        assert!(matcher.never_beneath(Path::new(".house/a/run/journal"), Place::Leaf));
    }
}
