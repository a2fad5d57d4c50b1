//! `ratchet batch new`, also `ratchet new batch`: a manifest to fill in.

use crate::args::batch::New;
use crate::commands::{Ended, failed, open};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::page::Tone;
use crate::render::shell::word;
use crate::ui::Ui;

/// Creates a batch.
pub(in crate::commands) fn run(args: &New, ui: Ui) -> Ended {
    let name = args.name.as_deref().ok_or_else(|| {
        Failure::new("Missing required argument <name>")
            .help("Name the batch in kebab-case: ratchet batch new checkout-flow")
    })?;
    let created = open()?.create_batch(name).map_err(failed)?;
    ui.answer(args.output.format(), &created, |page| {
        page.tone(Tone::Good, "✓ ");
        page.put(format_args!("Created batch '{name}' at {}", created.relative.display())).end();
        page.tone(Tone::Dim, format_args!("  Fill it in, then: ratchet validate {}", word(name)));
        page.end();
    })?;
    Ok(Exit::Success)
}
