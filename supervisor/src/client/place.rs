//! Where a supervisor is: what `RATCHET_SUPERVISOR` says, else the socket of this user (architecture 2).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ratchet_door::secret::{SecretError, read_secret};
use secrecy::SecretString;
use thiserror::Error;

use crate::environment::Environment;
use crate::grpc::listen::{LONGEST_SOCKET, fits};
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
    /// It knows nobody by name; and what is written here is shown.
    #[error("{SUPERVISOR} is '{text}', and a supervisor takes a token, no name and password")]
    Credentials {
        /// What it says.
        text: String,
    },
    /// The kernel takes no socket of such a path.
    #[error("{} is too long for a socket: {} bytes, and {LONGEST_SOCKET} is the most", path.display(), path.as_os_str().len())]
    TooLong {
        /// The path.
        path: PathBuf,
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
        match environment.var_os(SUPERVISOR).filter(|said| !said.is_empty()) {
            None => Ok(supervisor_socket(environment).map_or(Self::Embedded, Self::IfThere)),
            Some(said) if said == "embedded" => Ok(Self::Embedded),
            Some(said) => Place::parse(said, environment).map(Self::At),
        }
    }
}

impl Place {
    /// Names the supervisor that is on another machine, if it is one that is wanted: what its steps print is there.
    ///
    /// # Errors
    /// [`PlaceError`].
    pub fn elsewhere(environment: &Environment) -> Result<Option<Self>, PlaceError> {
        match Wanted::of(environment)? {
            Wanted::At(place @ Self::Remote { .. }) => Ok(Some(place)),
            Wanted::At(Self::Socket(_)) | Wanted::IfThere(_) | Wanted::Embedded => Ok(None),
        }
    }

    /// Takes a socket by its path.
    ///
    /// # Errors
    /// [`PlaceError::TooLong`].
    pub fn socket(path: PathBuf) -> Result<Self, PlaceError> {
        if fits(&path) { Ok(Self::Socket(path)) } else { Err(PlaceError::TooLong { path }) }
    }

    fn parse(said: &OsStr, environment: &Environment) -> Result<Self, PlaceError> {
        if let Some(path) = said.as_bytes().strip_prefix(b"unix:") {
            let path = Path::new(OsStr::from_bytes(path));
            if !path.is_absolute() {
                return Err(PlaceError::Unknown { text: said.to_string_lossy().into_owned() });
            }
            return Self::socket(path.to_owned());
        }
        let uri = said.to_string_lossy().into_owned();
        let text = shown(&uri);
        match uri.split_once("://") {
            Some(("https", _)) if text != uri => return Err(PlaceError::Credentials { text }),
            Some(("https", host)) if !host.is_empty() => {}
            Some(("http", _)) => return Err(PlaceError::Plaintext { text }),
            _ => return Err(PlaceError::Unknown { text }),
        }
        let file = |name| environment.var_os(name).filter(|path| !path.is_empty()).map(Path::new);
        let Some(token) = file(TOKEN_FILE) else { return Err(PlaceError::NoToken { text }) };
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

/// Gives an address as it may be shown: a name and password in it are nobody's business.
fn shown(uri: &str) -> String {
    let (scheme, rest) = uri.split_once("://").map_or((None, uri), |(of, rest)| (Some(of), rest));
    let rest = rest.rsplit_once('@').map_or(rest.to_owned(), |(_, host)| format!("***@{host}"));
    scheme.map_or(rest.clone(), |scheme| format!("{scheme}://{rest}"))
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
            Self::Credentials { .. } => {
                format!("write 'https://host:port', and name the token's file in {TOKEN_FILE}")
            }
            Self::TooLong { .. } => "give it a shorter path".to_owned(),
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
        let empty = [("HOME", "/home/ada"), (SUPERVISOR, "")];
        assert_eq!(socket(&empty), Path::new("/home/ada/.cache/ratchet/supervisor.sock"));
        let said = wanted(&[("HOME", "/home/ada"), (SUPERVISOR, "embedded")]).unwrap();
        assert!(matches!(said, Wanted::Embedded));
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
        let long = format!("unix:/{}", "x".repeat(LONGEST_SOCKET));
        let refused = wanted(&[(SUPERVISOR, &long)]).unwrap_err();
        assert!(matches!(refused, PlaceError::TooLong { .. }), "{refused:?}");
        let bare = wanted(&[(SUPERVISOR, "https://build:7430")]).unwrap_err();
        assert!(matches!(bare, PlaceError::NoToken { .. }));
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_shown() {
        for said in [
            "https://ada:pa55@build:7430",
            "https://ada:p@55@build:7430",
            "http://ada:pa55@build:7430",
            "htps://ada:pa55@build:7430",
            "ada:pa55@build:7430",
        ] {
            let refused = wanted(&[(SUPERVISOR, said)]).unwrap_err();
            let text = format!("{refused} {} {refused:?}", refused.help());
            assert!(text.contains("***@build:7430"), "{text}");
            assert!(!text.contains("55"), "{text}");
        }
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
