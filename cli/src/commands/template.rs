//! `ratchet template`: prints a template. Only the batch's manifest has one so far.

use super::Ended;
use crate::args::Template;
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::ui::Ui;

/// Prints a template.
pub(crate) fn run(args: &Template, ui: Ui) -> Ended {
    match args.name.as_str() {
        "batch" | "batch.yaml" => {
            ui.bytes(ratchet_supervisor::project::SCAFFOLD.as_bytes())?;
            Ok(Exit::Success)
        }
        other => Err(Failure::new(format!("Template '{other}' not found"))
            .help("Templates: batch. For example: ratchet template batch > batch.yaml")),
    }
}
