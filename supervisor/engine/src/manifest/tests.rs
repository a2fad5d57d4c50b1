//! Which texts are manifests, and what is said about those that are not.

use proptest::prelude::*;

use super::*;

/// A phase with the given lines under it, six columns in; `proof` replaces the usual one.
fn phase(name: &str, proof: &str, more: &str) -> String {
    let proof = if proof.is_empty() {
        "{kind: integration, run: make check, pass: exit code 0}"
    } else {
        proof
    };
    format!("  - name: {name}\n    goal: g\n    success: s\n    proofOfWork: {proof}\n{more}")
}

fn manifest(phases: &[String]) -> String {
    format!("name: shop\nphases:\n{}", phases.concat())
}

fn with_changes(changes: &str) -> String {
    manifest(&[phase("p1", "", &format!("    changes:\n{changes}"))])
}

fn with_proof(proof: &str) -> String {
    manifest(&[phase("p1", proof, "")])
}

/// The issues of a text, as people see them.
fn issues(text: &str) -> Vec<String> {
    match parse(text) {
        Err(ManifestError::Invalid { issues }) => issues.iter().map(ToString::to_string).collect(),
        other => panic!("expected issues, got {other:?}"),
    }
}

/// Asserts one issue, at a path, that says all of the words.
#[track_caller]
fn refused(text: &str, path: &str, words: &[&str]) {
    let issues = issues(text);
    let [issue] = &issues[..] else { panic!("expected one issue, got {issues:?}") };
    assert!(issue.starts_with(&format!("{path}: ")), "{issue}");
    for word in words {
        assert!(issue.contains(word), "{word:?} is missing in {issue:?}");
    }
}

const TWO_CHANGES: &str = "      - name: wire-coil\n        done: it is wired\n      - name: read-cone\n        \
                           after: [wire-coil]\n        done: it reads\n";

// B-A01 B-A02 B-A03 B-A09 B-A13 B-A33
#[test]
fn a_manifest_is_read_with_its_phases_and_changes_in_order() {
    let text = manifest(&[
        phase("p1", "", &format!("    changes:\n{TWO_CHANGES}")),
        phase("p2", "{kind: blackbox, run: ./probe, pass: ' contains: ok '}", ""),
    ]);
    let batch = parse(&text).unwrap();
    assert_eq!((batch.name.as_str(), batch.created.as_deref()), ("shop", None));
    let changes: Vec<(&str, &str)> =
        batch.changes().map(|(_, change)| (change.name.as_str(), change.done.as_str())).collect();
    assert_eq!(changes, [("wire-coil", "it is wired"), ("read-cone", "it reads")]);
    assert!(batch.phases[0].changes[0].after.is_empty());
    assert_eq!(batch.phases[0].changes[1].after, [batch.phases[0].changes[0].name.clone()]);
    let second = batch.phase("p2").unwrap();
    assert_eq!((second.success.as_str(), second.proof.pass.as_str()), ("s", " contains: ok "));
    assert_eq!(second.proof.kind, ProofKind::Blackbox);
    assert!(second.changes.is_empty());
}

#[test]
fn unknown_keys_are_let_pass_outside_of_settings() {
    let text = format!(
        "{}odd: [1]\ncreated: 2031-05-04\n",
        with_changes("      - {name: a, done: d, extra: 1}\n")
    );
    assert_eq!(parse(&text).unwrap().created.as_deref(), Some("2031-05-04"));
    assert!(parse("name: shop\n").unwrap().phases.is_empty());
}

#[test]
fn words_that_yaml_1_1_took_for_booleans_are_names() {
    let text = "name: on\nphases:\n  - name: yes\n    goal: off\n    success: 12:30:45\n    proofOfWork: {kind: \
                blackbox, run: \"true\", pass: exit 0}\n    changes:\n      - {name: no, done: 012}\n";
    let batch = parse(text).unwrap();
    assert_eq!(
        (batch.phases[0].name.as_str(), batch.phases[0].changes[0].done.as_str()),
        ("yes", "012")
    );
}

#[test]
fn what_is_not_yaml_says_so_with_its_place() {
    let error = parse("name: a\nname: b\n").unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("Failed to parse batch manifest YAML: the key 'name' is given twice"),
        "{text}"
    );
    assert!(text.ends_with(" (line 2, column 1)"), "{text}");
    assert!(parse_bytes(b"name: \xff").unwrap_err().to_string().contains("(line 1, column 7)"));
    let issues = error.into_issues();
    assert_eq!((issues[0].path.as_str(), issues[0].line), ("batch.yaml", Some(2)));
    // The place stands beside the message, so it is not in it.
    assert!(!issues[0].message.contains("line 2"), "{}", issues[0].message);
}

// B-A04
#[test]
fn what_is_no_map_is_no_manifest() {
    for text in ["", "~", "- a\n", "just text\n", "7\n"] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.to_string(), "Batch manifest must be a YAML object", "{text:?}");
        assert_eq!(error.into_issues().len(), 1);
    }
}

