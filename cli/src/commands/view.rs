//! `ratchet view`: everything at a glance (spec `cli-core` 7.6).

use ratchet_supervisor::project::setup::SetupError;
use ratchet_supervisor::project::{ListedChange, ListedSpec, Order};
use serde::Serialize;

use super::watch::{self, Scope};
use super::{Ended, failed, open};
use crate::args::planning::View;
use crate::exit::Exit;
use crate::render::dashboard;
use crate::ui::Ui;

/// What `view --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Overview {
    pub(crate) changes: Vec<ListedChange>,
    pub(crate) specs: Vec<ListedSpec>,
}

/// Shows everything at a glance.
pub(super) fn run(args: &View, ui: Ui) -> Ended {
    let project = open()?;
    if !project.is_set_up() {
        return Err(failed(SetupError::NotSetUp.into()));
    }
    if args.watch {
        return watch::run(project, &Scope::All, args.output.format(), ui);
    }
    // A project without a folder for changes has none; that is no reason to show nothing.
    let changes = project.list_changes(Order::Name).unwrap_or_default();
    let overview = Overview { changes, specs: project.list_specs().map_err(failed)? };
    ui.answer(args.output.format(), &overview, |page| dashboard::overview(page, &overview))?;
    Ok(Exit::Success)
}
