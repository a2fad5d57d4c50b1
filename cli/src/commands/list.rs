//! `ratchet list`: the changes that are not archived, or the capabilities of the feature store (spec `cli-core` 7.5).

use ratchet_supervisor::project::{ListedChange, ListedSpec, Order};
use serde::Serialize;

use super::{Ended, failed, open};
use crate::args::planning::{List, Sort};
use crate::exit::Exit;
use crate::render::changes;
use crate::ui::Ui;

/// What `list --json` prints.
#[derive(Debug, Serialize)]
struct Changes {
    changes: Vec<ListedChange>,
}

/// What `list --specs --json` prints.
#[derive(Debug, Serialize)]
struct Specs {
    specs: Vec<ListedSpec>,
}

/// Lists them.
pub(super) fn run(args: &List, ui: Ui) -> Ended {
    let project = open()?;
    let format = args.output.format();
    if args.specs {
        let found = Specs { specs: project.list_specs().map_err(failed)? };
        ui.answer(format, &found, |page| changes::specs(page, &found.specs))?;
        return Ok(Exit::Success);
    }
    let order = match args.sort {
        Sort::Recent => Order::Recent,
        Sort::Name => Order::Name,
    };
    let found = Changes { changes: project.list_changes(order).map_err(failed)? };
    ui.answer(format, &found, |page| changes::list(page, &found.changes, project.now()))?;
    Ok(Exit::Success)
}
