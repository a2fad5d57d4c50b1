//! What leads from one snapshot to another, as text for a person.

use std::io::Read as _;

use crate::entry::SnapshotId;
use crate::error::WorkspaceError;
use crate::git::broken;
use crate::import::EMPTY_TREE;
use crate::store::Store;

/// A diff, in git's form. It holds bytes of files, which need not be text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The diff, or its beginning.
    pub bytes: Vec<u8>,
    /// Whether more was to be said.
    pub cut: bool,
}

impl Store {
    /// Shows what leads from one snapshot to another, at most `most` bytes of it.
    ///
    /// # Errors
    /// If one is not here, or git refuses.
    pub fn diff(
        &self,
        from: SnapshotId,
        to: SnapshotId,
        most: usize,
    ) -> Result<Diff, WorkspaceError> {
        const DOING: &str = "diff-tree";
        let (from, to) = (self.files_of(from)?, self.files_of(to)?);
        let plain = ["-r", "-p", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"];
        let arguments: Vec<_> = plain.into_iter().chain([from.as_str(), to.as_str()]).collect();
        let mut running = self.git().start(DOING, &arguments)?;
        let mut bytes = Vec::new();
        let most_read = most as u64 + 1;
        let read = running.output()?.take(most_read).read_to_end(&mut bytes);
        read.map_err(|error| broken(DOING, &error))?;
        if bytes.len() > most {
            bytes.truncate(most);
            return Ok(Diff { bytes, cut: true });
        }
        running.finish()?;
        Ok(Diff { bytes, cut: false })
    }

    /// Names the tree of a snapshot's files.
    fn files_of(&self, id: SnapshotId) -> Result<String, WorkspaceError> {
        let said = self.about(
            id,
            self.git().ask("ls-tree", ["-z", "--object-only", &id.to_string(), "files"]),
        )?;
        let name = String::from_utf8_lossy(&said).trim_end_matches('\0').to_owned();
        Ok(if name.is_empty() { EMPTY_TREE.to_string() } else { name })
    }
}
