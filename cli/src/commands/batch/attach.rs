//! `ratchet batch attach`: the output of the step that runs, whoever started it. Ends with the step; Ctrl-C ends only
//! the following, because nothing here takes the signal.

use ratchet_engine::name::BatchName;
use ratchet_engine::shell::quoted;
use ratchet_supervisor::client::Client;
use ratchet_supervisor::client::place::Place;
use ratchet_supervisor::event::EventSink;
use ratchet_supervisor::follow::{Start, follow};
use ratchet_supervisor::project::{Current, Project, StepState};

use crate::args::Format;
use crate::args::batch::Attach;
use crate::commands::stage::refused;
use crate::commands::watching::watching;
use crate::commands::{Ended, failed, open};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::page::Tone;
use crate::ui::Ui;

/// Follows the step of a batch that runs.
pub(super) fn run(args: &Attach, ui: Ui) -> Ended {
    let project = open()?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    let from = args.from.map_or(Start::Now, Start::Offset);
    let elsewhere = Place::elsewhere(project.environment());
    match elsewhere.map_err(|error| refused(error.into()))? {
        Some(place) => there(&project, &place, &batch, from, ui)?,
        None => here(&project, &batch, from, ui)?,
    }
    ui.tell(|page| {
        page.tone(Tone::Dim, "The step has ended. How it was judged: ratchet batch status ");
        page.tone(Tone::Dim, quoted(batch.as_str())).end();
    });
    Ok(Exit::Success)
}

/// Reads what lies on this machine.
fn here(project: &Project, batch: &BatchName, from: Start, ui: Ui) -> Result<(), Failure> {
    let Some(Current { step, dir, state }) = project.running(batch).map_err(failed)? else {
        return Err(Failure::new(format!("No step of batch '{batch}' is running"))
            .help("'ratchet batch log --last' shows what the latest step printed."));
    };
    if state == StepState::Waiting {
        ui.tell(|page| {
            page.tone(Tone::Dim, "It waits for room; what it prints follows once it has begun.");
            page.end();
        });
    }
    watching(ui, Format::Text, async |sink| follow(&step, &dir, from, sink).await)?.map_err(failed)
}

/// Tells the whole output of the step of a batch that runs, from wherever it is; nothing, if none runs any more.
pub(in crate::commands) async fn tell(
    project: &Project,
    batch: &BatchName,
    sink: EventSink,
) -> Result<(), Failure> {
    let from = Start::Offset(0);
    match Place::elsewhere(project.environment()).map_err(|error| refused(error.into()))? {
        Some(place) => {
            let mut client = Client::connect(&place).await.map_err(refused)?;
            client.attach(project, batch, from, sink).await.map_err(refused)
        }
        None => match project.running(batch).map_err(failed)? {
            Some(Current { step, dir, .. }) => {
                follow(&step, &dir, from, sink).await.map_err(failed)
            }
            None => Ok(()),
        },
    }
}

/// Asks the supervisor that has it.
fn there(
    project: &Project,
    place: &Place,
    batch: &BatchName,
    from: Start,
    ui: Ui,
) -> Result<(), Failure> {
    let attached = watching(ui, Format::Text, async |sink| {
        Client::connect(place).await?.attach(project, batch, from, sink).await
    });
    attached?.map_err(refused)
}
