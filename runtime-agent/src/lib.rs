//! The worker: runs commands for supervisors on other machines, and keeps their output, their reports and what they left until
//! somebody has it.
//!
//! It has never heard of a batch. A call comes in by `listen` and `service`; a command becomes a `session`, whose shim
//! (`ratchet_spawn`) outlives this process; its files are snapshots in a workspace (`projects`); what it prints and reports
//! is told by `attach`. What must outlive the process lies where `layout` says.
//!
//! **Invariant:** nothing runs, and nothing is read of a call, without the token. **Invariant:** an id starts a command at most
//! once, also over restarts. **Invariant:** nothing outside of the state folder is written.

mod agents;
mod args;
mod attach;
mod beneath;
mod check;
mod clock;
mod environment;
mod error;
mod house;
mod layout;
mod listen;
mod name;
mod order;
mod pack;
mod projects;
mod relay;
mod serve;
mod service;
mod session;
mod sessions;
mod setup;
mod told;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use ratchet_telemetry::log::{self, Dress, Format, JOURNAL, LEVEL, Level, Lines, NoLevel};
use ratchet_telemetry::{Life, Service, Telemetry, setup as telemetry};

use crate::args::{Cli, Command, Serve};
use crate::environment::Environment;
use crate::told::Failure;

/// The hidden word by which this binary is the shim of one spawn: `runtime-agent shim <folder>`.
const SHIM: &str = "shim";

/// What it is called.
const NAME: &str = "runtime-agent";

/// Threads for calls. What waits for disks and for git has threads of its own, as many as it needs.
const WORKERS: usize = 2;

/// Runs the program with the arguments of this process.
///
/// The shim goes its own way before anything else is set up: it is a small process with its own rules.
#[must_use]
pub fn run() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    match argv.as_slice() {
        [_, word, folder] if word == SHIM => ratchet_spawn::shim::run(Path::new(folder)),
        _ => match Cli::parse().command {
            Command::Serve(args) => serve(&args),
            Command::Check(args) => check::run(&args, &Environment::from_process()),
            Command::Completions { shell } => {
                clap_complete::generate(shell, &mut Cli::command(), NAME, &mut io::stdout());
                ExitCode::SUCCESS
            }
            Command::Man { folder } => match clap_mangen::generate_to(Cli::command(), &folder) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    let help = "give a folder that exists and can be written to";
                    Failure::new(&error, "file-error", help).tell();
                    ExitCode::FAILURE
                }
            },
        },
    }
}

/// Begins the log, and telemetry if somebody takes it. What is wrong with a setting of the latter is no reason not to work.
fn tell(environment: &Environment) -> Result<Option<Telemetry>, Failure> {
    let level = Level::said(environment.var_os(LEVEL))
        .map_err(|error| Failure::new(&error, "bad-setting", NoLevel::HELP))?;
    let life = Life::Service { waits_in: None };
    let service =
        Service { name: "ratchet-runtime-agent", version: env!("CARGO_PKG_VERSION"), life };
    let (telemetry, trouble) = match telemetry::start(|name| environment.var(name), &service) {
        Ok(telemetry) => (telemetry, None),
        Err(error) => (None, Some(error)),
    };
    let dress = environment.var_os(JOURNAL).map_or(Dress::Plain, |_| Dress::Journal);
    let lines = Lines { level: level.unwrap_or(Level::INFO), format: Format::Text, dress };
    log::begin(lines, telemetry.as_ref())
        .map_err(|error| Failure::new(&error, "bad-setup", "this is a fault of runtime-agent's"))?;
    if let Some(error) = trouble {
        tracing::warn!(%error, "telemetry is off");
    }
    Ok(telemetry)
}

fn serve(args: &Serve) -> ExitCode {
    let environment = Environment::from_process();
    let telemetry = match tell(&environment) {
        Ok(telemetry) => telemetry,
        Err(failure) => {
            failure.tell();
            return ExitCode::FAILURE;
        }
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    let ended = match runtime {
        Ok(runtime) => {
            let ended = runtime.block_on(serve::serve(args, environment));
            // What still reads a file has nobody left to read it for.
            runtime.shutdown_background();
            ended
        }
        Err(error) => Err(error.into()),
    };
    if let Some(telemetry) = telemetry {
        telemetry.finish();
    }
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Failure::from(&error).tell();
            ExitCode::FAILURE
        }
    }
}
