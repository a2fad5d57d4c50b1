//! The command line as it is typed: what is understood, what is refused, what the help says.

mod reference;

use clap::Parser as _;

use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split(' '))
}

#[test]
fn the_command_line_is_consistent() {
    command().debug_assert();
}

// C-O09
#[test]
fn the_help_lists_the_workflow_last_and_in_order() {
    let help = command().render_help().to_string();
    let places: Vec<_> = [
        "Commands:",
        "\n  validate",
        "Workflow:",
        "\n  propose",
        "\n  apply",
        "\n  verify",
        "\n  report",
        "\n  batch",
        "Options:",
    ]
    .map(|part| help.find(part).unwrap_or_else(|| panic!("{part:?} is missing in {help}")))
    .to_vec();
    assert!(places.is_sorted(), "{help}");
    assert!(!help.contains("\n  man"), "{help}");
}

#[test]
fn a_message_may_begin_with_a_hyphen() {
    let cli = parse("ratchet batch report shop --change a --blocker -x").unwrap();
    let Command::Batch(batch::Batch::Report(report)) = cli.command else { panic!("{cli:?}") };
    assert_eq!(report.kind.blocker.as_deref(), Some("-x"));
}

#[test]
fn a_key_may_begin_with_a_hyphen() {
    let cli = parse("ratchet batch report shop --change -rf --complete done").unwrap();
    let Command::Batch(batch::Batch::Report(report)) = cli.command else { panic!("{cli:?}") };
    assert_eq!(report.change.as_deref(), Some("-rf"));
    for line in ["ratchet batch approve --change --help", "ratchet batch log --change -rf"] {
        assert!(parse(line).is_ok(), "{line}");
    }
}

#[test]
fn a_number_below_nothing_is_told_as_such() {
    for line in ["ratchet batch run --max-steps -1", "ratchet batch attach --from -1"] {
        let text = parse(line).unwrap_err().to_string();
        assert!(text.contains("invalid value '-1'") && !text.contains("tip:"), "{text}");
    }
}

#[test]
fn help_can_be_asked_for_by_a_word() {
    for line in ["ratchet help", "ratchet help batch apply", "ratchet batch help run"] {
        let error = parse(line).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{line}");
    }
}

// C-O08
#[test]
fn no_color_is_accepted_everywhere() {
    assert!(parse("ratchet --no-color batch status").unwrap().no_color);
    assert!(parse("ratchet batch status --no-color").unwrap().no_color);
}

// C-O08
#[test]
fn an_unknown_command_or_flag_is_refused() {
    for line in ["ratchet", "ratchet experimental", "ratchet batch status --frob", "ratchet verify"]
    {
        assert!(parse(line).is_err(), "{line}");
    }
}
