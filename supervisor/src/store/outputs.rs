//! Which outputs of an artifact are on disk: the files that its pattern finds below the change's folder
//! (spec `cli-core` 3.4). A folder is no output.

use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// Finds the files that a pattern stands for, sorted, as they really lie.
#[must_use]
pub fn find(change: &Path, pattern: &str) -> Vec<PathBuf> {
    let is_special = |part: &&str| part.contains(['*', '?', '[', ']', '{', '}', '\\']);
    if !pattern.split('/').any(|part| is_special(&part)) {
        return existing(&change.join(pattern)).into_iter().collect();
    }
    let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() else {
        return Vec::new();
    };
    let plain: PathBuf = pattern.split('/').take_while(|part| !is_special(part)).collect();
    let mut found = Vec::new();
    walk(change, &plain, &glob.compile_matcher(), &mut found);
    found.sort();
    found
}

fn walk(change: &Path, below: &Path, glob: &GlobMatcher, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(change.join(below)) else { return };
    for entry in entries.flatten() {
        let relative = below.join(entry.file_name());
        // A link to a folder is not gone into: it could lead in a circle.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(change, &relative, glob, found),
            Ok(_) if glob.is_match(&relative) => found.extend(existing(&entry.path())),
            Ok(_) | Err(_) => {}
        }
    }
}

fn existing(path: &Path) -> Option<PathBuf> {
    path.is_file().then(|| path.canonicalize().ok())?
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    // C-N03
    #[test]
    fn an_output_is_a_file_that_the_pattern_finds() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("odd [name] {x}*");
        for folder in ["features/a/b", "features/folder.feature", "plan.md"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["features/a/b/deep.feature", "features/top.feature", "features/a/note.md"] {
            fs::write(root.join(file), "").unwrap();
        }
        let found = find(&root, "features/**/*.feature");
        assert_eq!(
            found,
            ["features/a/b/deep.feature", "features/top.feature"].map(|f| root.join(f))
        );
        assert!(find(&root, "plan.md").is_empty(), "a folder is no output");
        assert_eq!(find(&root, "features/top.feature").len(), 1);
        assert_eq!(find(&root, "features/*.feature").len(), 1, "a star stays in its folder");
        assert!(find(&root, "nothing/*.md").is_empty() && find(&root, "a{").is_empty());
        symlink(root.join("features/top.feature"), root.join("features/z.feature")).unwrap();
        assert_eq!(find(&root, "features/z.feature"), [root.join("features/top.feature")]);
    }
}
