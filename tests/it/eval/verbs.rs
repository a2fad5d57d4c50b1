//! `eval set`, and what the verbs refuse.

use serde_json::json;

use super::{mutate, seeder, shop_with};
use crate::empty;

// E-I01 E-I02 E-I07
#[test]
fn cases_are_listed_with_their_bindings_and_the_archive_is_not() {
    let env = empty();
    let feature = |name: &str| {
        format!(
            "Feature: F\n  @holdout\n  Scenario: {name}\n    Then x\n  Scenario: other\n    Then x\n"
        )
    };
    env.write(".ratchet/features/a.feature", feature("one"));
    env.write(".ratchet/changes/c/features/b.feature", feature("two"));
    env.write(".ratchet/changes/archive/2026-01-01-d/features/c.feature", feature("three"));
    env.write(
        ".ratchet/evals/specs/a.yaml",
        "features/a#one: {kind: deterministic, fixture: f, check: {run: x}}\n",
    );
    let set = env.ratchet(["eval", "set"]).json();
    assert_eq!((&set["scope"], &set["count"]), (&json!({"kind": "store"}), &json!(2)));
    let one = &set["cases"][0];
    assert_eq!(
        (&one["id"], &one["binding"], &one["holdout"]),
        (&json!("features/a#one"), &json!("deterministic"), &json!(true))
    );
    assert_eq!(one["steps"], json!([{"keyword": "Then", "text": "x"}]));
    let text = env.ratchet(["eval", "set", "--changes"]).ok().stdout();
    assert!(text.starts_with("Eval set (changes): 4 case(s)\n"), "{text}");
    for part in [
        "[deterministic] features/a#one [holdout]",
        "[unbound] changes/c/features/b#other",
        "F › two",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains("three"));
    let held = env.ratchet(["eval", "set", "--change", "c", "--holdout"]).json();
    assert_eq!(
        (&held["count"], &held["scope"]),
        (&json!(1), &json!({"kind": "change", "target": "c"}))
    );
    let refused = env.ratchet(["eval", "set", "--changes", "--path", "a"]).refused();
    assert!(refused.contains("--changes, --change <name>, or --path <dir-or-file>"), "{refused}");
    env.ratchet(["eval", "set", "--change", "nope"]).refused();
}

#[test]
fn what_cannot_be_done_says_what_to_type_next() {
    let env = shop_with("true", 1, 1);
    for (arguments, part) in [
        (vec!["eval", "mutate", "--invariant", "nope"], "kind: mutation"),
        (vec!["eval", "mutate", "--shard", "5/4"], "--shard 1/4"),
        (vec!["eval", "mutate", "--resume", "20260101T000000000Z-aaaaaa"], "leave --resume out"),
        (vec!["eval", "report"], "ratchet eval run"),
        (vec!["eval", "report", "--run", "../x"], "no run id"),
        (vec!["eval", "record"], "Missing required --run <id>"),
        (vec!["eval", "record", "--run", "r"], "Missing required --case <id>"),
        (vec!["eval", "record", "--run", "r", "--case", "c"], "Missing required --verdict"),
        (vec!["eval", "replay", "r", "0"], "has no mutant 0"),
    ] {
        let text = env.ratchet(arguments.clone()).refused();
        assert!(text.contains(part), "{arguments:?}: {text}");
    }
    env.write(".ratchet/evals/invariants.yaml", "invariants:\n  - {id: a}\n");
    let text = env.ratchet(["eval", "mutate"]).refused();
    assert!(text.contains("line 2, column") && text.contains("bad-invariants"), "{text}");
}

#[test]
fn the_text_of_a_mutation_run_shows_what_survived_and_how_to_see_it_again() {
    let env = shop_with("sh tests/weak.sh", 2, 1);
    let finished = mutate(&env, &seeder(), &["--exit-code"]).run().assert_code(14);
    let text = finished.stdout();
    for part in [
        "⚠ agent overridden by RATCHET_EVAL_AGENT_CMD\n",
        "[FAIL]",
        "no-bugs  fail",
        "2 attempt(s): 1 killed, 1 survived",
        "survived: attempt #1 src/price.sh",
        "-    if [ \"$1\" -ge 10000 ]; then",
        "again: ratchet eval replay ",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(finished.stderr().contains("baseline: green"), "{}", finished.stderr());
    assert!(finished.stderr().contains("[2/2] #1 survived"), "{}", finished.stderr());
}
