//! `ratchet batch status`: what is done, what is blocked, what comes next.

use ratchet_engine::permission::Escalation;

use crate::args::batch::Show;
use crate::commands::{Ended, failed, open_configured, warn};
use crate::exit::Exit;
use crate::render::status;
use crate::ui::Ui;

/// Shows a batch's status.
pub(super) fn run(args: &Show, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    let snapshot = project.snapshot(&batch, Escalation::Clamped).map_err(failed)?;
    warn(project.plan_warnings(&snapshot), ui);
    let found = project.status_of(&snapshot).map_err(failed)?;
    ui.answer(args.output.format(), &found.to_status_json(), |page| status::status(page, &found))?;
    Ok(Exit::Success)
}
