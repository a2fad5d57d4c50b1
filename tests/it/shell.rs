//! The shell around all commands: help, version, mistakes.

use crate::empty;

// C-O08 C-O10
#[test]
fn the_version_is_that_of_the_package() {
    let env = empty();
    let version = env.ratchet(["--version"]).ok().stdout();
    assert_eq!(version, format!("ratchet {}\n", env!("CARGO_PKG_VERSION")));
}

// C-O09 C-O10
#[test]
fn the_help_has_the_workflow_last_and_names_the_tools() {
    let env = empty();
    let help = env.ratchet(["--help"]).ok().stdout();
    let places: Vec<Option<usize>> =
        ["  init ", "Workflow:", "  propose ", "  apply ", "  verify ", "  report ", "  batch "]
            .map(|word| help.find(word))
            .to_vec();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{help}");
    let init = env.ratchet(["init", "--help"]).ok().stdout();
    assert!(init.contains("claude, codex, cursor, gemini, github-copilot, opencode"), "{init}");
}

// C-O07 C-O08
#[test]
fn a_mistake_ends_with_a_message_and_1() {
    let env = empty();
    for arguments in [
        vec!["frob"],
        vec!["status", "--frob"],
        vec!["template"],
        vec!["apply"],
        vec!["list", "--sort", "size"],
    ] {
        env.ratchet(arguments).refused();
    }
    let plain = env.ratchet(["--no-color", "status"]).ok();
    assert!(!plain.stdout().contains('\x1b') && plain.stderr().is_empty());
}

// C-O06 C-O10
#[test]
fn with_json_nothing_but_the_document_is_printed() {
    let env = empty();
    let json = env.ratchet(["validate", "--all", "--json"]).ok();
    assert_eq!(json.json()["version"], "1.0");
    assert_eq!(json.stderr(), "");
    assert!(env.ratchet(["validate", "nothing", "--json"]).refused().contains("Unknown item"));
}

#[test]
fn topics_tell_what_belongs_to_no_command() {
    let env = empty();
    let list = env.ratchet(["help", "topics"]).ok().stdout();
    let topics: Vec<&str> = list
        .lines()
        .filter_map(|line| line.trim().strip_prefix("ratchet help topics "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(topics.len() >= 8, "{list}");
    for topic in topics {
        let text = env.ratchet(["help", "topics", topic]).ok().stdout();
        assert!(text.starts_with(&topic.to_uppercase()) && text.lines().count() > 5, "{text}");
        assert_eq!(env.ratchet(["topics", topic]).ok().stdout(), text);
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }
    env.ratchet(["help", "topics", "nope"]).run().assert_code(1);
}
