//! `ratchet supervisor …`: the daemon, and what asks it. One file a verb.

mod run;
pub(crate) mod status;
pub(crate) mod stop;

use std::path::{Path, absolute};

use ratchet_supervisor::client::Client;
use ratchet_supervisor::client::place::{Place, SUPERVISOR, Wanted};
use ratchet_supervisor::environment::Environment;
use ratchet_supervisor::error::Error;
use ratchet_supervisor::grpc::listen::holder_of;
use ratchet_supervisor::store::os_lock::Holder;

use super::stage::refused;
use super::{Ended, failed};
use crate::args::supervisor::{Of, Supervisor};
use crate::diagnostic::Failure;
use crate::ui::Ui;

/// Runs one verb.
pub(super) fn run(verb: &Supervisor, ui: Ui) -> Ended {
    match verb {
        Supervisor::Run(args) => run::run(args),
        Supervisor::Status(args) => status::run(args, ui),
        Supervisor::Stop(args) => stop::run(args, ui),
    }
}

/// Reads this process's environment.
fn environment() -> Result<Environment, Failure> {
    Environment::from_process().map_err(|source| failed(Error::NoWorkingDirectory { source }))
}

/// Says which supervisor is meant.
fn place(of: &Of, environment: &Environment) -> Result<Place, Failure> {
    if let Some(socket) = &of.socket {
        let socket = absolute(socket).map_err(|error| Failure::from_error(&error))?;
        return Place::socket(socket).map_err(|error| refused(error.into()));
    }
    match Wanted::of(environment).map_err(|error| refused(error.into()))? {
        Wanted::At(place) => Ok(place),
        Wanted::IfThere(socket) => Ok(Place::Socket(socket)),
        Wanted::Embedded => Err(Failure::new("no supervisor is named, only this process")
            .help(format!("give its socket with '--socket PATH', or unset {SUPERVISOR}"))
            .code("supervisor-not-running")),
    }
}

/// Connects; `None` if nobody is there.
async fn connect(place: &Place) -> Result<Option<Client>, Failure> {
    match (Client::connect(place).await, place) {
        (Ok(client), _) => Ok(Some(client)),
        (Err(error), Place::Socket(socket)) if error.is_nobody() => match holder_of(socket) {
            Some(holder) => Err(without_socket(socket, &holder)),
            None => Ok(None),
        },
        (Err(error), _) => Err(refused(error)),
    }
}

/// Somebody removed the socket of a supervisor that lives.
fn without_socket(socket: &Path, holder: &Holder) -> Failure {
    let kill = holder.pid().map_or_else(|| "kill PID".to_owned(), |pid| format!("kill {pid}"));
    let socket = socket.display();
    Failure::new(format!("a supervisor runs, {holder}, but its socket {socket} is gone"))
        .help(format!(
            "end it with '{kill}' and start it again: its steps go on meanwhile and are found"
        ))
        .code("supervisor-unreachable")
}

/// Connects, or says how to have somebody there.
async fn answering(place: &Place) -> Result<Client, Failure> {
    connect(place).await?.ok_or_else(|| {
        Failure::new(format!("no supervisor answers at {}", place.name()))
            .help("start one with 'ratchet supervisor run'; commands do without until it is there")
            .code("supervisor-not-running")
    })
}
