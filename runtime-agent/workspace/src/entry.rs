//! What a snapshot holds at a path, and the names of git's objects.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::error::WorkspaceError;
use crate::name::TreePath;

/// The name of a git object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid([u8; 20]);

/// The name of a snapshot: the commit that holds it. The same content has the same name, wherever and whenever it is taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId(Oid);

/// A text that names no object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a snapshot is named by 40 hexadecimal digits in small letters")]
pub struct SnapshotIdError;

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File(Oid),
    /// A file that may be executed.
    Program(Oid),
    /// A symbolic link; the object holds its target, which is data: nobody here follows it.
    Link(Oid),
    /// A submodule, pinned to a commit. Its content does not travel.
    Pin(Oid),
    /// A folder with nothing of the snapshot in it.
    EmptyFolder,
}

/// Everything that a snapshot holds.
pub(crate) type Listing = BTreeMap<TreePath, Entry>;

impl Oid {
    pub(crate) const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

impl FromStr for Oid {
    type Err = SnapshotIdError;

    fn from_str(text: &str) -> Result<Self, SnapshotIdError> {
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return Err(SnapshotIdError);
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| match pair[at] {
                digit @ b'0'..=b'9' => Ok(digit - b'0'),
                digit @ b'a'..=b'f' => Ok(digit - b'a' + 10),
                _ => Err(SnapshotIdError),
            };
            *byte = digit(0)? << 4 | digit(1)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl SnapshotId {
    pub(crate) const fn new(oid: Oid) -> Self {
        Self(oid)
    }

    pub(crate) const fn oid(self) -> Oid {
        self.0
    }
}

impl FromStr for SnapshotId {
    type Err = SnapshotIdError;

    fn from_str(text: &str) -> Result<Self, SnapshotIdError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Entry {
    /// Makes an entry of git's mode; only the modes of a snapshot of ours are taken.
    pub(crate) fn of_mode(mode: &[u8], oid: Oid) -> Result<Self, WorkspaceError> {
        match mode {
            b"100644" => Ok(Self::File(oid)),
            b"100755" => Ok(Self::Program(oid)),
            b"120000" => Ok(Self::Link(oid)),
            b"160000" => Ok(Self::Pin(oid)),
            other => Err(WorkspaceError::Refused {
                why: format!("it has an entry of mode {}", String::from_utf8_lossy(other)),
            }),
        }
    }

    /// Returns git's mode and the object, where git knows the entry.
    pub(crate) const fn in_git(&self) -> Option<(&'static str, Oid)> {
        match self {
            Self::File(oid) => Some(("100644", *oid)),
            Self::Program(oid) => Some(("100755", *oid)),
            Self::Link(oid) => Some(("120000", *oid)),
            Self::Pin(oid) => Some(("160000", *oid)),
            Self::EmptyFolder => None,
        }
    }

    /// Tells whether it is a folder on the disk.
    pub(crate) const fn is_folder(&self) -> bool {
        match self {
            Self::Pin(_) | Self::EmptyFolder => true,
            Self::File(_) | Self::Program(_) | Self::Link(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_forty_small_digits() {
        let name = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(name.parse::<SnapshotId>().unwrap().to_string(), name);
        for wrong in
            ["", "--all", "0123", &name.to_uppercase(), &format!("{name}0"), &"ü".repeat(20)]
        {
            assert_eq!(wrong.parse::<SnapshotId>(), Err(SnapshotIdError), "{wrong}");
        }
    }
}
