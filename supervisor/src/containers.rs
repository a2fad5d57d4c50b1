//! The door to containers for whoever looks after them: what was left behind is removed, an image is tried.
//!
//! Steps do not come here: they run through [`crate::Supervisor`].

use std::time::Duration;

use ratchet_engine::settings::Settings;
use ratchet_spawn::{End, NotStarted};
use serde::Serialize;

pub use crate::runtime::docker::reaper::{Fate, Found, GRACE, Kind, Sweep};

use crate::environment::Environment;
use crate::error::Error;
use crate::perform::site;
use crate::project::Project;
use crate::runtime::StartError;
use crate::runtime::docker::{self, Examined, reaper};
use crate::store::layout::spawns_root;

/// What an engine and an image are like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Examination {
    /// The engine, with its version.
    pub engine: String,
    /// Where it is.
    pub endpoint: String,
    /// The version of its interface that is spoken.
    pub api: String,
    /// It runs as its user.
    pub rootless: bool,
    /// The image, as it was named.
    pub image: String,
    /// The very image: its digest, else the engine's number for it.
    pub digest: String,
    /// The programs that were tried in it.
    pub programs: Vec<Program>,
}

/// How a program fares in an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Whether it starts.
    pub state: ProgramState,
    /// What it said, or why it does not start; its first line.
    pub said: String,
}

/// Whether a program starts in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramState {
    /// It is there and starts.
    Starts,
    /// It is not there.
    Missing,
    /// It is there and does not start.
    Broken,
}

/// Removes what carries our labels and is in nobody's hands. `now` comes from the caller's clock.
///
/// # Errors
/// Fails if no engine answers.
pub async fn reap(
    environment: &Environment,
    grace: Duration,
    sweep: Sweep,
    now: ratchet_engine::time::Timestamp,
) -> Result<Vec<Found>, Error> {
    let own = spawns_root(environment).ok_or(Error::NoHome)?;
    let found = reaper::reap(environment, &own, grace, sweep, now.unix_ms() / 1000).await;
    Ok(found.map_err(StartError::from)?)
}

/// Runs each program once in a throw-away container of the image that the settings name, under the walls that a step would
/// have.
///
/// # Errors
/// Fails if no engine answers, or the image cannot be had.
pub async fn examine(
    project: &Project,
    settings: &Settings,
    ratchet: &std::path::Path,
    programs: &[String],
) -> Result<Examination, Error> {
    let container = site::container(project.root(), settings);
    let spawns = spawns_root(project.environment()).ok_or(Error::NoHome)?;
    let examined =
        docker::examine(project.environment(), &spawns, ratchet, &container, programs).await;
    let Examined { traits, endpoint, image, tried } = examined.map_err(StartError::from)?;
    Ok(Examination {
        engine: traits.version,
        endpoint,
        api: traits.api,
        rootless: traits.rootless,
        image: container.image,
        digest: image,
        programs: tried.into_iter().map(|(name, tried)| program(name, &tried)).collect(),
    })
}

fn program(name: String, tried: &docker::Tried) -> Program {
    let first = |text: &str| {
        text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    };
    let (state, said) = match &tried.end {
        End::Exited { code: 0 } => (ProgramState::Starts, first(&tried.said)),
        End::NotStarted { reason: NotStarted::CommandNotFound, message, .. } => {
            (ProgramState::Missing, first(message))
        }
        End::NotStarted { message, .. } => (ProgramState::Broken, first(message)),
        End::Exited { code } => {
            (ProgramState::Broken, format!("ended with code {code}: {}", first(&tried.said)))
        }
        End::Signaled { .. }
        | End::TimedOut { .. }
        | End::Stopped { .. }
        | End::OutOfMemory
        | End::OutputLimit { .. }
        | End::SpoolFailed { .. } => (ProgramState::Broken, "it did not end by itself".to_owned()),
    };
    Program { name, state, said }
}
