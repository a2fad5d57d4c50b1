//! `ratchet status`: how far a change is planned (spec `cli-core` 7.1).

use serde::Serialize;

use super::{Ended, failed, open, warn};
use crate::args::planning::Status;
use crate::exit::Exit;
use crate::render::planning;
use crate::ui::Ui;

/// What `status --json` prints where there is no change.
#[derive(Debug, Serialize)]
struct NoChanges {
    changes: [&'static str; 0],
    message: &'static str,
}

/// Shows how far a change is planned.
pub(super) fn run(args: &Status, ui: Ui) -> Ended {
    let project = open()?;
    let format = args.output.format();
    if args.change.is_none() && project.change_names().map_err(failed)?.is_empty() {
        let none = NoChanges { changes: [], message: "No active changes." };
        ui.answer(format, &none, |page| {
            page.put("No active changes. Create one with 'ratchet new change <name>'.").end();
        })?;
        return Ok(Exit::Success);
    }
    let status = project.planning_status(args.change.as_deref(), args.schema.as_deref());
    let status = status.map_err(failed)?;
    warn(project.warnings().map_err(failed)?, ui);
    ui.answer(format, &status, |page| planning::status(page, &status))?;
    Ok(Exit::Success)
}
