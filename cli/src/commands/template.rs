//! `ratchet template`: prints a template of a workflow (spec `cli-core` 7.4).

use super::{Ended, failed, open};
use crate::args::planning::Template;
use crate::exit::Exit;
use crate::ui::Ui;

/// Prints a template.
pub(crate) fn run(args: &Template, ui: Ui) -> Ended {
    let project = open()?;
    let mut text = project.template(&args.name, args.schema.as_deref()).map_err(failed)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    ui.bytes(text.as_bytes())?;
    Ok(Exit::Success)
}
