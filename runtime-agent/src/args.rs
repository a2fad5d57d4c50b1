//! The command line, as types. The help is the manual.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Where a worker listens unless it is told otherwise.
pub(crate) const USUAL_ADDRESS: &str = "127.0.0.1:7431";

#[derive(Debug, Parser)]
#[command(name = crate::NAME, version, about, long_about = None, after_long_help = EXAMPLES)]
/// Run commands for ratchet's supervisors on this machine
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  (umask 077; head -c 32 /dev/urandom | base64 -w0 > token)
  runtime-agent check --token-file token
  runtime-agent serve --token-file token
  runtime-agent serve --listen 0.0.0.0:7431 --token-file token --tls-cert cert.pem --tls-key key.pem

Whoever has the token may run commands as this user. The log goes to standard error; RATCHET_LOG says how much.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer supervisors until a signal ends it; what it started goes on and is found again
    Serve(Serve),
    /// Say what works here, and what to do about the rest
    Check(Check),

    /// Print the completion script of a shell
    Completions {
        /// bash, elvish, fish, powershell or zsh
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },

    /// Write the man pages into a folder
    #[command(hide = true)]
    Man {
        /// The folder to write to; it must exist
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) setup: Setup,

    /// What a signal does: end at once and leave commands to their shims, or wait for them
    #[arg(long, value_enum, value_name = "WHAT", default_value = "leave")]
    pub(crate) on_signal: OnSignal,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) setup: Setup,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a worker is set up.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// Where to listen: ADDRESS:PORT
    #[arg(long, value_name = "ADDR", default_value = USUAL_ADDRESS)]
    pub(crate) listen: SocketAddr,

    /// The token that a caller must bring: one line of 16 characters or more, in a file that only this user can open
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: PathBuf,

    /// The certificate chain, PEM; needed unless it listens at a loopback address
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Its key, PEM; a file that only this user can open
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// The certificates by which callers must show who they are, PEM, beside the token
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) client_ca: Option<PathBuf>,

    /// Listen without TLS elsewhere than at a loopback address, where others can read the token
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) insecure: bool,

    /// Where sessions and workspaces are kept; $XDG_STATE_HOME/ratchet-runtime-agent if left out
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state_dir: Option<PathBuf>,

    /// How many commands may run at a time; two for each processor if left out, and at least four
    #[arg(long, value_name = "N")]
    pub(crate) max_sessions: Option<NonZeroUsize>,

    /// A word about this worker, by which supervisors choose it: NAME=VALUE
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub(crate) labels: Vec<String>,

    /// What separates commands from each other
    #[arg(long, value_enum, value_name = "WHAT", default_value = "process")]
    pub(crate) isolation: Isolation,

    /// Variables for every command, such as the keys of agents: lines of NAME=VALUE in a file that only this user can open
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,

    /// The ratchet that commands find; the one beside this program if left out, else the one on PATH
    #[arg(long, value_name = "PATH")]
    pub(crate) ratchet: Option<PathBuf>,

    /// What workspaces that nobody uses may take, and one snapshot may bring, in bytes, or with K, M, G or T
    #[arg(long, value_name = "BYTES", default_value = "20G", value_parser = bytes)]
    pub(crate) workspace_quota: u64,

    /// How many days a session that has ended is kept for a supervisor to take its result
    #[arg(long, value_name = "DAYS", default_value = "14", value_parser = days)]
    pub(crate) retention: Duration,
}

/// What separates commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Isolation {
    /// Nothing but their processes
    Process,
}

/// What a signal does to commands that run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnSignal {
    /// They go on without the worker, and the next one finds them
    Leave,
    /// No new ones are taken, and these are waited for
    Drain,
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.find(|letter: char| !letter.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let shift = match unit {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("a number of bytes, or a number with K, M, G or T".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "a number of bytes".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "that is more than there can be".to_owned())
}

fn days(text: &str) -> Result<Duration, String> {
    let days: u32 = text.parse().map_err(|_| "a number of days".to_owned())?;
    Ok(Duration::from_secs(u64::from(days) * 24 * 3600))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_amount_of_bytes_may_have_a_unit() {
        assert_eq!(bytes("12"), Ok(12));
        assert_eq!(bytes("3G"), Ok(3 << 30));
        for odd in ["", "G", "1.5G", "-1", "1GB", "99999999999T"] {
            assert!(bytes(odd).is_err(), "{odd}");
        }
    }
}
