//! The environment: the worker's own, read once, and the one that a command gets.
//!
//! A command gets a few variables of the worker's that say who and where it is; what the request brings; and what the operator
//! put into a file, which goes before the request: keys of agents live here and are not sent. PATH and HOME are always the
//! worker's. Values are in no text.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret as _;

use ratchet_door::secret::{SecretError, read_secret};

/// What a command may know of the worker.
const HANDED_ON: [&str; 14] = [
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
];

/// What no request may say: it would run other programs, or find other settings, than the operator put there.
const NOT_TO_BE_SENT: [&str; 2] = ["PATH", "HOME"];

/// Where programs are when the worker's own environment does not say.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Variables by name.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// The worker's own environment.
#[derive(Clone)]
pub(crate) struct Environment(Variables);

/// What the operator gives every command.
#[derive(Clone, Default)]
pub(crate) struct OperatorVariables(Variables);

/// Why a file of variables cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnvFileError {
    /// It cannot be read, or others can read it.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A line is no variable. What it holds is not shown.
    #[error("line {line} of {} is not NAME=VALUE", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which, from 1.
        line: usize,
    },
}

impl Environment {
    /// Reads it from this process.
    pub(crate) fn from_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    #[cfg(test)]
    pub(crate) fn new<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self(variables.iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    pub(crate) fn var_os(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Gives a variable that is text.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.var_os(name).and_then(OsStr::to_str)
    }

    /// Gives the home folder, whoever says where it is.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.var_os("HOME").map(PathBuf::from).or_else(std::env::home_dir)
    }

    /// Gives the folders in which programs are looked for.
    pub(crate) fn path(&self) -> &OsStr {
        self.var_os("PATH").unwrap_or(OsStr::new(USUAL_PATH))
    }

    /// Gives the same with a folder in front.
    pub(crate) fn path_with(&self, first: &Path) -> OsString {
        let mut path = first.as_os_str().to_owned();
        path.push(":");
        path.push(self.path());
        path
    }

    /// Finds a program that can be started.
    pub(crate) fn find_program(&self, name: &str) -> Option<PathBuf> {
        let candidates = std::env::split_paths(self.path()).map(|folder| folder.join(name));
        candidates.into_iter().find(|path| is_program(path))
    }

    /// Makes the environment of a command.
    pub(crate) fn of_command(
        &self,
        path: OsString,
        sent: Vec<(OsString, OsString)>,
        operator: &OperatorVariables,
    ) -> Variables {
        let own = |name: &&str| Some(((*name).into(), self.var_os(name)?.to_owned()));
        let mut variables: Variables = HANDED_ON.iter().filter_map(own).collect();
        let allowed = |name: &OsStr| !NOT_TO_BE_SENT.iter().any(|never| name == *never);
        variables.extend(sent.into_iter().filter(|(name, _)| allowed(name)));
        variables.extend(operator.0.clone());
        variables.insert("PATH".into(), path);
        variables
    }
}

/// Tells whether a file can be started.
pub(crate) fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

impl OperatorVariables {
    /// Reads lines of `NAME=VALUE` from a file that is for this user alone. Empty lines and those that begin with `#` count for
    /// nothing; quotes are part of the value.
    pub(crate) fn read(path: &Path) -> Result<Self, EnvFileError> {
        let text = match read_secret(path) {
            Err(SecretError::Empty { .. }) => return Ok(Self::default()),
            other => other?,
        };
        let mut variables = Variables::new();
        for (at, line) in text.expose_secret().lines().enumerate() {
            let line = line.trim_start();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let plain = |name: &str| {
                !name.is_empty()
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            };
            match line.split_once('=') {
                Some((name, value)) if plain(name) && !value.contains('\0') => {
                    variables.insert(name.into(), value.into());
                }
                _ => return Err(EnvFileError::Line { path: path.to_owned(), line: at + 1 }),
            }
        }
        Ok(Self(variables))
    }

    /// Gives the names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.0.keys().map(OsString::as_os_str)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl fmt::Debug for OperatorVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(text: &str) -> Result<OperatorVariables, EnvFileError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("env");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        OperatorVariables::read(&path)
    }

    #[test]
    fn the_operator_goes_before_the_request_and_path_and_home_are_the_workers() {
        let own = Environment::new([
            ("HOME", "/home/w"),
            ("PATH", "/bin"),
            ("LANG", "C.UTF-8"),
            ("NOTIFY_SOCKET", "/run/x"),
        ]);
        let sent = [("HOME", "/evil"), ("PATH", "/evil"), ("KEY", "sent"), ("A", "b")];
        let sent = sent.map(|(name, value)| (name.into(), value.into())).to_vec();
        let operator = operator("# keys\n\nKEY=own=1\n").unwrap();
        let command = own.of_command("/first:/bin".into(), sent, &operator);
        let texts: Vec<String> =
            command.iter().map(|(name, value)| format!("{name:?}={value:?}")).collect();
        let expected = ["A=b", "HOME=/home/w", "KEY=own=1", "LANG=C.UTF-8", "PATH=/first:/bin"];
        assert_eq!(
            texts,
            expected.map(|pair| {
                let (name, value) = pair.split_once('=').unwrap();
                format!("{name:?}={value:?}")
            })
        );
    }

    #[test]
    fn a_line_that_is_no_variable_is_named_and_not_shown() {
        for odd in ["A=1\nhunter2", "=hunter2", "A B=hunter2"] {
            let error = operator(odd).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        assert!(operator("\n").unwrap().names().next().is_none());
        assert!(!format!("{:?}", operator("A=hunter2").unwrap()).contains("hunter2"));
    }
}
