//! `ratchet instructions`: how an artifact is made, or how a plan is carried out or checked (spec `cli-core` 7.2, 7.3).

use ratchet_supervisor::project::guidance::Work;

use super::{Ended, failed, open_configured, warn};
use crate::args::planning::Instructions;
use crate::exit::Exit;
use crate::render::instructions;
use crate::ui::Ui;

/// Tells how something is made.
pub(super) fn run(args: &Instructions, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let (change, schema) = (args.change.as_deref(), args.schema.as_deref());
    let format = args.output.format();
    let work = match args.artifact.as_deref() {
        Some("apply") => Work::Apply,
        Some("verify") => Work::Verify,
        artifact => {
            let told = project.instructions(artifact, change, schema).map_err(failed)?;
            warn(told.warnings.clone(), ui);
            ui.answer(format, &told, |page| instructions::artifact(page, &told))?;
            return Ok(Exit::Success);
        }
    };
    let told = project.work_instructions(work, change, schema).map_err(failed)?;
    ui.answer(format, &told, |page| instructions::work(page, &told, work))?;
    Ok(Exit::Success)
}
