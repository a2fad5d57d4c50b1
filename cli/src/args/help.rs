//! The top of the help: which commands there are, in two groups (spec `cli-core` 1).
//!
//! clap has one list of subcommands; the workflow deserves its own, in the order in which it is used.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done, or the outcome of a step was recorded, whatever it was
  1    it could not be done; the error says why and what to type next
  10 to 14 with --exit-code: blocked, awaiting approval, nothing ready, proof-of-work failed, evaluation failed

More: ratchet help <command>, and ratchet help topics";

/// The commands of the second group, in order.
const WORKFLOW: [&str; 6] = ["propose", "apply", "verify", "report", "eval", "batch"];

/// Builds the command line with its grouped help.
pub(crate) fn command() -> Command {
    let command = super::Cli::command();
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> String {
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    heading(&mut text, "Commands");
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    for sub in shown.filter(|sub| !WORKFLOW.contains(&sub.get_name())) {
        row(&mut text, sub);
    }
    text.push('\n');
    heading(&mut text, "Workflow");
    for sub in WORKFLOW.iter().filter_map(|name| command.find_subcommand(name)) {
        row(&mut text, sub);
    }
    text.push('\n');
    heading(&mut text, "Options");
    text.push_str("{options}{after-help}");
    text
}

/// Looks like clap's own headings; clap takes the escape codes out where there is no colour.
fn heading(text: &mut String, name: &str) {
    writeln!(text, "\x1b[1m\x1b[4m{name}:\x1b[0m").expect("a String takes every write");
}

fn row(text: &mut String, command: &Command) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(text, "  \x1b[1m{:<13}\x1b[0m{about}", command.get_name())
        .expect("a String takes every write");
}
