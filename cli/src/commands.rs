//! One exhaustive match: a command line in, an exit out.
//!
//! Behaviour does not belong here: a command asks the supervisor's front door and hands the answer to [`crate::render`].

mod completions;
mod man;

use crate::args::Command;
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::ui::Ui;

/// How a command ends: an exit, or a failure that is still to be told.
pub(crate) type Ended = Result<Exit, Failure>;

/// Runs one command.
pub(crate) fn run(command: &Command, ui: Ui) -> Ended {
    match command {
        Command::New(_) => Err(Failure::new("not wired yet")),
        Command::Validate(_) => Err(Failure::new("not wired yet")),
        Command::Template(_) => Err(Failure::new("not wired yet")),
        Command::Completions(args) => completions::run(args, ui),
        Command::Man(args) => man::run(args),
        Command::Propose(_) => Err(Failure::new("not wired yet")),
        Command::Apply(_) => Err(Failure::new("not wired yet")),
        Command::Verify(_) => Err(Failure::new("not wired yet")),
        Command::Report(_) => Err(Failure::new("not wired yet")),
        Command::Batch(_) => Err(Failure::new("not wired yet")),
    }
}
