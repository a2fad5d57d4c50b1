//! The process environment, read once.
//!
//! Nobody else asks the process for a variable, its home or its working directory, so a test can put a whole
//! environment in. Which variables an agent gets is decided in `agent`, not here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ratchet_telemetry::redact;

/// The variables and the working directory of one invocation. Values may be secret: `Debug` shows names only.
#[derive(Clone)]
pub struct Environment {
    vars: BTreeMap<OsString, OsString>,
    cwd: PathBuf,
    home: Option<PathBuf>,
    /// Where state lies, whatever the variables say.
    state: Option<PathBuf>,
}

impl Environment {
    /// Reads the environment of this process.
    ///
    /// # Errors
    /// Fails if the working directory cannot be told, for instance because it was deleted.
    pub fn from_process() -> io::Result<Self> {
        let vars: BTreeMap<_, _> = std::env::vars_os().collect();
        let cwd = std::env::current_dir()?;
        let home = home_of(&vars).or_else(std::env::home_dir).map(|home| cwd.join(home));
        Ok(Self { vars, cwd, home, state: None })
    }

    /// Makes an environment from given variables; its home is what `HOME` says.
    pub fn new<K, V>(cwd: impl Into<PathBuf>, vars: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let vars: BTreeMap<_, _> = vars.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        let cwd = cwd.into();
        let home = home_of(&vars).map(|home| cwd.join(home));
        Self { vars, cwd, home, state: None }
    }

    /// Keeps state where another environment does: what one process starts, the next one of its kind must find.
    #[must_use]
    pub fn with_state_of(self, other: &Self) -> Self {
        Self { state: other.state_home(), ..self }
    }

