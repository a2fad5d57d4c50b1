//! `docs/reference/cli.md` is what clap knows. `RATCHET_BLESS=1` writes it.

use std::fmt::Write as _;
use std::fs;

use clap::{Arg, ArgAction, Command};

use crate::args::command;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/cli.md");

const TOP: &str = "\
# Commands

Written from the command line itself; `ratchet <command> --help` says the same at a terminal. Every command also takes
`--no-color` and `-h`, `--help`.
";

#[test]
fn the_page_of_commands_is_what_the_command_line_says() {
    let mut page = TOP.to_owned();
    let mut root = command();
    root.build();
    write!(page, "\n```text\n{}\n```\n", crate::args::help::EXIT_CODES).unwrap();
    for sub in shown(&root) {
        section(&mut page, sub, "ratchet", 2);
    }
    #[expect(clippy::disallowed_methods, reason = "whoever runs the tests asks by a variable")]
    let bless = std::env::var_os("RATCHET_BLESS").is_some();
    if bless {
        fs::write(PAGE, &page).unwrap();
    }
    let found = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(found == page, "{PAGE} is out of date; run this test with RATCHET_BLESS=1");
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

fn section(page: &mut String, command: &Command, above: &str, depth: usize) {
    let name = format!("{above} {}", command.get_name());
    write!(page, "\n{} {name}\n\n", "#".repeat(depth)).unwrap();
    let about = command.get_long_about().or(command.get_about());
    writeln!(page, "{}", escaped(&about.map(ToString::to_string).unwrap_or_default())).unwrap();
    let groups = shown(command).next().is_some();
    if !groups {
        let usage = command.clone().bin_name(&name).render_usage().to_string();
        write!(page, "\n```text\n{}\n```\n", usage.trim_start_matches("Usage: ")).unwrap();
    }
    let arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "no_color"))
        .collect();
    if !arguments.is_empty() {
        page.push('\n');
    }
    for argument in arguments {
        self::argument(page, argument);
    }
    if let Some(more) = command.get_after_long_help().or(command.get_after_help()) {
        write!(page, "\n```text\n{}\n```\n", more.to_string().trim_end()).unwrap();
    }
    for sub in shown(command) {
        section(page, sub, &name, depth + 1);
    }
}

fn argument(page: &mut String, argument: &Arg) {
    let mut names: Vec<String> =
        argument.get_short().map(|c| format!("-{c}")).into_iter().collect();
    names.extend(argument.get_long().map(|long| format!("--{long}")));
    let values: Vec<&str> =
        argument.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
    let takes = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let name = match (argument.is_positional(), takes) {
        (true, _) => format!("[{}]", values.join(" ")),
        (false, true) => format!("{} {}", names.join(", "), values.join(" ")),
        (false, false) => names.join(", "),
    };
    let help = argument.get_long_help().or(argument.get_help());
    let help = escaped(&help.map(ToString::to_string).unwrap_or_default());
    write!(page, "- `{}`: {}", name.trim(), help.replace("\n\n", "\n\n  ")).unwrap();
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| takes && !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() {
        write!(page, " ({})", values.join(", ")).unwrap();
    }
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes && !defaults.is_empty() {
        write!(page, " (left out: `{}`)", defaults.join(" ")).unwrap();
    }
    page.push('\n');
}

/// Angle brackets are HTML to Markdown, and a star is emphasis.
fn escaped(text: &str) -> String {
    text.replace('<', "\\<").replace('*', "\\*").trim_end().to_owned()
}
