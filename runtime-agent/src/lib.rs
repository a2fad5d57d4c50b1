//! The worker: runs commands for supervisors on other machines, and keeps their output, their reports and what they left until
//! somebody has it.
//!
//! It has never heard of a batch. A call comes in by [`listen`] and [`service`]; a command becomes a [`session`], whose shim
//! (`ratchet_spawn`) outlives this process; its files are snapshots in a workspace ([`projects`]); what it prints and reports
//! is told by [`attach`]. What must outlive the process lies where [`layout`] says.
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
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use ratchet_door::log::{self, JOURNAL, LEVEL, Look};

use crate::args::{Cli, Command, Serve};
use crate::environment::Environment;
use crate::told::Failure;

/// The hidden word by which this binary is the shim of one spawn: `runtime-agent shim <folder>`.
const SHIM: &str = "shim";

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
        },
    }
}

fn serve(args: &Serve) -> ExitCode {
    let environment = Environment::from_process();
    let look = match environment.var_os(JOURNAL) {
        Some(_) => Look::Timeless,
        None => Look::Plain,
    };
    if let Err(error) = log::begin(environment.var_os(LEVEL), look) {
        let help = "use off, error, warn, info, debug or trace";
        Failure::new(&error, "bad-setting", help).tell();
        return ExitCode::FAILURE;
    }
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
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Failure::from(&error).tell();
            ExitCode::FAILURE
        }
    }
}
