//! `ratchet batch rerun-proof`: a recorded proof no longer counts (spec `batch-status-and-selection` 7.7).

use crate::args::batch::RerunProof;
use crate::commands::{Ended, failed, open};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::page::Tone;
use crate::ui::Ui;

/// Sets a phase's proof aside.
pub(super) fn run(args: &RerunProof, ui: Ui) -> Ended {
    let phase = args.phase.as_deref().ok_or_else(|| {
        Failure::new("Missing required option --phase <phase>")
            .help("Name the phase whose proof-of-work is to run again.")
    })?;
    let project = open()?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    let answer = project.invalidate_proof(&batch, phase).map_err(failed)?;
    ui.answer(args.output.format(), &answer, |page| {
        if answer.invalidated {
            page.tone(Tone::Good, "✓ ").put(format_args!(
                "The proof-of-work of phase '{phase}' no longer counts; 'ratchet batch apply' runs it again when its turn comes."
            ));
        } else {
            page.put(format_args!(
                "Phase '{phase}' has no recorded proof-of-work: there is nothing to invalidate."
            ));
        }
        page.end();
    })?;
    Ok(Exit::Success)
}
