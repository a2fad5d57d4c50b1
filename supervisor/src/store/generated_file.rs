//! Files that ratchet writes where a person may have written, too. What is not provably ours is never lost: before it is
//! replaced a copy is put beside it.
//!
//! What stands in them, and whether a text is ours, is told by the caller.

use std::fs;
use std::path::{Path, PathBuf};

use super::file::{self, Created, Doing, FileError, Limit, Of as _, folder_of, sync_folder};

/// What was done about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It was not there.
    Created,
    /// It was as it should be.
    Unchanged,
    /// It was ours, of another version.
    Updated,
    /// It was a person's; that is now here.
    Replaced {
        /// The copy.
        copy: PathBuf,
    },
}

/// What was done about a file that should not be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// It is gone.
    Now,
    /// It was not there.
    Absent,
    /// It is a person's, and stays.
    LeftAlone,
}

/// Writes a file and its folders. `is_ours` tells of the text that is there whether nobody would miss it.
///
/// # Errors
/// Fails if it cannot be written, or something else stands in its place; then what was there is still there.
pub fn write(
    path: &Path,
    text: &str,
    is_ours: impl Fn(&str) -> bool,
) -> Result<Written, FileError> {
    let Some(old) = file::read_if_there(path, Limit::TEXT)? else {
        let folder = folder_of(path);
        fs::create_dir_all(folder).of(folder, Doing::MakeFolder)?;
        return match file::create_lightly(path, text.as_bytes())? {
            Created::Now => Ok(Written::Created),
            // Somebody else was faster; what that wrote is looked at like everything that is there.
            Created::Before => write(path, text, is_ours),
        };
    };
    if old == text.as_bytes() {
        return Ok(Written::Unchanged);
    }
    if std::str::from_utf8(&old).is_ok_and(is_ours) {
        file::replace(path, text.as_bytes())?;
        return Ok(Written::Updated);
    }
    let copy = keep_copy(path, &old)?;
    file::replace(path, text.as_bytes())?;
    Ok(Written::Replaced { copy })
}

/// Removes a file, and the folders that this leaves empty up to `below`, if it is ours.
///
/// # Errors
/// Fails if it is ours and cannot be removed.
pub fn remove(
    path: &Path,
    below: &Path,
    is_ours: impl Fn(&str) -> bool,
) -> Result<Removed, FileError> {
    match file::read_if_there(path, Limit::TEXT)? {
        None => return Ok(Removed::Absent),
        Some(text) if !std::str::from_utf8(&text).is_ok_and(is_ours) => {
            return Ok(Removed::LeftAlone);
        }
        Some(_) => {}
    }
    fs::remove_file(path).of(path, Doing::Remove)?;
    sync_folder(folder_of(path))?;
    let inside = path.ancestors().skip(1).take_while(|folder| folder.starts_with(below));
    for folder in inside.filter(|folder| *folder != below) {
        // One that is not empty refuses by itself.
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(Removed::Now)
}

/// Writes a copy under the first name that is free.
fn keep_copy(path: &Path, bytes: &[u8]) -> Result<PathBuf, FileError> {
    let mut number = 1;
    loop {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(if number == 1 { ".bak".to_owned() } else { format!(".bak{number}") });
        let copy = path.with_file_name(name);
        let is_same = |old: Vec<u8>| old == bytes;
        match file::create(&copy, bytes)? {
            Created::Now => return Ok(copy),
            Created::Before if file::read_if_there(&copy, Limit::TEXT)?.is_some_and(is_same) => {
                return Ok(copy);
            }
            Created::Before => number += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ours(text: &str) -> bool {
        text.starts_with("ours")
    }

    #[test]
    fn what_a_person_wrote_is_kept_as_a_copy_and_ours_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b.md");
        let write = |text| write(&path, text, is_ours).unwrap();
        assert_eq!(write("ours 1"), Written::Created);
        assert_eq!(write("ours 1"), Written::Unchanged);
        assert_eq!(write("ours 2"), Written::Updated);
        assert_eq!(fs::read_dir(dir.path().join("a")).unwrap().count(), 1);
        for (mine, copy) in [("mine", "b.md.bak"), ("mine 2", "b.md.bak2"), ("mine", "b.md.bak")] {
            fs::write(&path, mine).unwrap();
            let copy = path.with_file_name(copy);
            assert_eq!(write("ours 3"), Written::Replaced { copy: copy.clone() });
            assert_eq!(fs::read_to_string(copy).unwrap(), mine);
            assert_eq!(fs::read_to_string(&path).unwrap(), "ours 3");
        }
        fs::write(&path, b"\xff").unwrap();
        assert!(matches!(write("ours 3"), Written::Replaced { .. }));
    }

    #[test]
    fn only_ours_is_removed_and_empty_folders_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c.md");
        let remove = || remove(&path, dir.path(), is_ours).unwrap();
        assert_eq!(remove(), Removed::Absent);
        write(&path, "ours", is_ours).unwrap();
        assert_eq!(remove(), Removed::Now);
        assert!(!dir.path().join("a").exists() && dir.path().exists());
        write(&path, "mine", is_ours).unwrap();
        assert_eq!(remove(), Removed::LeftAlone);
        assert!(path.exists());
    }
}
