//! `ratchet batch list`: every batch in a row (spec `batch-status-and-selection` 7.3).

use ratchet_supervisor::project::ListRow;
use serde::Serialize;

use crate::args::batch::List;
use crate::commands::{Ended, failed, open};
use crate::exit::Exit;
use crate::render::list;
use crate::ui::Ui;

/// What `batch list --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Batches {
    pub(crate) batches: Vec<ListRow>,
}

/// Lists the batches.
pub(super) fn run(args: &List, ui: Ui) -> Ended {
    let found = Batches { batches: open()?.list().map_err(failed)? };
    ui.answer(args.output.format(), &found, |page| list::list(page, &found.batches))?;
    Ok(Exit::Success)
}
