//! `ratchet doctor`: looks at what work will need, before anything is spent (spec `cli-core` 12).

mod containers;

use ratchet_supervisor::doctor::Depth;

use super::{Ended, open};
use crate::args::doctor::{Doctor, Place};
use crate::exit::Exit;
use crate::render::doctor;
use crate::ui::Ui;

/// Looks at everything, at one place, or clears away.
pub(super) fn run(args: &Doctor, ui: Ui) -> Ended {
    match args.locus {
        Some(Place::Docker) => containers::examine(args, ui),
        None if args.reap => containers::reap(args, ui),
        None => diagnose(args, ui),
    }
}

fn diagnose(args: &Doctor, ui: Ui) -> Ended {
    let diagnosis = open()?.diagnose(Depth::Full);
    ui.answer(args.output.format(), &diagnosis, |page| doctor::diagnosis(page, &diagnosis))?;
    Ok(if diagnosis.ok { Exit::Success } else { Exit::Failure })
}
