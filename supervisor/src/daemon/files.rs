//! What a supervisor is told by files and names: its certificate, its key, its token, and the group that may use it.

use std::path::Path;

use ratchet_door::secret::{SecretError, read_secret};
use ratchet_door::token::{Token, TokenError};
use thiserror::Error;

use crate::grpc::listen::Tls;
use crate::store::file::{FileError, Limit, read_there};

/// The groups of this machine.
const GROUPS: &str = "/etc/group";

/// Why a supervisor cannot be set up as asked.
#[derive(Debug, Error)]
pub enum SetupError {
    /// A certificate cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A key cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The token cannot be used, or can be guessed.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// There is no such group.
    #[error("{GROUPS} has no group '{name}'")]
    NoGroup {
        /// What was asked for.
        name: String,
    },
}

impl SetupError {
    /// Says what to type next.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::File(error) => error.help(),
            Self::Secret(error) => error.help(),
            Self::Token(error) => error.help(),
            Self::NoGroup { name } => {
                format!("give its number: the third field of 'getent group {name}'")
            }
        }
    }
}

/// Reads what TLS and its callers need. Whether certificate and key belong together is seen when they are used.
///
/// # Errors
/// [`SetupError`].
pub fn tls(cert: &Path, key: &Path, token: &Path) -> Result<Tls, SetupError> {
    let token = Token::read(token)?;
    Ok(Tls { cert: read_there(cert, Limit::CONFIG)?, key: read_secret(key)?, token })
}

/// Finds a group by its name or its number.
///
/// # Errors
/// [`SetupError::NoGroup`] for a name that this machine's own list does not have.
pub fn group(name: &str) -> Result<u32, SetupError> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let groups = read_there(Path::new(GROUPS), Limit::CONFIG)?;
    number_of(name, &String::from_utf8_lossy(&groups))
        .ok_or_else(|| SetupError::NoGroup { name: name.to_owned() })
}

/// A line is `name:password:number:members`.
fn number_of(name: &str, groups: &str) -> Option<u32> {
    let fields = groups.lines().map(|line| line.split(':'));
    let mut numbers = fields.filter_map(|mut of| (of.next()? == name).then(|| of.nth(1)).flatten());
    numbers.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_name_or_its_number() {
        assert_eq!(number_of("dev", "root:x:0:\ndevil:x:6:\ndev:x:7:ada,eve\n"), Some(7));
        assert_eq!(number_of("de", "dev:x:7:\n"), None);
        assert_eq!(group("123").unwrap(), 123);
        let refused = group("no such:group").unwrap_err();
        assert!(refused.help().contains("getent group"), "{refused}");
    }
}
