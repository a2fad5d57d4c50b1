//! `validate`, and every loader through the same parser: what is wrong with a manifest, all of it, with its place.

use ratchet_tests::{Manifest, Phase, Script, TestEnv};

use crate::{empty, shop, with};

const GOOD_PHASE: &str = "phases:\n  - name: p1\n    goal: g\n    success: s\n    proofOfWork: {kind: integration, run: make, pass: exit 0}\n";

fn raw(text: &str) -> TestEnv {
    let env = empty();
    env.write(".ratchet/batches/shop/batch.yaml", text);
    env
}

// B-A26 B-A29 B-A32 B-A01
#[test]
fn a_good_manifest_is_valid() {
    let env =
        with(&Manifest::new("shop").phase(Phase::new("p1").change("a").change_after("b", &["a"])));
    env.ratchet(["validate", "shop"]).ok().says("Batch 'shop' is valid");
    let json = env.ratchet(["validate", "shop"]).json();
    assert_eq!(
        (&json["items"][0]["type"], &json["items"][0]["valid"]),
        (&"batch".into(), &true.into())
    );
    assert_eq!(json["summary"]["totals"]["passed"], 1);
}

// B-A27 B-A05 B-A10
#[test]
fn every_problem_is_listed_with_its_place() {
    let env = raw(
        "name: shop\nphases:\n  - name: p1\n    goal: g\n    success: s\n    proofOfWork: {kind: magic, run: make, pass: exit 0}\n    changes:\n      - name: a\n",
    );
    let shown = env.ratchet(["validate", "shop"]).run().assert_code(1);
    let text = shown.stdout() + &shown.stderr();
    for words in [
        "phases.0.proofOfWork.kind",
        "phases.0.changes.0.done",
        "[ERROR]",
        "integration",
        "blackbox",
        "llm-judge",
    ] {
        assert!(text.contains(words), "`{words}` is missing:\n{text}");
    }
    let json = env.ratchet(["validate", "shop", "--json"]).run().assert_code(1).json();
    assert_eq!(json["items"][0]["issues"].as_array().map(Vec::len), Some(2), "{json:#}");
    assert!(env.ratchet(["batch", "status"]).refused().contains("Invalid batch manifest:"));
}

// B-A08
#[test]
fn a_judge_is_not_supported_and_says_so_with_its_place() {
    let env = raw(&format!("name: shop\n{}", GOOD_PHASE.replace("integration", "llm-judge")));
    let error = env.ratchet(["batch", "apply"]).refused();
    assert!(error.contains("llm-judge proof-of-work is not yet supported"), "{error}");
}

// B-A30 B-A28 B-B05
#[test]
fn a_cycle_is_refused_with_its_members() {
    let env = with(
        &Manifest::new("shop")
            .phase(Phase::new("p1").change_after("a", &["b"]).change_after("b", &["a"])),
    );
    let shown = env.ratchet(["validate", "shop"]).run().assert_code(1);
    assert!(shown.stderr().contains("Cycle detected in after edges involving: a, b"), "{shown}");
    assert!(env.ratchet(["batch", "status"]).refused().contains("a, b"));
}

// B-A31 B-B06
#[test]
fn an_edge_to_nowhere_is_refused_with_both_ends() {
    let env = with(&Manifest::new("shop").phase(Phase::new("p1").change_after("a", &["gone"])));
    let shown = env.ratchet(["validate", "shop"]).run().assert_code(1);
    for words in ["a", "gone", "unknown reference"] {
        assert!(shown.stderr().contains(words), "{shown}");
    }
}

// B-A17 B-A21 B-A25
#[test]
fn a_condition_that_its_own_command_satisfies_is_refused_by_validate_and_told_by_the_rest() {
    let env = with(
        &Manifest::new("shop")
            .phase(Phase::new("p1").proof("echo all well", "contains:all well").change("a")),
    );
    let shown = env.ratchet(["validate", "shop"]).run().assert_code(1);
    assert!(shown.stderr().contains("self-satisfying"), "{shown}");
    let shown = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).ok();
    assert!(shown.stderr().contains("self-satisfying"), "{shown}");
}

#[test]
fn a_doubt_about_the_manifest_is_told_once_in_a_run_of_many_steps() {
    let env = with(
        &Manifest::new("shop")
            .phase(Phase::new("p1").proof("echo all well", "contains:all well").change("a")),
    );
    let ran = env.ratchet(["batch", "run"]).agent(&env.agent(&Script::honest())).ok();
    let ran = ran.says("Halted after 4 steps: done");
    assert_eq!(ran.stderr().matches("self-satisfying").count(), 1, "{ran}");
}

// B-A34
#[test]
fn the_template_is_a_manifest() {
    let shown = shop().ratchet(["template", "batch"]).ok().says("phases:").says("after");
    let env = raw(&shown.stdout());
    env.ratchet(["batch", "list"]).ok();
}

#[test]
fn problems_carry_line_and_column() {
    let env = raw(&format!("name: shop\n{GOOD_PHASE}settings: {{gate: sometimes}}\n"));
    let error = env.ratchet(["batch", "status"]).refused();
    assert!(error.contains("settings.gate") && error.contains("(line 7, column "), "{error}");
}
