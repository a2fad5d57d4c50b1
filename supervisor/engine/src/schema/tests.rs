//! Workflows: what is none, in which order the work is, and what waits for what.

use std::fmt::Write as _;

use super::*;

/// A workflow of artifacts, each with what it requires.
fn workflow(artifacts: &[(&str, &[&str])]) -> Result<Schema, SchemaError> {
    let mut text = "name: w\nversion: 1\nartifacts:\n".to_owned();
    for (id, requires) in artifacts {
        let requires = requires.join(", ");
        writeln!(
            text,
            "  - {{id: {id}, generates: {id}.md, description: d, template: {id}.md, requires: [{requires}]}}"
        )
        .unwrap();
    }
    parse(text.as_bytes())
}

fn error(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

// C-N01
#[test]
fn what_is_no_workflow_is_told_with_its_place() {
    let artifact = "artifacts: [{id: a, generates: a, description: d, template: t}]\n";
    let ok = format!("name: w\nversion: 1\n{artifact}");
    assert!(parse(ok.as_bytes()).is_ok());
    for (from, to, words) in [
        ("name: w\n", "", "name: is missing (line 1"),
        ("version: 1", "version: 0", "version: expected a whole number above 0 (line 2"),
        ("version: 1", "version: 1.5", "version: "),
        (artifact, "artifacts: []\n", "artifacts: expected a list with at least one"),
        (artifact, "", "artifacts: expected"),
        ("id: a, ", "", "artifacts.0.id: is missing"),
        ("generates: a,", "generates: ../a,", "artifacts.0.generates: expected a path that stays"),
        ("template: t", "template: /etc/passwd", "artifacts.0.template: expected a path"),
        ("template: t", "template: t, requires: b", "artifacts.0.requires: expected a list"),
        ("template: t", "template: t, requires: [b]", "'a' requires 'b', which is no artifact"),
        (artifact, &format!("{artifact}apply: {{requires: []}}\n"), "apply.requires: expected"),
        (artifact, &format!("{artifact}apply: {{requires: [x]}}\n"), "'apply' requires 'x'"),
        ("name", "- name", "line"),
    ] {
        let found = error(&ok.replace(from, to));
        assert!(found.contains(words), "{from:?} → {to:?}: {found}");
    }
    let twice = workflow(&[("a", &[]), ("a", &[])]).unwrap_err().to_string();
    assert_eq!(twice, "the artifact 'a' is defined twice");
}

// C-N01
#[test]
fn a_circle_is_told_with_the_whole_way_round() {
    let way = |artifacts: &[(&str, &[&str])]| workflow(artifacts).unwrap_err().to_string();
    assert_eq!(way(&[("a", &["a"])]), "artifacts require each other: a → a");
    assert_eq!(way(&[("a", &["b"]), ("b", &["a"])]), "artifacts require each other: a → b → a");
    let three = way(&[("x", &[]), ("a", &["x", "b"]), ("b", &["c"]), ("c", &["b", "a"])]);
    assert_eq!(three, "artifacts require each other: b → c → b");
    let three = way(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"])]);
    assert_eq!(three, "artifacts require each other: a → b → c → a");
}

// C-N02
#[test]
fn the_order_is_that_of_the_work_and_then_of_the_alphabet() {
    let order = |artifacts: &[(&str, &[&str])]| -> Vec<String> {
        workflow(artifacts).unwrap().ids().map(str::to_owned).collect()
    };
    assert_eq!(order(&[("c", &["b"]), ("b", &["a"]), ("a", &[])]), ["a", "b", "c"]);
    assert_eq!(
        order(&[("end", &["y", "x"]), ("y", &["top"]), ("x", &["top"]), ("top", &[])]),
        ["top", "x", "y", "end"]
    );
    assert_eq!(order(&[("b", &[]), ("a", &[])]), ["a", "b"]);
}

// C-N02
#[test]
fn what_is_done_frees_what_waits_for_it() {
    let diamond =
        workflow(&[("end", &["x", "y"]), ("x", &["top"]), ("y", &["top"]), ("top", &[])]).unwrap();
    let state = |id: &str, done: &[&str]| {
        diamond.artifact(id).unwrap().state(&done.iter().copied().collect())
    };
    assert_eq!(state("top", &[]), ArtifactState::Ready);
    assert_eq!(state("x", &[]), ArtifactState::Blocked);
    assert_eq!(state("x", &["top"]), ArtifactState::Ready);
    assert_eq!(state("end", &["top", "x"]), ArtifactState::Blocked);
    assert_eq!(state("end", &["end"]), ArtifactState::Done);
    let next = |done: &[&str]| diamond.next(&done.iter().copied().collect()).map(|a| a.id.as_str());
    assert_eq!(next(&[]), Some("top"));
    assert_eq!(next(&["top", "x"]), Some("y"));
    assert_eq!(next(&["top", "x", "y", "end"]), None);
    assert_eq!(diamond.unlocks("top"), ["x", "y"]);
    assert_eq!(diamond.artifact("end").unwrap().missing(&["x"].into()), ["y"]);
    assert_eq!(diamond.apply_requires(), ["top", "x", "y", "end"]);
}
