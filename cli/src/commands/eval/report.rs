//! `ratchet eval report`: what a run came to. It reads and starts nothing.

use ratchet_eval::load;
use ratchet_eval::report::assemble;

use super::{parsed, place, refusal};
use crate::args::eval::Report;
use crate::commands::{Ended, open, warn};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::eval;
use crate::ui::Ui;

pub(super) fn run(args: &Report, ui: Ui) -> Ended {
    let project = open()?;
    let place = place(&project);
    let run = match &args.run {
        Some(run) => parsed(run)?,
        None => load::newest_run(&place).ok_or_else(|| {
            Failure::new("there is no run yet").help("ratchet eval run").code("run-not-found")
        })?,
    };
    let record = load::record(&place, &run).map_err(|error| refusal::load(&error))?;
    let (baseline, lost) = load::baseline(&place).map_err(|error| refusal::load(&error))?;
    warn(lost, ui);
    let report = assemble(&record, baseline.as_ref());
    ui.answer(args.output.format(), &report, |page| eval::report(page, &report))?;
    Ok(Exit::Success)
}
