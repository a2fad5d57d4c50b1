//! The files by which coding agents know our commands: one that is missing is written, one that is there is the user's.
//!
//! Where they go and what stands in them is `agent::command`'s.

use std::fs;
use std::io;
use std::path::Path;

use super::file::{self, Created, Doing, FileError, Of as _, folder_of};

/// Writes a command's file and its folders, unless it is there. Two spawns may do this at once; the first file stays.
///
/// # Errors
/// Fails if it cannot be written, and if something that is no file has its name: no agent could read it.
pub fn write_missing(path: &Path, text: &str) -> Result<Created, FileError> {
    if path.is_file() {
        return Ok(Created::Before);
    }
    let folder = folder_of(path);
    fs::create_dir_all(folder).of(folder, Doing::MakeFolder)?;
    match file::create(path, text.as_bytes())? {
        Created::Before if !path.is_file() => {
            Err(FileError::new(path, Doing::Write, io::ErrorKind::IsADirectory.into()))
        }
        created => Ok(created),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_project(dir: &tempfile::TempDir) -> std::path::PathBuf {
        dir.path().join(".claude/commands/rct/apply.md")
    }

    // B-O02 B-O08
    #[test]
    fn a_missing_command_is_written_with_its_folders() {
        let dir = tempfile::tempdir().unwrap();
        let path = in_project(&dir);
        assert_eq!(write_missing(&path, "ours").unwrap(), Created::Now);
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        let beside = fs::read_dir(folder_of(&path)).unwrap().count();
        assert_eq!(beside, 1, "no temporary file is left");
    }

    // B-O04
    #[test]
    fn a_command_that_is_there_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = in_project(&dir);
        fs::create_dir_all(folder_of(&path)).unwrap();
        fs::write(&path, "mine").unwrap();
        assert_eq!(write_missing(&path, "ours").unwrap(), Created::Before);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn a_file_where_a_folder_is_needed_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".claude"), "").unwrap();
        let error = write_missing(&in_project(&dir), "ours").unwrap_err();
        assert!(matches!(error, FileError::WrongKind { .. }), "{error}");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = in_project(&dir);
        fs::create_dir_all(folder_of(&path)).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", &path).unwrap();
        assert!(write_missing(&path, "ours").is_err());
    }
}
