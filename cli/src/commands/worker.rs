//! `ratchet worker …`: looks after the machines on which steps run.

use ratchet_supervisor::workers::{About, Door, Looked};
use serde::Serialize;

use super::watching::on_this_thread;
use super::{Ended, failed, open_configured};
use crate::args::worker::{Check, Drain, List, Worker};
use crate::exit::Exit;
use crate::render::{doctor, worker};
use crate::ui::Ui;

/// What `worker list --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Listed<'a> {
    workers: Vec<Row<'a>>,
}

/// One worker of it: what it is like, or why nobody knows.
#[derive(Debug, Serialize)]
struct Row<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a About>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Trouble>,
}

#[derive(Debug, Serialize)]
struct Trouble {
    code: &'static str,
    message: String,
}

impl<'a> Listed<'a> {
    pub(crate) fn of(looked: &'a [Looked]) -> Self {
        let row = |looked: &'a Looked| Row {
            name: &looked.name,
            about: looked.answer.as_ref().ok(),
            error: looked
                .answer
                .as_ref()
                .err()
                .map(|error| Trouble { code: error.code(), message: error.to_string() }),
        };
        Self { workers: looked.iter().map(row).collect() }
    }
}

/// Runs one verb.
pub(super) fn run(verb: &Worker, ui: Ui) -> Ended {
    match verb {
        Worker::List(args) => list(args, ui),
        Worker::Check(args) => check(args, ui),
        Worker::Drain(args) => drain(args, ui),
    }
}

fn list(args: &List, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let looked = on_this_thread(project.workers())?.map_err(failed)?;
    ui.answer(args.output.format(), &Listed::of(&looked), |page| worker::list(page, &looked))?;
    Ok(Exit::Success)
}

fn check(args: &Check, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let diagnosis = on_this_thread(project.check_workers())?.map_err(failed)?;
    ui.answer(args.output.format(), &diagnosis, |page| doctor::diagnosis(page, &diagnosis))?;
    Ok(if diagnosis.ok { Exit::Success } else { Exit::Failure })
}

fn drain(args: &Drain, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let door = if args.resume { Door::Open } else { Door::Draining };
    let asked = project.set_door(args.worker.as_deref(), door);
    let drained = on_this_thread(asked)?.map_err(failed)?;
    ui.answer(args.output.format(), &drained, |page| worker::drained(page, &drained))?;
    Ok(Exit::Success)
}
