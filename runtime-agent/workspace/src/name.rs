//! Paths inside a workspace. Whoever holds a [`TreePath`] holds one that cannot lead out of it, nor into a `.git`.
//!
//! The rules are git's own for what it checks out, in the strictest of its spellings: a name that only another file system
//! takes for `.git` is refused here too, since nobody knows where a snapshot is laid out next.

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The longest path that is taken, in bytes: what the kernel takes at once.
const LONGEST: usize = 4095;

/// A path relative to a workspace: one or more names, none of them empty, `.`, `..` or a spelling of `.git`. Any other bytes
/// are welcome, those that are no UTF-8 too.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(Box<[u8]>);

/// A path that no workspace has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the path {} {why}", String::from_utf8_lossy(path).escape_debug())]
pub struct NameError {
    path: Vec<u8>,
    why: &'static str,
}

impl TreePath {
    /// Takes a path of names parted by `/`.
    ///
    /// # Errors
    /// If it is absolute, empty, too long, or has a name that could mean something else than a file of the workspace.
    pub fn new(path: impl Into<Vec<u8>>) -> Result<Self, NameError> {
        let path = path.into();
        match flaw(&path) {
            Some(why) => Err(NameError { path, why }),
            None => Ok(Self(path.into_boxed_slice())),
        }
    }

    /// Returns it as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns it as a relative path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Parts it into the folder, empty for the workspace itself, and the last name.
    pub(crate) fn split(&self) -> (&[u8], &[u8]) {
        match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (&[], &self.0),
        }
    }

    /// Names the folders above it, the nearest first, without the workspace itself.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &[u8]> {
        let slashes = self.0.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| &self.0[..at])
    }
}

impl Borrow<[u8]> for TreePath {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).escape_debug().fmt(f)
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(f)
    }
}

fn flaw(path: &[u8]) -> Option<&'static str> {
    if path.is_empty() {
        return Some("is empty");
    }
    if path.starts_with(b"/") {
        return Some("is absolute");
    }
    if path.len() > LONGEST {
        return Some("is longer than 4095 bytes");
    }
    path.split(|byte| *byte == b'/').find_map(|name| match name {
        b"" => Some("has an empty name"),
        b"." | b".." => Some("has a name that means another folder"),
        name if name.contains(&0) => Some("has a zero byte"),
        name if name.len() > 255 => Some("has a name longer than 255 bytes"),
        name if is_git(name) => Some("has a name that means a git directory"),
        name if name.starts_with(TEMPORARY) => Some("has a name that is kept for unfinished files"),
        _ => None,
    })
}

/// How the names of files begin that are not finished; a snapshot never holds one.
pub(crate) const TEMPORARY: &[u8] = b".ratchet-unfinished-";

/// Tells whether a file system somewhere takes this name for `.git`: in any case, followed by what NTFS drops (dots, spaces,
/// a stream's name, a second name after a backslash), as NTFS's short name, or with code points that HFS+ overlooks.
pub(crate) fn is_git(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'\\').any(|part| {
        let bare = without_overlooked(part);
        let end = bare.iter().position(|byte| *byte == b':').unwrap_or(bare.len());
        let kept = bare[..end].iter().rposition(|byte| !matches!(byte, b'.' | b' '));
        let stem = kept.map_or(&[][..], |last| &bare[..=last]);
        stem.eq_ignore_ascii_case(b".git") || stem.eq_ignore_ascii_case(b"git~1")
    })
}

/// Drops the code points that HFS+ overlooks in names.
fn without_overlooked(name: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        let seen = chunk.valid().chars().filter(|point| {
            !matches!(point, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
        });
        let mut buffer = [0; 4];
        seen.for_each(|point| kept.extend_from_slice(point.encode_utf8(&mut buffer).as_bytes()));
        kept.extend_from_slice(chunk.invalid());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_could_lead_elsewhere_is_refused() {
        for path in ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/", "a/.", "a\0b"] {
            assert!(TreePath::new(path).is_err(), "{path:?}");
        }
        assert!(TreePath::new(vec![b'a'; 5000]).is_err());
    }

    #[test]
    fn every_spelling_of_a_git_directory_is_refused() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git ",
            ".git.",
            ".git...",
            ".git . .",
            ".git::$INDEX_ALLOCATION",
            "a\\.git",
            ".git\\hooks",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".git\u{200f}",
        ] {
            assert!(TreePath::new(name).is_err(), "{name:?}");
            assert!(TreePath::new(format!("deep/{name}/config")).is_err(), "{name:?}");
        }
    }

    #[test]
    fn odd_names_are_names() {
        for name in [
            ".gitignore",
            ".github",
            "git",
            "a b",
            "ü",
            "日本",
            "a\nb",
            "\"q\"",
            "back\\slash",
            "-rf",
            "~",
            "..a",
        ] {
            assert_eq!(TreePath::new(name).unwrap().as_bytes(), name.as_bytes());
        }
        assert!(TreePath::new(b"\xff\xfe".to_vec()).is_ok());
    }

    #[test]
    fn folders_are_named_from_the_nearest_up() {
        let path = TreePath::new("a/b/c").unwrap();
        assert_eq!(path.folders().collect::<Vec<_>>(), [&b"a/b"[..], b"a"]);
        assert_eq!(path.split(), (&b"a/b"[..], &b"c"[..]));
    }
}
