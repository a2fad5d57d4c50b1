//! `ratchet batch new`, also `ratchet new batch`: a manifest to fill in.

use ratchet_supervisor::project::CreatedBatch;
use serde::Serialize;

use crate::args::batch::New;
use crate::commands::{Ended, failed, open};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::page::Tone;
use crate::ui::Ui;

/// What `batch new --json` prints.
#[derive(Debug, Serialize)]
struct Created<'a> {
    batch: &'a CreatedBatch,
}

/// Creates a batch.
pub(in crate::commands) fn run(args: &New, ui: Ui) -> Ended {
    let name = args.name.as_deref().ok_or_else(|| {
        Failure::new("Missing required argument <name>")
            .help("Name the batch in kebab-case: ratchet batch new checkout-flow")
    })?;
    let project = open()?;
    let batch = project.create_batch(name).map_err(failed)?;
    ui.answer(args.output.format(), &Created { batch: &batch }, |page| {
        let path = batch.path.strip_prefix(project.root()).unwrap_or(&batch.path);
        page.tone(Tone::Good, "✓ ");
        page.put(format_args!("Created batch '{name}' at {}", path.display())).end();
        page.tone(Tone::Dim, format_args!("  Fill it in, then: ratchet validate {name}")).end();
    })?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use ratchet_engine::name::BatchName;

    use super::*;
    use crate::schemas::assert_fits;

    // B-V29
    #[test]
    fn the_answer_names_the_manifest() {
        let name = BatchName::parse("shop").unwrap();
        let batch = CreatedBatch { name, path: "/p/.ratchet/batches/shop/batch.yaml".into() };
        assert_fits("new", &Created { batch: &batch });
    }
}
