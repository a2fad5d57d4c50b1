//! `ratchet supervisor …` as types.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::{Output, duration};

pub(crate) const EXAMPLES: &str = "\
Examples:
  ratchet supervisor run
  ratchet supervisor status
  ratchet supervisor stop --drain --timeout 10m";

#[derive(Debug, Subcommand)]
pub(crate) enum Supervisor {
    /// Run the supervisor until a signal or `ratchet supervisor stop` ends it
    ///
    /// It listens at a socket that only this user can reach, goes on with every step that an earlier supervisor or a
    /// command left, and owns the steps that commands ask it for. Its log goes to standard error, one line for each
    /// start, stop, project, step and refusal; RATCHET_LOG says how much: off, error, warn, info (the default), debug or
    /// trace. No output of an agent, no token and no value of a variable is in it.
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(Run),

    /// Say who answers: its version, since when, where it listens, what runs
    ///
    /// Asks the supervisor that RATCHET_SUPERVISOR names, else the one at this user's socket. Exits 1 if none answers.
    #[command(after_long_help = STATUS_EXAMPLES)]
    Status(Status),

    /// Have the supervisor end, and wait until it is gone
    ///
    /// It begins no new step. Steps that run go on under their shims, and the next supervisor, or the next command for
    /// their batch, goes on with them. With --drain it waits for them first.
    #[command(after_long_help = STOP_EXAMPLES)]
    Stop(Stop),
}

const RUN_EXAMPLES: &str = "\
Examples:
  ratchet supervisor run
  ratchet supervisor run --capacity 4 --on-signal drain --drain-timeout 5m
  ratchet supervisor run --socket /srv/ratchet/supervisor.sock --group dev
  ratchet supervisor run --listen 0.0.0.0:7430 --tls-cert cert.pem --tls-key key.pem --token-file token

Over the network, who has the token may have commands run as this user. A token and a certificate of one's own:

  (umask 077; head -c 32 /dev/urandom | base64 -w0 > token)
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj /CN=ratchet \\
      -addext subjectAltName=DNS:HOST -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem

Callers set RATCHET_SUPERVISOR to https://HOST:7430, RATCHET_SUPERVISOR_TOKEN_FILE to a file with the token, and
RATCHET_SUPERVISOR_CA to the certificate.";

const STATUS_EXAMPLES: &str = "\
Examples:
  ratchet supervisor status
  ratchet supervisor status --json
  RATCHET_SUPERVISOR=unix:/srv/ratchet/supervisor.sock ratchet supervisor status";

const STOP_EXAMPLES: &str = "\
Examples:
  ratchet supervisor stop
  ratchet supervisor stop --drain
  ratchet supervisor stop --drain --timeout 10m --json";

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Where to listen; $XDG_RUNTIME_DIR/ratchet/supervisor.sock if left out, else ~/.cache/ratchet/supervisor.sock
    ///
    /// The folder is made if need be, and must be this user's alone. A socket that systemd hands over goes first.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    /// A group that may use the socket beside this user, by name or number
    ///
    /// Its members may have commands run as this user.
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,

    /// Listen here, too, over TLS: ADDRESS:PORT
    #[arg(long, value_name = "ADDR", requires_all = ["tls_cert", "tls_key", "token_file"])]
    pub(crate) listen: Option<SocketAddr>,

    /// The certificate chain, PEM
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Its key, PEM; a file that only this user can open
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) tls_key: Option<PathBuf>,

    /// The token that a caller must bring; a file that only this user can open
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) token_file: Option<PathBuf>,

    /// How many commands may run at a time; the rest wait in line
    ///
    /// Two for each processor if left out, and at least four: an agent mostly waits for its model.
    #[arg(long, value_name = "N", value_parser = capacity)]
    pub(crate) capacity: Option<NonZeroUsize>,

    /// What a signal does to steps that run: leave them to their shims, or wait for them
    #[arg(long, value_enum, value_name = "WHAT", default_value = "leave")]
    pub(crate) on_signal: OnSignal,

    /// How long a signal waits for steps that run, such as 90s, 5m or 2h; without an end if left out
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) drain_timeout: Option<Duration>,
}

/// The most commands that may run at a time; more than a machine can have processes and open files for is a slip.
const MOST: usize = 10_000;

fn capacity(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= MOST);
    number.ok_or_else(|| format!("a number from 1 to {MOST}"))
}

/// What a signal does to running steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnSignal {
    /// They go on without the supervisor, and are found again
    Leave,
    /// They are waited for
    Drain,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) of: Of,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// Wait for steps that run
    #[arg(long)]
    pub(crate) drain: bool,

    /// How long to wait for them, such as 90s, 5m or 2h; what still runs then goes on under its shim
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, requires = "drain")]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) of: Of,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Which supervisor.
#[derive(Debug, Args)]
pub(crate) struct Of {
    /// The socket of the supervisor, instead of what RATCHET_SUPERVISOR says
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}
