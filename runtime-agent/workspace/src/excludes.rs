//! What the repository around a folder says about it: which patterns of it reach in from outside, and what it tracks.
//!
//! It is only read. Patterns of the folders above are carried over when they can be said in terms of the workspace: those
//! without a slash, and those that begin with the way to it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::entry::{Entry, Oid};
use crate::error::WorkspaceError;
use crate::git::Git;
use crate::name::TreePath;

/// The repository around a workspace.
#[derive(Debug)]
pub(crate) struct Around {
    /// Patterns from outside of the workspace, the weakest first.
    pub(crate) excludes: Vec<String>,
    /// What its index has, ignored or not: files, links and submodules.
    pub(crate) tracked: Vec<(TreePath, Entry)>,
}

/// Looks around a workspace; `None` outside of git.
pub(crate) fn around(root: &Path, git: &Git) -> Result<Option<Around>, WorkspaceError> {
    let root = fs::canonicalize(root).map_err(|error| WorkspaceError::disk(root, error))?;
    let Some(top) = root.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())
    else {
        return Ok(None);
    };
    let mut excludes = Vec::new();
    if let Some(common) = common_directory(&top.join(".git")) {
        carry(&lines(&common.join("info/exclude")), &way(top, &root), &mut excludes);
    }
    let between: Vec<_> =
        root.ancestors().skip(1).take_while(|folder| folder.starts_with(top)).collect();
    for folder in between.into_iter().rev() {
        carry(&lines(&folder.join(".gitignore")), &way(folder, &root), &mut excludes);
    }
    let listed = match git.in_folder(&root).ask("ls-files", ["--stage", "-z"]) {
        Ok(listed) => listed,
        // A `.git` that is no repository: git itself would go on looking above, and find none.
        Err(WorkspaceError::Git { said, .. }) if said.contains("not a git repository") => {
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    Ok(Some(Around { excludes, tracked: tracked(&listed) }))
}

/// Reads what `ls-files` listed. What no snapshot can hold (another file system's `.git`) is passed over; so is a pin of
/// a repository with longer names than the store's.
fn tracked(listed: &[u8]) -> Vec<(TreePath, Entry)> {
    let records = listed.split(|byte| *byte == 0);
    let entries = records.filter_map(|record| {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        let mut words = record[..tab].split(|byte| *byte == b' ');
        let (mode, oid) = (words.next()?, words.next()?);
        let path = TreePath::new(&record[tab + 1..]).ok()?;
        // The content is read from the disk, so only the name of a pin matters.
        let oid = std::str::from_utf8(oid).ok()?.parse().ok();
        let oid = if mode == b"160000" { oid? } else { oid.unwrap_or(Oid::from_bytes([0; 20])) };
        Some((path, Entry::of_mode(mode, oid).ok()?))
    });
    entries.collect()
}

/// Finds the directory that all work trees of a repository share.
fn common_directory(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let text = fs::read_to_string(git).ok()?;
    let own = git.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    match fs::read_to_string(own.join("commondir")) {
        Ok(common) => Some(own.join(common.trim())),
        Err(_) => Some(own),
    }
}

fn way(from: &Path, to: &Path) -> String {
    to.strip_prefix(from).map(|way| way.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Reads patterns; a file that cannot be read has none, as in git.
fn lines(path: &Path) -> Vec<String> {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes)
        .trim_start_matches('\u{feff}')
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Says patterns of a folder above in terms of the workspace, to which `way` leads from there.
fn carry(patterns: &[String], way: &str, into: &mut Vec<String>) {
    for pattern in patterns.iter().filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
    {
        let (sign, rest) = match pattern.strip_prefix('!') {
            Some(rest) => ("!", rest),
            None => ("", pattern.as_str()),
        };
        let anchored = rest.trim_end().trim_end_matches('/').contains('/');
        if way.is_empty() || !anchored || rest.starts_with("**/") {
            into.push(pattern.clone());
        } else if let Some(inner) = rest.trim_start_matches('/').strip_prefix(way)
            && inner.len() > 1
            && inner.starts_with('/')
        {
            into.push(format!("{sign}{inner}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_from_above_are_said_anew_or_left() {
        let lines = [
            "# no",
            "",
            "target/",
            "/packages/app/dist",
            "packages/app/*.log",
            "!packages/app/keep.log",
            "/packages/other",
            "packages/app",
            "**/cache/x",
        ]
        .map(str::to_owned);
        let mut carried = Vec::new();
        carry(&lines, "packages/app", &mut carried);
        assert_eq!(carried, ["target/", "/dist", "/*.log", "!/keep.log", "**/cache/x"]);
        let mut whole = Vec::new();
        carry(&lines, "", &mut whole);
        assert_eq!(whole.len(), 7);
    }
}
