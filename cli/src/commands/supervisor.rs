//! `ratchet supervisor …`: the daemon, and what asks it. One file a verb.

mod log;
mod run;
pub(crate) mod status;
pub(crate) mod stop;

use std::path::absolute;

use ratchet_supervisor::client::Client;
use ratchet_supervisor::client::place::{Place, Wanted};
use ratchet_supervisor::environment::Environment;
use ratchet_supervisor::error::Error;
use ratchet_supervisor::store::layout::supervisor_socket;

use super::stage::refused;
use super::{Ended, failed};
use crate::args::supervisor::{Of, Supervisor};
use crate::diagnostic::Failure;
use crate::ui::Ui;

/// Runs one verb.
pub(super) fn run(verb: &Supervisor, ui: Ui) -> Ended {
    match verb {
        Supervisor::Run(args) => run::run(args, ui),
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
        return Ok(Place::Socket(socket));
    }
    match Wanted::of(environment).map_err(|error| refused(error.into()))? {
        Wanted::At(place) => Ok(place),
        Wanted::IfThere(socket) => Ok(Place::Socket(socket)),
        // Commands do without; one may be there all the same.
        Wanted::Embedded => {
            supervisor_socket(environment).map(Place::Socket).ok_or_else(|| failed(Error::NoHome))
        }
    }
}

/// Connects; `None` if nobody is there.
async fn connect(place: &Place) -> Result<Option<Client>, Failure> {
    match Client::connect(place).await {
        Err(error) if error.is_nobody() => Ok(None),
        connected => connected.map(Some).map_err(refused),
    }
}
