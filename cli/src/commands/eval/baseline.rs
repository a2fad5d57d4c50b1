//! `ratchet eval baseline`: makes a complete run the one that later runs are held against.

use ratchet_eval::load;
use ratchet_eval::report::{Force, Overall, assemble, promote};
use ratchet_eval::run_id::RunId;
use serde::Serialize;

use super::{parsed, place, refusal};
use crate::args::eval::Baseline;
use crate::commands::{Ended, open, warn};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::eval;
use crate::ui::Ui;

/// What `eval baseline --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Promoted {
    pub(crate) baseline: PromotedRun,
}

/// The run that is the baseline now.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromotedRun {
    pub(crate) run_id: RunId,
}

pub(super) fn run(args: &Baseline, ui: Ui) -> Ended {
    let Some(run) = &args.run else {
        let failure = Failure::new("which run is to be the baseline?");
        return Err(failure.help("ratchet eval baseline <run-id>").code("run-not-found"));
    };
    let run = parsed(run)?;
    let project = open()?;
    let place = place(&project);
    let record = load::record(&place, &run).map_err(|error| refusal::load(&error))?;
    let force = if args.force { Force::Yes } else { Force::No };
    let baseline = promote(&record, force).map_err(|error| refusal::promotion(&error))?;
    load::keep_baseline(&place, &baseline).map_err(|error| refusal::load(&error))?;
    if assemble(&record, None).overall == Overall::Fail {
        warn([format!("run {run} fails; what fails in it now is no regression later")], ui);
    }
    let promoted = Promoted { baseline: PromotedRun { run_id: run } };
    ui.answer(args.output.format(), &promoted, |page| eval::promoted(page, &promoted))?;
    Ok(Exit::Success)
}
