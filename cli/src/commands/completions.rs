//! `ratchet completions`: the script that teaches a shell our words.

use super::Ended;
use crate::args::{self, Completions};
use crate::exit::Exit;
use crate::ui::Ui;

/// Prints the completion script of a shell.
pub(crate) fn run(args: &Completions, ui: Ui) -> Ended {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "ratchet", &mut script);
    ui.bytes(&script)?;
    Ok(Exit::Success)
}
