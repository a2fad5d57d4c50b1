//! Where a supervisor is: what `RATCHET_SUPERVISOR` says, else the socket of this user (architecture 2).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ratchet_door::secret::{SecretError, read_secret};
use secrecy::SecretString;
use thiserror::Error;

use crate::environment::Environment;
use crate::store::file::{FileError, Limit, read_there};
use crate::store::layout::supervisor_socket;

/// Names the supervisor: `embedded`, `unix:PATH` or `https://HOST:PORT`.
pub const SUPERVISOR: &str = "RATCHET_SUPERVISOR";

/// Names the file of the token for a supervisor that is reached by `https`.
pub const TOKEN_FILE: &str = "RATCHET_SUPERVISOR_TOKEN_FILE";

/// Names the PEM file of the certificates to trust instead of the system's.
pub const CA_FILE: &str = "RATCHET_SUPERVISOR_CA";

/// Where a supervisor is.
#[derive(Debug, Clone)]
pub enum Place {
    /// A socket on this machine. Calls carry the caller's environment.
    Socket(PathBuf),
    /// Somewhere else, over TLS. It must see the project at the same path.
    Remote {
        /// Such as `https://build.example:7430`.
        uri: String,
        /// Who may call.
        token: SecretString,
        /// The PEM of the certificates to trust instead of the system's.
        ca: Option<Vec<u8>>,
    },
}

/// Which supervisor a caller wants.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// The one in its own process.
    Embedded,
    /// The one at this user's socket, if one answers there; else the one in its own process.
    IfThere(PathBuf),
    /// This one and no other.
    At(Place),
}

/// Why it cannot be told which supervisor is wanted.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// No form that is known.
    #[error("{SUPERVISOR} is '{text}', which names no supervisor")]
    Unknown {
        /// What it says.
        text: String,
    },
    /// The token would be readable on its way.
    #[error("{SUPERVISOR} is '{text}', and a supervisor is never called in plain text")]
    Plaintext {
        /// What it says.
        text: String,
    },
    /// Nobody may call without a token.
    #[error("{SUPERVISOR} is '{text}', and {TOKEN_FILE} names no token for it")]
    NoToken {
        /// What it says.
        text: String,
    },
    /// The token's file is none, or not only for this user.
    #[error("the token for the supervisor cannot be used")]
    Token(#[from] SecretError),
    /// The certificates cannot be read.
    #[error("the certificates that {CA_FILE} names cannot be read")]
    Ca(#[source] FileError),
}

impl Wanted {
    /// Reads what the environment says.
    ///
    /// # Errors
    /// [`PlaceError`].
    pub fn of(environment: &Environment) -> Result<Self, PlaceError> {
        match environment.var_os(SUPERVISOR) {
            None => Ok(supervisor_socket(environment).map_or(Self::Embedded, Self::IfThere)),
            Some(said) if said.is_empty() || said == "embedded" => Ok(Self::Embedded),
            Some(said) => Place::parse(said, environment).map(Self::At),
        }
    }
}

impl Place {
    fn parse(said: &OsStr, environment: &Environment) -> Result<Self, PlaceError> {
        let text = || said.to_string_lossy().into_owned();
        if let Some(path) = said.as_bytes().strip_prefix(b"unix:") {
            let path = Path::new(OsStr::from_bytes(path));
            let socket = path.is_absolute().then(|| Self::Socket(path.to_owned()));
            return socket.ok_or_else(|| PlaceError::Unknown { text: text() });
        }
        let uri = text();
        match uri.split_once("://") {
            Some(("https", host)) if !host.is_empty() => {}
            Some(("http", _)) => return Err(PlaceError::Plaintext { text: uri }),
            _ => return Err(PlaceError::Unknown { text: uri }),
        }
        let file = |name| environment.var_os(name).filter(|path| !path.is_empty()).map(Path::new);
        let Some(token) = file(TOKEN_FILE) else { return Err(PlaceError::NoToken { text: uri }) };
        let ca = file(CA_FILE).map(|path| read_there(path, Limit::CONFIG));
        let ca = ca.transpose().map_err(PlaceError::Ca)?;
        Ok(Self::Remote { uri, token: read_secret(token)?, ca })
    }

    /// Names the place for people.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Socket(path) => format!("unix:{}", path.display()),
            Self::Remote { uri, .. } => uri.clone(),
        }
    }
}

