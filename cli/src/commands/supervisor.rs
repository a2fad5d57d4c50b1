//! `ratchet supervisor …`: the daemon, and what asks it. One file a verb.

mod log;
mod run;
pub(crate) mod status;
pub(crate) mod stop;

use std::path::absolute;

use ratchet_supervisor::client::{Client, ClientError, Place};
use ratchet_supervisor::environment::Environment;
use ratchet_supervisor::error::Error;
use ratchet_supervisor::store::layout::supervisor_socket;

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
    let socket = match &of.socket {
        Some(socket) => absolute(socket).map_err(|error| Failure::from_error(&error))?,
        None => supervisor_socket(environment).ok_or_else(|| failed(Error::NoHome))?,
    };
    Ok(Place::Socket(socket))
}

/// Connects; `None` if nobody is there.
async fn connect(place: &Place) -> Result<Option<Client>, Failure> {
    match Client::connect(place).await {
        Ok(client) => Ok(Some(client)),
        Err(ClientError::Unreachable { .. }) => Ok(None),
        Err(error) => Err(refused(&error)),
    }
}

/// Connects, or says how to have somebody there.
async fn answering(place: &Place) -> Result<Client, Failure> {
    connect(place).await?.ok_or_else(|| {
        Failure::new(format!("no supervisor answers at {}", name(place)))
            .help(
                "start one with 'ratchet supervisor run'; commands do without one until it is there",
            )
            .code("supervisor-not-running")
    })
}

/// Names a place.
fn name(place: &Place) -> String {
    match place {
        Place::Socket(path) => format!("unix:{}", path.display()),
        Place::Remote { uri, .. } => uri.clone(),
    }
}

/// Makes a failure of what a supervisor refuses.
fn refused(error: &ClientError) -> Failure {
    let failure = Failure::from_error(error);
    match error {
        ClientError::Refused(detail) => match &detail.help {
            Some(help) => failure.help(help),
            None => failure,
        },
        ClientError::Unreachable { .. } | ClientError::Cut(_) | ClientError::Malformed(_) => {
            failure.help("look at its log, or start it again: 'ratchet supervisor run'")
        }
    }
}
