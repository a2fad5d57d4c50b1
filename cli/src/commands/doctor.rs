//! `ratchet doctor`: looks at what work will need, before anything is spent (spec `cli-core` 12).

use ratchet_supervisor::doctor::Depth;

use super::{Ended, open};
use crate::args::setup::Doctor;
use crate::exit::Exit;
use crate::render::doctor;
use crate::ui::Ui;

/// Looks at everything.
pub(super) fn run(args: &Doctor, ui: Ui) -> Ended {
    let diagnosis = open()?.diagnose(Depth::Full);
    ui.answer(args.output.format(), &diagnosis, |page| doctor::diagnosis(page, &diagnosis))?;
    Ok(if diagnosis.ok { Exit::Success } else { Exit::Failure })
}