// B-A06 B-A10 B-A12
#[test]
fn everything_that_is_missing_is_named_at_once() {
    let text = "phases:\n  - name: p1\n    success: s\n    changes:\n      - {after: []}\n      - {name: a, success: old}\n";
    let error = parse(text).unwrap_err();
    let expected = "Invalid batch manifest:\
        \n  name: required, but missing (line 1, column 1)\
        \n  phases.0.goal: required, but missing (line 2, column 5)\
        \n  phases.0.proofOfWork: required, but missing (line 2, column 5)\
        \n  phases.0.changes.0.name: required, but missing (line 5, column 9)\
        \n  phases.0.changes.0.done: required, but missing (line 5, column 9)\
        \n  phases.0.changes.1.done: required, but missing (line 6, column 9)";
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.location().unwrap(), "name: required, but missing (line 1, column 1)");
}

// B-A11
#[test]
fn every_member_has_its_type_and_is_not_empty() {
    refused("name: ''\n", "name", &["must not be empty", "line 1, column 7"]);
    refused("name: 7\n", "name", &["expected a text, got the number 7", "quotes"]);
    refused("name: a\ncreated: 7\n", "created", &["expected a text"]);
    refused("name: a\nphases: {}\n", "phases", &["expected a list, got a map"]);
    refused("name: a\nphases:\n  - p1\n", "phases.0", &["expected a map, got 'p1'"]);
    refused("name: a\nphases: ~\n", "phases", &["expected a list, got nothing"]);
    refused("name: a\nsettings: []\n", "settings", &["expected a map, got a list"]);
    refused("name: a\nsettings:\n", "settings", &["expected a map, got nothing"]);
    refused(&manifest(&[phase("p1", "[]", "")]), "phases.0.proofOfWork", &["expected a map"]);
    refused(
        &manifest(&[phase("p1", "", "    changes: ~\n")]),
        "phases.0.changes",
        &["expected a list"],
    );
    refused(&with_changes("      - a\n"), "phases.0.changes.0", &["expected a map, got 'a'"]);
    refused(
        &with_changes("      - {name: a, done: ''}\n"),
        "phases.0.changes.0.done",
        &["must not be empty"],
    );
    refused(
        &with_changes("      - {name: a, done: d, after: b}\n"),
        "phases.0.changes.0.after",
        &["expected a list"],
    );
    refused(
        &with_changes("      - {name: a, done: d, after: ~}\n"),
        "phases.0.changes.0.after",
        &["got nothing"],
    );
    refused(
        &with_changes("      - {name: a, done: d, after: [b, 7]}\n"),
        "phases.0.changes.0.after.1",
        &["a text"],
    );
    let digits = "123456789012345678901234567890";
    refused(
        &with_changes(&format!("      - {{name: {digits}, done: d}}\n")),
        "phases.0.changes.0.name",
        &["the number"],
    );
}

#[test]
fn a_change_that_cannot_be_a_folder_is_refused() {
    for name in ["a/b", "..", "'a\\b'", "archive"] {
        let text = with_changes(&format!("      - {{name: {name}, done: d}}\n"));
        refused(&text, "phases.0.changes.0.name", &["folder"]);
    }
    assert!(parse(&with_changes("      - {name: WireCoil_1, done: d}\n")).is_ok());
}

// B-A05 B-A07
#[test]
fn an_unknown_kind_of_proof_is_told_all_kinds() {
    let text = with_proof("{kind: unit, run: x, pass: exit 0}");
    refused(&text, "phases.0.proofOfWork.kind", &["integration, blackbox, llm-judge"]);
}

// B-A08
#[test]
fn a_proof_by_judge_is_refused_in_the_words_of_the_seeds() {
    let text = manifest(&[
        phase("p1", "", ""),
        phase("p2", "{kind: llm-judge, run: x, pass: fine}", ""),
        phase("p3", "{kind: llm-judge, run: x, pass: fine}", ""),
    ]);
    let error = parse(&text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "llm-judge proof-of-work is not yet supported by batch apply; use integration or blackbox."
    );
    assert_eq!(error.location().unwrap(), "phases.1.proofOfWork.kind");
    let broken = text.replace("name: shop", "nome: shop");
    assert!(matches!(parse(&broken), Err(ManifestError::Invalid { .. })));
}

#[track_caller]
fn lint(run: &str, pass: &str, words: &[&str]) {
    let text = with_proof(&format!("{{kind: blackbox, run: '{run}', pass: '{pass}'}}"));
    if words.is_empty() {
        assert!(parse(&text).is_ok(), "{pass}");
    } else {
        refused(&text, "phases.0.proofOfWork.pass", words);
    }
}