    /// Leaves variables out.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        self.vars.retain(|name, _| !names.iter().any(|left_out| name == left_out));
        self
    }

    /// Returns a variable's text; `None` if it is not set or not UTF-8.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.var_os(name)?.to_str()
    }

    /// Returns a variable's bytes.
    #[must_use]
    pub fn var_os(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Returns every variable, sorted by name.
    #[must_use]
    pub fn vars(&self) -> &BTreeMap<OsString, OsString> {
        &self.vars
    }

    /// Returns the working directory.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the user's home, if there is one; a relative one is where it is from the working directory.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns `$XDG_CONFIG_HOME`, else `~/.config`.
    #[must_use]
    pub fn config_home(&self) -> Option<PathBuf> {
        self.base_dir("XDG_CONFIG_HOME", ".config")
    }

    /// Returns `$XDG_DATA_HOME`, else `~/.local/share`.
    #[must_use]
    pub fn data_home(&self) -> Option<PathBuf> {
        self.base_dir("XDG_DATA_HOME", ".local/share")
    }

    /// Returns `$XDG_STATE_HOME`, else `~/.local/state`.
    #[must_use]
    pub fn state_home(&self) -> Option<PathBuf> {
        self.state.clone().or_else(|| self.base_dir("XDG_STATE_HOME", ".local/state"))
    }

    /// Returns `$XDG_CACHE_HOME`, else `~/.cache`.
    #[must_use]
    pub fn cache_home(&self) -> Option<PathBuf> {
        self.base_dir("XDG_CACHE_HOME", ".cache")
    }

    /// Returns `$XDG_RUNTIME_DIR`, which has no substitute.
    #[must_use]
    pub fn runtime_dir(&self) -> Option<PathBuf> {
        self.absolute("XDG_RUNTIME_DIR")
    }

    /// Returns the command that stands in for every agent: `RATCHET_BATCH_AGENT_CMD`, trimmed, unless it is blank.
    #[must_use]
    pub fn agent_command(&self) -> Option<&str> {
        self.command("RATCHET_BATCH_AGENT_CMD")
    }

    /// Returns the command that stands in for every agent of an evaluation: `RATCHET_EVAL_AGENT_CMD`, trimmed, unless it is
    /// blank.
    #[must_use]
    pub fn eval_agent_command(&self) -> Option<&str> {
        self.command("RATCHET_EVAL_AGENT_CMD")
    }

    fn command(&self, variable: &str) -> Option<&str> {
        self.var(variable).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Has this process hide the values of variables whose names say that they are secret, wherever it shows something.
    pub fn hide_secrets(&self) {
        let secret = self.vars.iter().filter(|(name, _)| name.to_str().is_some_and(is_secret));
        redact::know(secret.map(|(_, value)| value.as_bytes()));
    }

    /// Finds a program as a shell would: in the folders of `PATH`, an executable file.
    #[must_use]
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let path = self.var_os("PATH")?;
        std::env::split_paths(path)
            .map(|folder| self.cwd.join(folder).join(name))
            .find(|file| is_executable(file))
    }

    fn base_dir(&self, variable: &str, under_home: &str) -> Option<PathBuf> {
        self.absolute(variable).or_else(|| Some(self.home()?.join(under_home)))
    }

    /// The base directory specification has relative values ignored.
    fn absolute(&self, variable: &str) -> Option<PathBuf> {
        self.var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("vars", &self.vars.keys())
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Words with which the name of a secret ends, or one of its parts: `OPENAI_API_KEY`, `DBPASSWORD`.
const SECRET_ENDS: [&str; 7] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"];

/// Words that only say so by themselves: `GIT_AUTHOR_NAME` and `MONKEY` are none.
const SECRET_WORDS: [&str; 4] = ["KEY", "APIKEY", "AUTH", "BEARER"];

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.split(['_', '-', '.']).any(|word| {
        SECRET_WORDS.contains(&word) || SECRET_ENDS.iter().any(|end| word.ends_with(end))
    })
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn home_of(vars: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    vars.get(OsStr::new("HOME")).filter(|home| !home.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_directories_fall_back_to_the_home() {
        let plain = Environment::new("/w", [("HOME", "/h")]);
        assert_eq!(plain.config_home(), Some(PathBuf::from("/h/.config")));
        assert_eq!(plain.state_home(), Some(PathBuf::from("/h/.local/state")));
        assert_eq!(plain.runtime_dir(), None);
        let set = Environment::new("/w", [("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")]);
        assert_eq!(set.config_home(), Some(PathBuf::from("/c")));
        let relative = Environment::new("/w", [("HOME", "/h"), ("XDG_CONFIG_HOME", "c")]);
        assert_eq!(relative.config_home(), Some(PathBuf::from("/h/.config")));
        assert_eq!(Environment::new("/w", [("A", "b")]).config_home(), None);
    }

    #[test]
    fn a_relative_home_is_made_absolute() {
        let environment = Environment::new("/w", [("HOME", "rel")]);
        assert_eq!(environment.home(), Some(Path::new("/w/rel")));
        assert_eq!(environment.state_home(), Some(PathBuf::from("/w/rel/.local/state")));
    }

    #[test]
    fn a_value_is_never_in_the_debug_text() {
        let environment = Environment::new("/w", [("API_KEY", "hunter2-hunter2")]);
        let text = format!("{environment:?}");
        assert!(text.contains("API_KEY") && !text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_name_that_says_so_is_that_of_a_secret() {
        for name in ["OPENAI_API_KEY", "GH_TOKEN", "DBPASSWORD", "npm_config__auth", "X_SECRET_2"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["GIT_AUTHOR_NAME", "MONKEY", "KEYBOARD", "MAX_OUTPUT_TOKENS", "PATH", "PWD"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_blank_agent_command_is_none() {
        assert_eq!(
            Environment::new("/w", [("RATCHET_BATCH_AGENT_CMD", "  ")]).agent_command(),
            None
        );
        let set = Environment::new("/w", [("RATCHET_BATCH_AGENT_CMD", " sh x ")]);
        assert_eq!(set.agent_command(), Some("sh x"));
    }
}
