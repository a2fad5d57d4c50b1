//! The few things ratchet asks git, by the git command, so that the user's own configuration counts. Read-only, and never
//! in the way of the user's git: no lock is taken, no index refreshed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ratchet_engine::decide::{Branches, Group};

/// Where a work tree keeps its git directory; both are the same unless it is a linked work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitDirs {
    /// The work tree's own directory.
    pub(crate) git_dir: PathBuf,
    /// The directory shared by all work trees.
    pub(crate) common_dir: PathBuf,
}

/// Finds the git directories of the work tree that holds `root`; `None` outside of git.
#[must_use]
pub(crate) fn dirs(root: &Path) -> Option<GitDirs> {
    let text =
        ask(root, &["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"])?;
    let mut lines = text.lines().map(PathBuf::from);
    Some(GitDirs { git_dir: lines.next()?, common_dir: lines.next()? })
}

/// Says which branches a pull request has; what git does not say falls back to `main` (spec
/// `batch-manifest-and-settings` 10.2).
#[must_use]
pub(crate) fn branches(root: &Path, group: Option<&Group>) -> Branches {
    let head = ask(root, &["rev-parse", "--abbrev-ref", "HEAD"]).filter(|name| name != "HEAD");
    let origin_head = ask(root, &["symbolic-ref", "--short", "refs/remotes/origin/HEAD"]);
    Branches::of(group, head.as_deref(), origin_head.as_deref())
}

/// Who commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) email: String,
}

/// Says who commits in a work tree, as the user's own configuration has it; `None` if it does not say.
#[must_use]
pub(crate) fn identity(root: &Path) -> Option<Identity> {
    Some(Identity {
        name: ask(root, &["config", "user.name"])?,
        email: ask(root, &["config", "user.email"])?,
    })
}

/// Names the remotes of the repository that holds `root`; none outside of git.
#[must_use]
pub(crate) fn remotes(root: &Path) -> Vec<String> {
    ask(root, &["remote"]).map_or_else(Vec::new, |text| text.lines().map(str::to_owned).collect())
}

fn ask(root: &Path, arguments: &[&str]) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a read-only question that ends by itself; it needs no group, limits or record"
    )]
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_git_everything_falls_back() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(dirs(folder.path()), None);
        let expected = Branches { work: "main".to_owned(), base: "main".to_owned() };
        assert_eq!(branches(folder.path(), None), expected);
    }
}