// B-A17 B-A18 B-A19 B-A20 B-A23 B-A24 B-A25
#[test]
fn a_pass_condition_that_proves_nothing_is_refused() {
    lint("make", "contains:", &["contains", "empty"]);
    lint("make", "contains:   ", &["contains", "empty"]);
    lint("make", "regex:", &["regex", "empty"]);
    lint("make", "regex:(", &["regex", "invalid"]);
    lint("echo all fine", "regex:all fine", &[]);
    lint("exit code 0", "exit code 0", &[]);
    lint("make", "contains:all fine", &[]);
    lint("make", "regex:^all (fine|well)$", &[]);
    lint("make", "  ", &[]);
    lint("make", "", &["must not be empty"]);
}

// B-A21 B-A22
#[test]
fn a_condition_that_its_own_command_satisfies_is_doubted() {
    for (pass, word) in
        [("contains:all fine", "contains: self-satisfying"), ("all fine", "self-satisfying")]
    {
        let text = with_proof(&format!("{{kind: blackbox, run: 'echo all fine', pass: '{pass}'}}"));
        let doubts = parse(&text).unwrap().doubts;
        let [doubt] = &doubts[..] else { panic!("expected one doubt, got {doubts:?}") };
        assert_eq!(doubt.path, "phases.0.proofOfWork.pass");
        assert!(doubt.message.starts_with(word) && doubt.message.contains("'all fine'"), "{doubt}");
        assert!(doubt.line.is_some());
    }
}

#[test]
fn names_that_share_a_place_in_the_journal_are_refused() {
    let changes = |name: &str| format!("    changes:\n      - {{name: {name}, done: d}}\n");
    let twice = manifest(&[phase("p1", "", ""), phase("p1", "", "")]);
    refused(&twice, "phases.1.name", &["second phase named 'p1'", "phases.0"]);
    let across = manifest(&[phase("p1", "", &changes("a")), phase("p2", "", &changes("a"))]);
    refused(&across, "phases.1.changes.0.name", &["second change named 'a'", "phases.0.changes.0"]);
    let phase_and_change = manifest(&[phase("p1", "", &changes("p2")), phase("p2", "", "")]);
    refused(&phase_and_change, "phases.0.changes.0.name", &["name of a phase", "phases.1"]);
    let in_one_phase = with_changes("      - {name: a, done: d}\n      - {name: a, done: d}\n");
    let batch = parse(&in_one_phase).unwrap();
    assert_eq!(crate::dag::check(&batch.phases[0])[0].to_string(), "Duplicate change intent: 'a'");
}

// B-A14 B-A15 B-A16
#[test]
fn settings_of_a_manifest_are_strict() {
    let with = |settings: &str| format!("name: a\nsettings: {settings}\n");
    let batch = parse(&with("{locus: remote, host: h.example, port: 8443, authToken: t}")).unwrap();
    assert_eq!(batch.settings.port, Some(8443.0));
    refused(&with("{colour: red}"), "settings.colour", &["unknown key 'colour'", "gate"]);
    refused(&with("{port: '8443'}"), "settings.port", &["expected a number, got '8443'"]);
    refused(
        &with("{port: 1e999}"),
        "settings.port",
        &["expected a number, got one that is not finite"],
    );
    refused(&with("{agentTimeoutMs: '5'}"), "settings.agentTimeoutMs", &["whole number from 1"]);
    refused(
        &with("{gate: loud}"),
        "settings.gate",
        &["voluntary, after-propose, every-phase, autonomous", "'loud'"],
    );
    refused(
        &with("{agents: {claude: {command: x}}}"),
        "settings.agents",
        &[".ratchet/config.yaml"],
    );
    let secret = issues(&with("{authToken: [s3cret]}")).concat()
        + &issues(&with("{authToken: 4711}")).concat();
    assert!(!secret.contains("s3cret") && !secret.contains("4711"), "{secret}");
}

proptest! {
    #[test]
    fn no_manifest_makes_it_panic(text in "(name|phases|settings|changes|proofOfWork|: |- |\n|  |a|\\[|\\]|\\{|\\}|~|,){0,40}") {
        if let Err(error) = parse(&text) {
            prop_assert!(!error.to_string().is_empty());
            prop_assert!(!error.into_issues().is_empty());
        }
    }
}

#[test]
fn a_name_that_could_be_taken_for_a_pull_request_or_a_proof_is_refused() {
    let phase = |name: &str, change: &str| {
        format!(
            "name: shop\nphases:\n- name: {name}\n  goal: g\n  success: s\n  proofOfWork: {{kind: blackbox, run: x, pass: exit 0}}\n  changes:\n  - {{name: {change}, done: d}}\n"
        )
    };
    for text in [phase("'pr:shop'", "a"), phase("p1", "'proof-of-work:p1'")] {
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains("cannot begin with 'pr:' or 'proof-of-work:'"), "{error}");
        assert!(error.contains("(line "), "{error}");
    }
    assert!(parse(&phase("'pr'", "a")).is_ok());
}
