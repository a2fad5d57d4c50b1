//! `status`, `instructions` and `template`: what agents ask before they write anything.

use std::fs;

use ratchet_tests::TestEnv;
use serde_json::json;

use crate::changes::own_workflow;
use crate::empty;

const FEATURE: &str = "Feature: cart\n\n  Scenario: shown\n    Given a cart\n    When it is opened\n    Then it is shown\n";
const HELD: &str = "\n  @holdout @slow\n  Scenario: hidden\n    Given a cart\n    When it is full\n    Then it says so\n";

fn with_change() -> TestEnv {
    let env = empty();
    env.ratchet(["new", "change", "add-cart"]).ok();
    env
}

fn planned() -> TestEnv {
    let env = with_change();
    env.write(".ratchet/changes/add-cart/features/cart/cart.feature", format!("{FEATURE}{HELD}"));
    env.add_plan("add-cart", 3, 1);
    env
}

// C-K11
#[test]
fn a_project_without_changes_has_a_status_too() {
    let env = empty();
    env.ratchet(["status"]).ok().says("No active changes. ");
    let none = json!({"changes": [], "message": "No active changes."});
    assert_eq!(env.ratchet(["status"]).json(), none);
}

// C-K11
#[test]
fn the_status_shows_each_artifact_and_what_to_type_next() {
    let env = with_change();
    let asked = env.ratchet(["status"]).refused();
    assert!(asked.contains("--change") && asked.contains("\n  add-cart"), "{asked}");
    for name in ["gone", "../changes/add-cart", "", "archive", "."] {
        let error = env.ratchet(["status", "--change", name]).refused();
        assert!(error.contains("not found") && error.contains("add-cart"), "{error}");
    }
    let text = env.ratchet(["status", "--change", "add-cart"]).ok().stdout();
    for line in [
        "Change: add-cart\n",
        "Schema: ratchet\n",
        "Progress: 0/2 artifacts complete\n",
        "[ ] features\n",
        "[-] plan (blocked by: features)\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let json = env.ratchet(["status", "--change", "add-cart"]).json();
    assert_eq!(
        json["nextSteps"],
        json!(["ratchet instructions features --change \"add-cart\" --json"])
    );
    assert_eq!((&json["isComplete"], &json["applyRequires"]), (&json!(false), &json!(["plan"])));
    assert_eq!(json["artifacts"][1]["missingDeps"], json!(["features"]));
    assert_eq!(json["artifacts"][0].get("missingDeps"), None);
    assert_eq!(json["planningHome"]["root"], json!(env.root()));
    assert_eq!(json["actionContext"]["allowedEditRoots"], json!([env.root()]));
    assert_eq!(json.get("affectedAreas"), None);
    fs::create_dir_all(env.path(".ratchet/changes/add-cart/plan.md")).unwrap();
    let json = env.ratchet(["status", "--change", "add-cart"]).json();
    assert_eq!(json["artifacts"][1]["status"], "blocked", "a folder is no plan");
}

// C-K11 C-N02
#[test]
fn a_change_with_every_artifact_is_complete() {
    let env = planned();
    env.ratchet(["status", "--change", "add-cart"]).ok().says("All artifacts complete!");
    let json = env.ratchet(["status", "--change", "add-cart"]).json();
    assert_eq!(json["isComplete"], true);
    assert!(json["nextSteps"][0].as_str().unwrap().contains("complete"), "{json:#}");
    let feature = env.path(".ratchet/changes/add-cart/features/cart/cart.feature");
    assert_eq!(json["artifactPaths"]["features"]["existingOutputPaths"], json!([feature]));
}

// C-K03
#[test]
fn metadata_that_is_none_is_an_error_and_no_other_workflow_steps_in() {
    let env = with_change();
    env.write(".ratchet/changes/add-cart/.ratchet.yaml", "created: 2031-05-04\n");
    let error = env.ratchet(["status", "--change", "add-cart"]).refused();
    assert!(error.contains(".ratchet.yaml is invalid") && error.contains("schema: is missing"));
    env.write(".ratchet/changes/add-cart/.ratchet.yaml", "schema: gone\n");
    let error = env.ratchet(["status", "--change", "add-cart"]).refused();
    assert!(error.contains("Schema 'gone' not found"), "{error}");
    env.ratchet(["status", "--change", "add-cart", "--schema", "ratchet"]).ok();
}

// C-K12 C-N05
#[test]
fn instructions_bring_everything_an_artifact_is_made_from() {
    let env = with_change();
    env.write(
        ".ratchet/config.yaml",
        "context: A small shop.\nrules:\n  plan: [Keep it short.]\n  nonsense: [x]\n",
    );
    env.write(".ratchet/standards/naming.md", "---\ntag: names\n---\n# Names\n");
    let finished = env.ratchet(["instructions", "plan", "--change", "add-cart", "--json"]).ok();
    let json = finished.json();
    assert_eq!((&json["artifactId"], &json["outputPath"]), (&json!("plan"), &json!("plan.md")));
    assert_eq!(json["resolvedOutputPath"], json!(env.path(".ratchet/changes/add-cart/plan.md")));
    assert_eq!(
        (&json["context"], &json["rules"][0]),
        (&json!("A small shop."), &json!("Keep it short."))
    );
    assert!(json["template"].as_str().unwrap().contains("## What Changes"));
    let standard = json!([{"name": "naming", "fileName": "naming.md", "tag": "names", "content": "# Names\n"}]);
    assert_eq!(json["standards"], standard);
    assert_eq!(
        (&json["dependencies"][0]["id"], &json["dependencies"][0]["done"]),
        (&json!("features"), &json!(false))
    );
    assert_eq!(finished.stderr().matches("rules.nonsense").count(), 1, "{finished}");
    let first = env.ratchet(["instructions", "features", "--change", "add-cart"]).json();
    assert_eq!((&first["unlocks"], first.get("rules")), (&json!(["plan"]), None));
    assert_eq!(first["context"], "A small shop.");
    let text = env.ratchet(["instructions", "plan", "--change", "add-cart"]).ok().stdout();
    let blocks = [
        "<artifact id=\"plan\" change=\"add-cart\" schema=\"ratchet\">",
        "<warning>",
        "<task>",
        "<project_context>\nA small shop.\n</project_context>",
        "<rules>\n- Keep it short.\n</rules>",
        "<standards>",
        "<dependencies>",
        "<output>",
        "<instruction>",
        "<template>",
        "<success_criteria>",
        "</artifact>",
    ];
    let places: Vec<Option<usize>> = blocks.iter().map(|block| text.find(block)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}: {text}");
    assert!(!text.contains("<unlocks>"));
}

// C-K12
#[test]
fn instructions_need_an_artifact_that_the_workflow_has() {
    let env = with_change();
    let missing = env.ratchet(["instructions", "--change", "add-cart"]).refused();
    assert!(
        missing.contains("Missing required argument <artifact>. Valid artifacts: features, plan")
    );
    let unknown = env.ratchet(["instructions", "spec", "--change", "add-cart"]).refused();
    assert!(unknown.contains("Artifact 'spec' not found") && unknown.contains("features, plan"));
    let schema =
        env.ratchet(["instructions", "plan", "--change", "add-cart", "--schema", "x"]).refused();
    assert!(schema.contains("Schema 'x' not found"), "{schema}");
    assert!(env.ratchet(["instructions", "plan"]).refused().contains("--change"));
}

// C-K13
#[test]
fn a_plan_can_be_carried_out_when_it_is_there_and_has_open_tasks() {
    let env = with_change();
    env.write(".ratchet/standards/naming.md", "# Names\n");
    let told = |env: &TestEnv| {
        let json = env.ratchet(["instructions", "apply", "--change", "add-cart"]).json();
        assert_eq!(json.get("standards"), None);
        json
    };
    let blocked = told(&env);
    assert_eq!(
        (&blocked["state"], &blocked["missingArtifacts"]),
        (&json!("blocked"), &json!(["plan"]))
    );
    env.write(".ratchet/changes/add-cart/plan.md", "# Plan\n- [ ]\n");
    let no_tasks = told(&env);
    assert_eq!((&no_tasks["state"], no_tasks.get("missingArtifacts")), (&json!("blocked"), None));
    env.add_plan("add-cart", 2, 1);
    let ready = told(&env);
    assert_eq!(ready["state"], "ready");
    assert_eq!(ready["progress"], json!({"total": 2, "complete": 1, "remaining": 1}));
    assert_eq!(ready["tasks"][1], json!({"id": "2", "description": "task 1", "done": false}));
    env.ratchet(["instructions", "apply", "--change", "add-cart"]).ok().says("- [x] task 0");
    env.add_plan("add-cart", 2, 2);
    assert_eq!(told(&env)["state"], "all_done");
}

// C-K13
#[test]
fn a_workflow_that_tracks_nothing_is_ready_once_its_artifacts_are_there() {
    let env = empty();
    own_workflow(&env, "quick");
    env.ratchet(["new", "change", "a", "--schema", "quick"]).ok();
    let state = || env.ratchet(["instructions", "apply", "--change", "a"]).json()["state"].clone();
    assert_eq!(state(), "blocked");
    env.write(".ratchet/changes/a/note.md", "");
    assert_eq!(state(), "ready");
    let text = env.read(".ratchet/schemas/quick/schema.yaml");
    env.write(
        ".ratchet/schemas/quick/schema.yaml",
        text + "apply: {requires: [note], tracks: todo.md}\n",
    );
    assert_eq!(state(), "blocked", "what is tracked is missing");
}

// C-K14
#[test]
fn whoever_applies_does_not_see_what_is_held_back_and_whoever_verifies_does() {
    let env = planned();
    let source = ".ratchet/changes/add-cart/features/cart/cart.feature";
    let copy = ".ratchet/changes/add-cart/.apply-context/features/features/cart/cart.feature";
    env.write(".ratchet/changes/add-cart/.apply-context/features/stale.feature", "old");
    let apply = env.ratchet(["instructions", "apply", "--change", "add-cart"]).json();
    assert_eq!(apply["contextFiles"]["features"], json!([env.path(copy)]));
    assert_eq!(
        apply["contextFiles"]["plan"],
        json!([env.path(".ratchet/changes/add-cart/plan.md")])
    );
    assert_eq!(env.read(copy), format!("{FEATURE}\n"));
    assert_eq!(env.read(source), format!("{FEATURE}{HELD}"));
    assert!(!env.path(".ratchet/changes/add-cart/.apply-context/features/stale.feature").exists());
    let verify = env.ratchet(["instructions", "verify", "--change", "add-cart"]).json();
    assert_eq!(verify["contextFiles"]["features"], json!([env.path(source)]));
    env.ratchet(["instructions", "verify", "--change", "add-cart"])
        .ok()
        .says("## Verify: add-cart");
}

#[test]
fn a_feature_of_which_nobody_can_say_what_is_held_back_is_not_shown() {
    let env = planned();
    env.write(
        ".ratchet/changes/add-cart/features/cart/fremd.feature",
        "# language: de\nFeature: falsch\n@holdout\nScenario: a\n",
    );
    let error = env.ratchet(["instructions", "apply", "--change", "add-cart"]).refused();
    assert!(error.contains("fremd.feature") && error.contains("line 2"), "{error}");
}

// C-K15
#[test]
fn templates_are_printed_by_name() {
    let env = empty();
    let standard = env.ratchet(["template", "standard"]).ok().stdout();
    assert!(standard.starts_with("---\n") && standard.contains("tag: "), "{standard}");
    assert_eq!(env.ratchet(["template", "standard.md"]).ok().stdout(), standard);
    env.ratchet(["template", "batch"]).ok().says("phases:");
    for name in ["nope", "../schema", "/etc/passwd", "plan.txt"] {
        let error = env.ratchet(["template", name]).refused();
        assert!(error.contains(&format!("Template '{name}' not found")), "{error}");
    }
    own_workflow(&env, "quick");
    let note = env.ratchet(["template", "note", "--schema", "quick"]).ok().stdout();
    assert_eq!(note, "a note, no line end\n");
    assert!(
        env.ratchet(["template", "plan", "--schema", "gone"]).refused().contains("Schema 'gone'")
    );
}
