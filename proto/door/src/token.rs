//! The token of a server: whoever has it may call. What a caller says, and how it is looked at.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;
use thiserror::Error;
use tonic::metadata::errors::InvalidMetadataValue;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};

use crate::secret::{SecretError, read_secret};

/// The fewest bytes of a token; a shorter one can be guessed.
pub const SHORTEST_TOKEN: usize = 16;

/// A token that cannot be guessed. Clones share it; it is in no text.
#[derive(Clone)]
pub struct Token(Arc<SecretString>);

/// Why a file holds no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// It cannot be read, or is not for this user alone.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Anybody could guess it.
    #[error("the token in {} can be guessed: it is one line of at least {SHORTEST_TOKEN} visible characters", path.display())]
    Weak {
        /// Its file.
        path: PathBuf,
    },
}

/// Why a call may not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// It brings none.
    #[error("the call carries no bearer token")]
    Missing,
    /// It brings another.
    #[error("the token of the call is not this server's")]
    Wrong,
}

impl Token {
    /// Reads it from a file that is for this user alone.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let token = read_secret(path)?;
        let text = token.expose_secret();
        if text.len() < SHORTEST_TOKEN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Weak { path: path.to_owned() });
        }
        Ok(token.into())
    }

    /// Looks whether a call brings it. How much of a wrong one was right is not told, neither in words nor in time.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn admit(&self, metadata: &MetadataMap) -> Result<(), Refused> {
        let said = metadata.get("authorization").ok_or(Refused::Missing)?;
        let said = said.as_bytes().strip_prefix(b"Bearer ").ok_or(Refused::Missing)?;
        let same: bool = said.ct_eq(self.0.expose_secret().as_bytes()).into();
        if same { Ok(()) } else { Err(Refused::Wrong) }
    }
}

/// Gives what a caller says with each call: the token, marked as nothing that is ever shown.
///
/// # Errors
/// Fails for a token that no header can carry.
pub fn bearer(token: &SecretString) -> Result<MetadataValue<Ascii>, InvalidMetadataValue> {
    let mut value = MetadataValue::try_from(format!("Bearer {}", token.expose_secret()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Takes a token that was read before. Whether it can be guessed is not looked at.
impl From<SecretString> for Token {
    fn from(token: SecretString) -> Self {
        Self(Arc::new(token))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

impl TokenError {
    /// Says what to type next.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Secret(error) => error.help(),
            Self::Weak { path } => format!(
                "make one: '(umask 077; head -c 32 /dev/urandom | base64 -w0 > {})'",
                path.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn call(header: Option<&str>) -> Result<(), Refused> {
        let mut metadata = MetadataMap::new();
        if let Some(header) = header {
            metadata.insert("authorization", header.parse().unwrap());
        }
        Token::from(SecretString::from("s3cret-s3cret")).admit(&metadata)
    }

    #[test]
    fn only_the_whole_token_opens() {
        assert_eq!(call(Some("Bearer s3cret-s3cret")), Ok(()));
        for wrong in ["Bearer s3cret-s3cre", "Bearer s3cret-s3cretX", "Bearer "] {
            assert_eq!(call(Some(wrong)), Err(Refused::Wrong), "{wrong}");
        }
        assert_eq!(call(Some("s3cret-s3cret")), Err(Refused::Missing));
        assert_eq!(call(None), Err(Refused::Missing));
    }

    #[test]
    fn a_token_that_can_be_guessed_is_refused_and_not_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            Token::read(&path)
        };
        for text in ["short-short", "two lines of it\nand another", "with spaces in between"] {
            let refused = read(text).unwrap_err();
            assert!(matches!(refused, TokenError::Weak { .. }), "{refused}");
            assert!(!refused.to_string().contains(text));
        }
        let token = read("s3cret-s3cret-s3cret\n").unwrap();
        assert!(!format!("{token:?}").contains("s3cret"));
    }
}
