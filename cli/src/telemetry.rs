//! The log of this process, and its telemetry: begun before a command, ended after it.
//!
//! Commands that only read have neither a thread nor a subscriber unless somebody asks for log lines. What is wrong with a
//! setting of telemetry is told, and is no reason not to work.

use ratchet_supervisor::environment::Environment;
use ratchet_supervisor::store::layout::telemetry_queue;
use ratchet_telemetry::log::{self, Dress, Format, JOURNAL, LEVEL, Level, Lines, NoLevel};
use ratchet_telemetry::{Life, Service, Telemetry, setup};

use crate::args::{Command, LogFormat, Logging};
use crate::commands::Ended;
use crate::diagnostic::Failure;
use crate::render::page::{Ink, Tone};
use crate::ui::Ui;

/// What a command needs of all this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It starts nothing.
    Plain,
    /// It has steps run.
    Steps,
    /// It is the supervisor.
    Supervisor,
}

/// Runs a command with its log and its telemetry.
pub(crate) fn around(
    command: &Command,
    logging: Logging,
    ui: Ui,
    run: impl FnOnce() -> Ended,
) -> Ended {
    let telemetry = begin(role(command), logging, ui)?;
    let ended = run();
    if let Some(telemetry) = telemetry {
        telemetry.finish();
    }
    ended
}

fn role(command: &Command) -> Role {
    use crate::args::batch::Batch;
    use crate::args::supervisor::Supervisor;
    match command {
        Command::Supervisor(Supervisor::Run(_)) => Role::Supervisor,
        Command::Propose(_)
        | Command::Apply(_)
        | Command::Verify(_)
        | Command::Batch(Batch::Apply(_) | Batch::Run(_)) => Role::Steps,
        Command::Init(_)
        | Command::Update(_)
        | Command::Doctor(_)
        | Command::New(_)
        | Command::List(_)
        | Command::View(_)
        | Command::Status(_)
        | Command::Instructions(_)
        | Command::Template(_)
        | Command::Validate(_)
        | Command::Archive(_)
        | Command::Completions(_)
        | Command::Topics(_)
        | Command::Man(_)
        | Command::Supervisor(Supervisor::Status(_) | Supervisor::Stop(_))
        | Command::Worker(_)
        | Command::Eval(_)
        | Command::Report(_)
        | Command::Batch(
            Batch::New(_)
            | Batch::Status(_)
            | Batch::List(_)
            | Batch::View(_)
            | Batch::Config(_)
            | Batch::Report(_)
            | Batch::Approve(_)
            | Batch::Cancel(_)
            | Batch::Attach(_)
            | Batch::Log(_)
            | Batch::RerunProof(_)
            | Batch::Archive(_),
        ) => Role::Plain,
    }
}

fn begin(role: Role, logging: Logging, ui: Ui) -> Result<Option<Telemetry>, Failure> {
    // Without a working directory nothing works, and the command says so.
    let Ok(environment) = Environment::from_process() else { return Ok(None) };
    let level = match (logging.level(), level(&environment), role) {
        (Some(asked), _, _) => asked,
        (None, Ok(Some(said)), _) => said,
        (None, Ok(None), Role::Supervisor) => Level::INFO,
        (None, Ok(None), Role::Plain | Role::Steps) => Level::OFF,
        (None, Err(failure), Role::Supervisor) => return Err(failure),
        (None, Err(failure), Role::Plain | Role::Steps) => {
            // An agent's report must not fail for this.
            warn(ui, &failure.sentence());
            Level::OFF
        }
    };
    environment.hide_secrets();
    let telemetry = match role {
        Role::Plain => None,
        Role::Steps => started(&environment, "ratchet", Life::Command, ui),
        Role::Supervisor => {
            let waits_in = telemetry_queue(&environment);
            started(&environment, "ratchet-supervisor", Life::Service { waits_in }, ui)
        }
    };
    let lines = Lines { level, format: logging.format(), dress: dress(&environment, ui.err()) };
    log::begin(lines, telemetry.as_ref()).map_err(|error| Failure::from_error(&error))?;
    Ok(telemetry)
}

fn started(environment: &Environment, name: &'static str, life: Life, ui: Ui) -> Option<Telemetry> {
    let service = Service { name, version: env!("CARGO_PKG_VERSION"), life };
    match setup::start(|name| environment.var(name), &service) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            warn(ui, &format!("telemetry is off: {error}"));
            None
        }
    }
}

fn level(environment: &Environment) -> Result<Option<Level>, Failure> {
    Level::said(environment.var_os(LEVEL))
        .map_err(|error| Failure::from_error(&error).help(NoLevel::HELP).code("bad-setting"))
}

fn dress(environment: &Environment, ink: Ink) -> Dress {
    match ink {
        // The journal knows the time better.
        Ink::Plain if environment.var_os(JOURNAL).is_some() => Dress::Journal,
        Ink::Plain => Dress::Plain,
        Ink::Colour => Dress::Colour,
    }
}

fn warn(ui: Ui, text: &str) {
    ui.tell(|page| {
        page.tone(Tone::Warn, "⚠ ").put(text).end();
    });
}

impl From<LogFormat> for Format {
    fn from(format: LogFormat) -> Self {
        match format {
            LogFormat::Text => Self::Text,
            LogFormat::Json => Self::Json,
        }
    }
}
