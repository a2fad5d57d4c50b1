//! One exhaustive match: a command line in, an exit out.
//!
//! Behaviour does not belong here: a command asks the supervisor's front door and hands the answer to [`crate::render`].

mod archive;
pub(crate) mod batch;
mod change;
mod completions;
mod doctor;
pub(crate) mod eval;
mod init;
mod instructions;
mod list;
mod man;
mod new_change;
mod report;
mod stage;
mod status;
pub(crate) mod supervisor;
mod template;
mod topics;
mod update;
pub(crate) mod validate;
pub(crate) mod view;
mod watch;
mod watching;
pub(crate) mod worker;

use ratchet_engine::name::ChangeName;
use ratchet_supervisor::environment::Environment;
use ratchet_supervisor::error::Error;
use ratchet_supervisor::project::Project;

use crate::args::{Command, New};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::page::Tone;
use crate::ui::Ui;

/// How a command ends: an exit, or a failure that is still to be told.
pub(crate) type Ended = Result<Exit, Failure>;

/// Runs one command.
pub(crate) fn run(command: &Command, ui: Ui) -> Ended {
    match command {
        Command::Init(args) => init::run(args, ui),
        Command::Update(args) => update::run(args, ui),
        Command::Doctor(args) => doctor::run(args, ui),
        Command::New(New::Change(args)) => new_change::run(args, ui),
        Command::New(New::Batch(args)) => batch::new::run(args, ui),
        Command::List(args) => list::run(args, ui),
        Command::View(args) => view::run(args, ui),
        Command::Status(args) => status::run(args, ui),
        Command::Instructions(args) => instructions::run(args, ui),
        Command::Template(args) => template::run(args, ui),
        Command::Validate(args) => validate::run(args, ui),
        Command::Archive(args) => archive::run(args, ui),
        Command::Completions(args) => completions::run(args, ui),
        Command::Topics(args) => topics::run(args, ui),
        Command::Man(args) => man::run(args),
        Command::Supervisor(verb) => supervisor::run(verb, ui),
        Command::Worker(verb) => worker::run(verb, ui),
        Command::Propose(args) => change::propose(args, ui),
        Command::Apply(args) => change::apply(args, ui),
        Command::Verify(args) => change::verify(args, ui),
        Command::Report(args) => report::change(args, ui),
        Command::Eval(verb) => eval::run(verb, ui),
        Command::Batch(args) => batch::run(args, ui),
    }
}

/// Finds the project that this process stands in.
fn open() -> Result<Project, Failure> {
    let environment = Environment::from_process()
        .map_err(|source| failed(Error::NoWorkingDirectory { source }))?;
    Project::find(environment).map_err(failed)
}

/// As [`open`], for commands that use settings: what is ignored in the configuration is told.
fn open_configured(ui: Ui) -> Result<Project, Failure> {
    let project = open()?;
    warn(project.warnings().map_err(failed)?, ui);
    Ok(project)
}

/// Tells what is not as it should be and yet no reason to stop.
fn warn(warnings: impl IntoIterator<Item = String>, ui: Ui) {
    for warning in warnings {
        ui.tell(|page| {
            page.tone(Tone::Warn, "⚠ ").put(warning).end();
        });
    }
}

/// Reads the name of a change that is there.
fn parsed(change: &str) -> Result<ChangeName, Failure> {
    ChangeName::parse(change).map_err(|why| failed(Error::BadChangeName { why }))
}

/// Makes a failure of what the supervisor refuses.
fn failed(error: Error) -> Failure {
    let failure = Failure::from_error(&error).code(error.code());
    match error.help() {
        Some(help) => failure.help(help),
        None => failure,
    }
}
