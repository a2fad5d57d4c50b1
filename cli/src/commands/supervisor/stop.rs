//! `ratchet supervisor stop`: asks for the end, waits for it, and says which steps go on.

use ratchet_supervisor::Active;
use ratchet_supervisor::client::place::Place;
use ratchet_supervisor::environment::Environment;
use ratchet_supervisor::grpc::service::Ending;
use ratchet_supervisor::project::Project;
use serde::Serialize;

use super::run::drain;
use super::status::Listed;
use super::{connect, environment, place};
use crate::args::supervisor::Stop;
use crate::commands::Ended;
use crate::commands::stage::refused;
use crate::commands::watching::on_this_thread;
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::supervisor;
use crate::ui::Ui;

/// What `supervisor stop --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// The steps that ran or waited for room when it was asked.
    active: Vec<Listed>,
    /// Those of them that nobody has recorded: they go on without it, or wait to be found.
    unfinished: Vec<Listed>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Stopped,
    NotRunning,
}

/// A supervisor that is gone.
#[derive(Debug)]
pub(crate) struct Gone {
    /// Its process id.
    pub(crate) pid: u32,
    /// The steps that it had.
    pub(crate) active: Vec<Active>,
    /// Those of them that go on without it.
    pub(crate) unfinished: Vec<Active>,
}

/// Stops the supervisor.
pub(super) fn run(args: &Stop, ui: Ui) -> Ended {
    let environment = environment()?;
    let place = place(&args.of, &environment)?;
    let ending = if args.drain { drain(args.timeout) } else { Ending::Leave };
    let gone = on_this_thread(stop(&place, ending, &environment))??;
    ui.answer(args.output.format(), &Answer::of(gone.as_ref()), |page| match &gone {
        Some(gone) => supervisor::gone(page, gone),
        None => supervisor::nobody(page, &place.name()),
    })?;
    Ok(Exit::Success)
}

/// Asks, and waits; `None` if nobody was there.
async fn stop(
    place: &Place,
    ending: Ending,
    environment: &Environment,
) -> Result<Option<Gone>, Failure> {
    let Some(mut client) = connect(place).await? else { return Ok(None) };
    let mut leaving = client.stop(place, ending).await.map_err(refused)?;
    // Held any longer, the connection would be waited for.
    drop(client);
    let (pid, active) = (leaving.pid, std::mem::take(&mut leaving.active));
    leaving.gone().await.map_err(|error| Failure::from_error(&error))?;
    let unfinished = match place {
        Place::Socket(_) => {
            active.iter().filter(|step| is_unfinished(step, environment)).cloned().collect()
        }
        // Its projects are not here to be looked at; what was not waited for goes on.
        Place::Remote { .. } => match ending {
            Ending::Leave => active.clone(),
            Ending::Drain(_) => Vec::new(),
        },
    };
    Ok(Some(Gone { pid, active, unfinished }))
}

/// Says whether a step has begun and is not recorded. A project that cannot be looked at hides none.
fn is_unfinished(Active { of, .. }: &Active, environment: &Environment) -> bool {
    let project = Project::at(&of.root, environment.clone());
    let homes = project.and_then(|project| project.unfinished());
    homes.map_or(true, |homes| homes.contains(&of.home))
}

impl Answer {
    pub(crate) fn of(gone: Option<&Gone>) -> Self {
        let list = |steps: &[Active]| steps.iter().map(Listed::from).collect();
        match gone {
            Some(Gone { pid, active, unfinished }) => Self {
                state: State::Stopped,
                pid: Some(*pid),
                active: list(active),
                unfinished: list(unfinished),
            },
            None => Self {
                state: State::NotRunning,
                pid: None,
                active: Vec::new(),
                unfinished: Vec::new(),
            },
        }
    }
}
