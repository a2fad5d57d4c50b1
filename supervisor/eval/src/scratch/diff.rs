//! The diff of an attempt, by git, from copies of the files that differ. No repository takes part, so no setting of the
//! user's and nothing that an agent did to a repository can hide a change.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::copy::{Means, put, remove};
use super::{ScratchError, disk};
use crate::git::Git;

/// Compares the files at `paths` below two trees, in a folder of its own. Paths in the diff are as `a/src/x` and
/// `b/src/x`; binary files are in it whole.
pub(super) fn between(
    git: &Git,
    room: &Path,
    old: &dyn Fn(&Path) -> Option<PathBuf>,
    new: &dyn Fn(&Path) -> Option<PathBuf>,
    paths: &[PathBuf],
) -> Result<Vec<u8>, ScratchError> {
    remove(room).map_err(disk(room))?;
    for (side, find) in [("a", old), ("b", new)] {
        let side = room.join(side);
        fs::create_dir_all(&side).map_err(disk(&side))?;
        for path in paths {
            let Some(from) = find(path) else { continue };
            let to = side.join(path);
            place(&from, &to).map_err(disk(&to))?;
        }
    }
    let arguments = [
        "diff",
        "--no-index",
        "--no-prefix",
        "--binary",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--",
        "a",
        "b",
    ];
    // An evaluation may be of ratchet's own cache; the diff is not to be taken for one of a repository above it.
    let ceiling = [
        ("GIT_CEILING_DIRECTORIES", OsStr::new("/")),
        ("GIT_CONFIG_GLOBAL", OsStr::new("/dev/null")),
        ("GIT_CONFIG_NOSYSTEM", OsStr::new("1")),
    ];
    let output = git.output(room, &arguments, &ceiling, b"")?;
    match output.status.code() {
        Some(0 | 1) => Ok(with_both_sides(&output.stdout)),
        _ => Err(ScratchError::Git(crate::git::GitError::Failed {
            what: "diff".to_owned(),
            said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })),
    }
}

/// Names both sides of every file: of one that is new or gone, git names the one that is there twice.
fn with_both_sides(diff: &[u8]) -> Vec<u8> {
    const HEAD: &[u8] = b"diff --git ";
    let mut out = Vec::with_capacity(diff.len());
    for line in diff.split_inclusive(|byte| *byte == b'\n') {
        let names = line.strip_prefix(HEAD).map(<[u8]>::trim_ascii_end);
        let halved = names.map(|names| (names, names.len() / 2));
        match halved {
            // Both names are equally long, with a blank between them; a name in quotes is left as it is.
            Some((names, middle)) if names.get(middle) == Some(&b' ') && names[0] != b'"' => {
                let mut names = names.to_vec();
                names[0] = b'a';
                names[middle + 1] = b'b';
                out.extend_from_slice(HEAD);
                out.extend_from_slice(&names);
                out.push(b'\n');
            }
            _ => out.extend_from_slice(line),
        }
    }
    out
}

fn place(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    put(from, to, Means::Copy)
}

/// Finds the first line that a diff changes in the new file; 0 if it changes none.
pub(crate) fn first_line(diff: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(diff);
    let mut at = 0;
    let mut inside = false;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("@@ -") {
            let new = rest.split('+').nth(1).unwrap_or_default();
            at = new.split([',', ' ']).next().and_then(|n| n.parse().ok()).unwrap_or(0);
            inside = true;
        } else if inside {
            if line.starts_with(['+', '-']) {
                return at.max(1);
            }
            at += 1;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_new_file_are_named() {
        let diff = b"diff --git b/src/x b/src/x\nnew file mode 100644\n+diff --git b/y b/y\n";
        let expected = b"diff --git a/src/x b/src/x\nnew file mode 100644\n+diff --git b/y b/y\n";
        assert_eq!(with_both_sides(diff), expected);
        assert_eq!(with_both_sides(b"diff --git a/x a/x\n"), b"diff --git a/x b/x\n");
        assert_eq!(with_both_sides(b"diff --git a/x b/x\n"), b"diff --git a/x b/x\n");
    }

    #[test]
    fn the_first_changed_line_is_found_behind_its_context() {
        let diff = b"--- a/x\n+++ b/x\n@@ -3,4 +3,4 @@ fn f\n one\n two\n-three\n+four\n";
        assert_eq!(first_line(diff), 5);
        assert_eq!(first_line(b"old mode 100644\nnew mode 100755\n"), 0);
    }
}
