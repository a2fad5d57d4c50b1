//! `ratchet batch cancel`: the step that runs is stopped, from anywhere, and everything its agent started is gone when
//! the command returns. Whoever watches the step records it; if nobody does, the next `batch apply` will.

use ratchet_engine::name::{BatchName, SpawnId, StepKey};
use ratchet_supervisor::client::{Client, Stopped};
use ratchet_supervisor::project::{Current, Project, StepState};
use ratchet_supervisor::request::StopReason;
use ratchet_supervisor::store::layout::RunHome;
use serde::Serialize;

use crate::args::batch::Cancel;
use crate::commands::stage::refused;
use crate::commands::watching::on_this_thread;
use crate::commands::{Ended, failed, open};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::page::{Page, Tone};
use crate::ui::Ui;

/// What `batch cancel --json` prints.
#[derive(Debug, Serialize)]
struct Cancelled<'a> {
    batch: &'a BatchName,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    spawn: Option<&'a SpawnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'a StepKey>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Stopped,
    CalledOff,
    NothingRunning,
}

/// Stops the step of a batch that runs.
pub(super) fn run(args: &Cancel, ui: Ui) -> Ended {
    let format = args.output.format();
    let project = open()?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    let Some(step) = on_this_thread(stop(&project, &batch))?? else {
        let none =
            Cancelled { batch: &batch, state: State::NothingRunning, spawn: None, change: None };
        ui.answer(format, &none, |page| {
            page.put(format_args!("No step of batch '{batch}' is running.")).end();
        })?;
        return Ok(Exit::Success);
    };
    let stopped = Cancelled {
        batch: &batch,
        state: match step.state {
            StepState::Waiting => State::CalledOff,
            StepState::Running => State::Stopped,
        },
        spawn: Some(&step.spawn),
        change: Some(&step.key),
    };
    ui.answer(format, &stopped, |page| draw(page, &step))?;
    Ok(Exit::Success)
}

/// Says which step was stopped.
pub(in crate::commands) fn draw(page: &mut Page, step: &Stopped) {
    page.tone(Tone::Good, "✓ ");
    let done = match step.state {
        StepState::Waiting => "Called off, before it began,",
        StepState::Running => "Stopped",
    };
    page.put(format_args!("{done} the step of '{}' (spawn {})", step.key, step.spawn)).end();
}

/// Stops the step, and waits until everything it started is gone. One that waits for room is called off by the supervisor
/// that holds it; any other can be stopped by whoever shares its disk.
pub(in crate::commands) async fn stop(
    project: &Project,
    batch: &BatchName,
) -> Result<Option<Stopped>, Failure> {
    let home = RunHome::Batch(batch.clone());
    if let Some(mut client) = Client::find(project).await.map_err(refused)? {
        return client.cancel(project, home, StopReason::Cancel).await.map_err(refused);
    }
    let Some(Current { step, dir, state }) = project.cancel(batch).map_err(failed)? else {
        return Ok(None);
    };
    project.end_of(&home, &dir).await.map_err(failed)?;
    Ok(Some(Stopped { spawn: step.spawn, key: step.key, state }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemas::assert_fits;

    #[test]
    fn both_answers_fit_their_schema() {
        let batch = BatchName::parse("shop").unwrap();
        let spawn = SpawnId::parse("0192").unwrap();
        let change = StepKey::from_text("add-cart");
        let state = State::Stopped;
        assert_fits(
            "cancel",
            &Cancelled { batch: &batch, state, spawn: Some(&spawn), change: Some(&change) },
        );
        let state = State::NothingRunning;
        assert_fits("cancel", &Cancelled { batch: &batch, state, spawn: None, change: None });
    }
}
