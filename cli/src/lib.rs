//! The command line of ratchet: arguments in, text or JSON and an exit code out.
//!
//! Behaviour does not belong here. A command asks the supervisor's front door and renders what it answers; what may
//! happen next is the engine's business. Read `args` for the commands, `commands` for what each does, `exit` for
//! the codes.
//!
//! **Invariant:** commands that only read never start a thread. They answer in milliseconds, also inside an agent.

mod args;
mod ask;
mod commands;
mod diagnostic;
mod exit;
mod live;
mod pen;
mod render;
#[cfg(test)]
mod schemas;
mod signals;
mod telemetry;
mod ui;
mod watch;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use clap::error::ErrorKind;
use ratchet_supervisor::mirror::{self, MIRROR};
use ratchet_supervisor::store::os_lock::tell_waits;

use crate::args::Cli;
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::ui::Ui;

/// The hidden word by which this binary is the shim of one spawn: `ratchet shim <folder>`.
pub(crate) const SHIM: &str = "shim";

/// Runs the program with the arguments of this process.
///
/// The shim goes its own way before anything else is set up: it is a small process with its own rules.
#[must_use]
pub fn run() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    match argv.as_slice() {
        [_, word, folder] if word == SHIM => ratchet_spawn::shim::run(Path::new(folder)),
        [_, word, folder] if word == MIRROR => mirror::run(Path::new(folder)),
        argv => dispatch(argv).leave(),
    }
}

fn dispatch(argv: &[OsString]) -> Exit {
    signals::outlive_full_files();
    tell_waits(|text| {
        Ui::detect().tell(|page| {
            page.put(text).end();
        });
    });
    match parse(argv) {
        Ok(cli) => {
            let ui = if cli.no_color { Ui::plain() } else { Ui::detect() };
            let run = || commands::run(&cli.command, ui);
            telemetry::around(&cli.command, cli.logging, ui, run).unwrap_or_else(|failure| {
                ui.tell(|page| failure.draw(page));
                Exit::Failure
            })
        }
        Err(error) => refuse(&error),
    }
}

fn parse(argv: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = args::command();
    if argv.iter().any(|argument| argument == "--no-color") {
        command = command.color(clap::ColorChoice::Never);
    }
    let mut matches = command.try_get_matches_from_mut(argv)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Prints help and version as answers, and everything else as a failure in our own form.
fn refuse(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => shown(error, Exit::Success),
        // Nothing is wrong with what was typed; there was only too little of it. clap prints this to standard error.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => shown(error, Exit::Failure),
        _ => {
            Ui::detect().tell(|page| usage_failure(error).draw(page));
            Exit::Failure
        }
    }
}

fn shown(error: &clap::Error, exit: Exit) -> Exit {
    match error.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Exit::Failure,
        Ok(()) | Err(_) => exit,
    }
}

/// Takes clap's text apart: its first paragraph is what is wrong, the rest is help.
fn usage_failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let (what, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    let what = what.strip_prefix("error: ").unwrap_or(what).trim_end();
    let help: Vec<&str> = rest.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Failure::new(what).help(help.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::page::{Ink, Page};

    #[test]
    fn a_mistyped_command_line_is_told_in_our_own_form() {
        let error = parse(&["ratchet".into(), "batch".into(), "nope".into()]).unwrap_err();
        let mut page = Page::new(Ink::Plain);
        usage_failure(&error).draw(&mut page);
        let text = page.finish();
        assert!(text.starts_with("Error: unrecognized subcommand 'nope'\n  help: "), "{text}");
        assert_eq!(refuse(&error), Exit::Failure);
    }
}