impl PlaceError {
    /// Says what to type next.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Unknown { .. } => format!(
                "{SUPERVISOR} may be 'embedded', 'unix:/absolute/path' or 'https://host:port'"
            ),
            Self::Plaintext { .. } => {
                "use 'https://host:port', or 'unix:/absolute/path' on this machine".to_owned()
            }
            Self::NoToken { .. } => {
                format!("set {TOKEN_FILE} to the token file that the supervisor was started with")
            }
            Self::Token(error) => error.help(),
            Self::Ca(_) => format!("set {CA_FILE} to a PEM file, or unset it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn wanted(vars: &[(&str, &str)]) -> Result<Wanted, PlaceError> {
        Wanted::of(&Environment::new("/", vars.iter().copied()))
    }

    #[test]
    fn without_a_word_the_socket_of_this_user_is_looked_at() {
        let socket = |vars: &[(&str, &str)]| match wanted(vars).unwrap() {
            Wanted::IfThere(path) => path,
            other => panic!("{other:?}"),
        };
        let home = [("HOME", "/home/ada"), ("XDG_RUNTIME_DIR", "/run/user/7")];
        assert_eq!(socket(&home), Path::new("/run/user/7/ratchet/supervisor.sock"));
        assert_eq!(socket(&home[..1]), Path::new("/home/ada/.cache/ratchet/supervisor.sock"));
        assert!(matches!(wanted(&[]).unwrap(), Wanted::Embedded));
        for embedded in ["embedded", ""] {
            let said = wanted(&[("HOME", "/home/ada"), (SUPERVISOR, embedded)]).unwrap();
            assert!(matches!(said, Wanted::Embedded));
        }
    }

    #[test]
    fn what_names_no_supervisor_is_told_with_what_would() {
        let socket = wanted(&[(SUPERVISOR, "unix:/tmp/a b.sock")]).unwrap();
        assert!(
            matches!(socket, Wanted::At(Place::Socket(path)) if path == Path::new("/tmp/a b.sock"))
        );
        for odd in ["unix:", "unix:relative", "tcp://x", "https://", "/tmp/x.sock", "embeded"] {
            let refused = wanted(&[(SUPERVISOR, odd)]).unwrap_err();
            assert!(matches!(refused, PlaceError::Unknown { .. }), "{odd}: {refused:?}");
            assert!(refused.help().contains("unix:/absolute/path"));
        }
        let plain = wanted(&[(SUPERVISOR, "http://127.0.0.1:7430")]).unwrap_err();
        assert!(matches!(plain, PlaceError::Plaintext { .. }));
        let bare = wanted(&[(SUPERVISOR, "https://build:7430")]).unwrap_err();
        assert!(matches!(bare, PlaceError::NoToken { .. }));
    }

    #[test]
    fn a_remote_one_has_its_token_from_a_file_that_is_only_ours() {
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "s3cret-s3cret\n").unwrap();
        let vars = [(SUPERVISOR, "https://build:7430"), (TOKEN_FILE, token.to_str().unwrap())];
        let mode =
            |mode| std::fs::set_permissions(&token, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        assert!(matches!(wanted(&vars).unwrap_err(), PlaceError::Token(_)));
        mode(0o600);
        let found = wanted(&vars).unwrap();
        assert!(matches!(&found, Wanted::At(Place::Remote { ca: None, .. })));
        assert!(!format!("{found:?}").contains("s3cret"));
    }
}
