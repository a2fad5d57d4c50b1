//! How a worker is set up: its arguments, checked against the machine. Nothing is made and nothing is listened at yet.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ratchet_door::secret::{SecretError, read_secret};
use ratchet_door::token::{Token, TokenError};
use ratchet_proto::convert::Malformed;
use secrecy::SecretString;
use thiserror::Error;

use crate::args;
use crate::environment::{EnvFileError, Environment, OperatorVariables, is_program};
use crate::layout::Layout;
use crate::name::Label;
use crate::told::Failure;

/// The folder under the user's state.
const STATE: &str = "ratchet-runtime-agent";

/// The fewest commands that run at a time, unless somebody says otherwise.
const LEAST_SESSIONS: usize = 4;

/// What is beside this program, or on PATH.
const RATCHET: &str = "ratchet";

/// A certificate and what belongs to it, PEM.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) cert: Vec<u8>,
    pub(crate) key: SecretString,
    /// By which callers show who they are.
    pub(crate) client_ca: Option<Vec<u8>>,
}

/// A worker as it is to be.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) listen: SocketAddr,
    pub(crate) token: Token,
    pub(crate) tls: Option<Tls>,
    pub(crate) layout: Layout,
    pub(crate) max_sessions: usize,
    pub(crate) labels: Vec<Label>,
    pub(crate) operator: OperatorVariables,
    /// Absent if none was named and none was found.
    pub(crate) ratchet: Option<PathBuf>,
}

/// Why a worker cannot be set up as asked.
#[derive(Debug, Error)]
pub(crate) enum SetupError {
    /// There is no token, or anybody could have it.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A certificate cannot be read.
    #[error("cannot read {}", path.display())]
    Cert {
        /// Its file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A key cannot be used.
    #[error(transparent)]
    Key(#[from] SecretError),
    /// The token would be read by others.
    #[error("without TLS, {address} would let others read the token")]
    Plaintext {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// A label is none.
    #[error(transparent)]
    Label(#[from] Malformed),
    /// The operator's variables cannot be used.
    #[error(transparent)]
    EnvFile(#[from] EnvFileError),
    /// The named ratchet is no program.
    #[error("{} is no program", path.display())]
    NoProgram {
        /// What was named.
        path: PathBuf,
    },
    /// Paths in it would need quotes where commands are told of them.
    #[error("the state folder {} has other characters than letters, digits, '/', '-', '_', '.' and '+'", path.display())]
    OddFolder {
        /// The folder.
        path: PathBuf,
    },
    /// There is no home folder for the state.
    #[error("there is no home folder to keep the state in")]
    NoHome,
}

impl Setup {
    /// Checks the arguments.
    pub(crate) fn of(args: &args::Setup, environment: &Environment) -> Result<Self, SetupError> {
        let args::Setup { listen, token_file, max_sessions, labels, .. } = args;
        Ok(Self {
            listen: *listen,
            token: Token::read(token_file)?,
            tls: tls(args)?,
            layout: layout(args, environment)?,
            max_sessions: max_sessions.map_or_else(usual_sessions, NonZeroUsize::get),
            labels: {
                let parse = |label: &String| Label::parse(label);
                let mut parsed: Vec<Label> = labels.iter().map(parse).collect::<Result<_, _>>()?;
                parsed.sort();
                parsed
            },
            operator: match &args.env_file {
                Some(file) => OperatorVariables::read(file)?,
                None => OperatorVariables::default(),
            },
            ratchet: ratchet(args, environment)?,
        })
    }
}

/// Reads what TLS needs; refuses to go without where others listen in.
pub(crate) fn tls(args: &args::Setup) -> Result<Option<Tls>, SetupError> {
    let read = |path: &PathBuf| {
        fs::read(path).map_err(|source| SetupError::Cert { path: path.clone(), source })
    };
    match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => Ok(Some(Tls {
            cert: read(cert)?,
            key: read_secret(key)?,
            client_ca: args.client_ca.as_ref().map(read).transpose()?,
        })),
        _ if args.listen.ip().is_loopback() || args.insecure => Ok(None),
        _ => Err(SetupError::Plaintext { address: args.listen }),
    }
}

/// Works out where the state is.
pub(crate) fn layout(args: &args::Setup, environment: &Environment) -> Result<Layout, SetupError> {
    let state = match (&args.state_dir, environment.var_os("XDG_STATE_HOME").map(Path::new)) {
        (Some(folder), _) => folder.clone(),
        (None, Some(state)) if state.is_absolute() => state.join(STATE),
        (None, _) => environment.home().ok_or(SetupError::NoHome)?.join(".local/state").join(STATE),
    };
    let path = std::path::absolute(&state).unwrap_or(state);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/-_.+".contains(letter);
    match path.to_str() {
        Some(text) if text.chars().all(plain) => Ok(Layout::new(path)),
        _ => Err(SetupError::OddFolder { path }),
    }
}

/// Finds the `ratchet` for commands.
pub(crate) fn ratchet(
    args: &args::Setup,
    environment: &Environment,
) -> Result<Option<PathBuf>, SetupError> {
    if let Some(named) = &args.ratchet {
        let path = std::path::absolute(named).unwrap_or_else(|_| named.clone());
        return if is_program(&path) {
            Ok(Some(path))
        } else {
            Err(SetupError::NoProgram { path })
        };
    }
    let me = std::env::current_exe().ok();
    let beside = me.map(|me| me.with_file_name(RATCHET)).filter(|path| is_program(path));
    Ok(beside.or_else(|| environment.find_program(RATCHET)))
}

/// Two for each processor: an agent mostly waits for its model.
fn usual_sessions() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    (2 * processors).max(LEAST_SESSIONS)
}

impl From<&SetupError> for Failure {
    fn from(error: &SetupError) -> Self {
        let help = match error {
            SetupError::Token(token) => token.help(),
            SetupError::Cert { path, .. } => {
                format!("see whether it is there and yours: 'ls -l {}'", path.display())
            }
            SetupError::Key(key) | SetupError::EnvFile(EnvFileError::Secret(key)) => key.help(),
            SetupError::Plaintext { .. } => {
                "add '--tls-cert FILE --tls-key FILE', or listen at 127.0.0.1; '--insecure' if the \
                 network is yours alone"
                    .to_owned()
            }
            SetupError::Label(_) => "write it as NAME=VALUE, such as '--label gpu=none'".to_owned(),
            SetupError::EnvFile(EnvFileError::Line { .. }) => {
                "write one NAME=VALUE on each line".to_owned()
            }
            SetupError::NoProgram { .. } => "name a file that can be executed".to_owned(),
            SetupError::OddFolder { .. } => {
                "name another one: '--state-dir /var/lib/ratchet-runtime-agent'".to_owned()
            }
            SetupError::NoHome => "set HOME, or name a folder with '--state-dir'".to_owned(),
        };
        Self::new(error, error.code(), help)
    }
}

impl SetupError {
    fn code(&self) -> &'static str {
        match self {
            Self::Plaintext { .. } => "plaintext-refused",
            Self::NoHome => "no-home",
            Self::Token(_)
            | Self::Cert { .. }
            | Self::Key(_)
            | Self::Label(_)
            | Self::EnvFile(_)
            | Self::NoProgram { .. }
            | Self::OddFolder { .. } => "bad-setup",
        }
    }
}
