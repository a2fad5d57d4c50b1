//! `ratchet supervisor status`: who answers, and what it does.

use std::path::PathBuf;

use ratchet_supervisor::Active;
use ratchet_supervisor::client::about::About;
use ratchet_supervisor::project::StepState;
use ratchet_supervisor::store::layout::RunHome;
use serde::Serialize;

use super::{answering, environment, place};
use crate::args::supervisor::Status;
use crate::commands::Ended;
use crate::commands::stage::refused;
use crate::commands::watching::on_this_thread;
use crate::exit::Exit;
use crate::render::supervisor;
use crate::ui::Ui;

/// What `supervisor status --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Described {
    version: String,
    protocol: u32,
    pid: u32,
    started_at: String,
    listeners: Vec<String>,
    capacity: u32,
    active: Vec<Listed>,
    projects: Vec<PathBuf>,
    draining: bool,
}

/// A step that runs or waits for room: of a batch, or of a change on its own.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Listed {
    root: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
    state: StepState,
    /// How many have their turn before it; absent if it waits for no room.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<usize>,
}

/// Asks who answers.
pub(super) fn run(args: &Status, ui: Ui) -> Ended {
    let place = place(&args.of, &environment()?)?;
    let about = on_this_thread(async {
        let mut client = answering(&place).await?;
        client.about().await.map_err(refused)
    })??;
    let document = Described::from(about.clone());
    ui.answer(args.output.format(), &document, |page| supervisor::about(page, &about))?;
    Ok(Exit::Success)
}

impl From<About> for Described {
    fn from(about: About) -> Self {
        Self {
            version: about.version,
            protocol: about.protocol,
            pid: about.pid,
            started_at: about.started_at,
            listeners: about.listeners,
            capacity: about.capacity,
            active: about.active.iter().map(Listed::from).collect(),
            projects: about.projects,
            draining: about.draining,
        }
    }
}

impl From<&Active> for Listed {
    fn from(Active { of, before }: &Active) -> Self {
        let (batch, change) = match &of.home {
            RunHome::Batch(name) => (Some(name.to_string()), None),
            RunHome::Change(name) => (None, Some(name.to_string())),
        };
        let state = before.map_or(StepState::Running, |_| StepState::Waiting);
        Self { root: of.root.clone(), batch, change, state, before: *before }
    }
}
