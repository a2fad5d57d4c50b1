//! A file that holds a secret, such as a token or a key. It is for this user alone.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use thiserror::Error;

/// The most that is read of a secret's file, in bytes: a key with its chain is far smaller.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Why a secret cannot be used. What the file holds is in none of the texts.
#[derive(Debug, Error)]
pub enum SecretError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Others can read it.
    #[error("{} can be read by others (mode {mode:o}, uid {uid})", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// Its owner.
        uid: u32,
    },
    /// There is nothing in it, or no text.
    #[error("{} holds no secret", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl SecretError {
    /// Says what to type next.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Unreadable { path, .. } => {
                format!("see whether it is there and yours: 'ls -l {}'", path.display())
            }
            Self::Exposed { path, .. } => {
                format!("make it yours alone: 'chmod 600 {}'", path.display())
            }
            Self::Empty { path } => format!("write one line of text into {}", path.display()),
        }
    }
}

/// Reads a secret; a line's end after it does not count.
///
/// # Errors
/// [`SecretError`].
pub fn read_secret(path: &Path) -> Result<SecretString, SecretError> {
    let unreadable = |source| SecretError::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    // Of the very file that is read, whatever its name leads to by then.
    let meta = file.metadata().map_err(unreadable)?;
    let (mode, uid) = (meta.mode() & 0o777, meta.uid());
    let trusted = [0, rustix::process::geteuid().as_raw()];
    if mode & 0o077 != 0 || !trusted.contains(&uid) {
        return Err(SecretError::Exposed { path: path.to_owned(), mode, uid });
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(unreadable)?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(SecretError::Empty { path: path.to_owned() }),
        secret => Ok(SecretString::from(secret)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn a_secret_is_read_only_from_a_file_of_ours_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(matches!(read_secret(&path), Err(SecretError::Unreadable { .. })));
        std::fs::write(&path, "hunter2\n").unwrap();
        for open in [0o644, 0o640, 0o604, 0o660] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(open)).unwrap();
            let error = read_secret(&path).unwrap_err();
            assert!(matches!(error, SecretError::Exposed { .. }), "{open:o}");
            assert!(error.help().contains("chmod 600"));
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(read_secret(&path).unwrap().expose_secret(), "hunter2");
        for nothing in [&b"\n"[..], b"", b"\xff\xfe"] {
            std::fs::write(&path, nothing).unwrap();
            assert!(matches!(read_secret(&path), Err(SecretError::Empty { .. })));
        }
    }
}
