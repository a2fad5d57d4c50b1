//! `validate` of changes and capabilities: what is wrong, all of it, with its place. Manifests are in `manifest.rs`.

use ratchet_tests::{Manifest, TestEnv};
use serde_json::{Value, json};

use crate::{empty, with};

const FEATURE: &str = "Feature: cart\n  Scenario: shown\n    Given a cart\n    When it is opened\n    Then it is shown\n";
const PLAN: &str = "## Why\nShoppers lose their cart when the session ends, and do not come back.\n## What Changes\n- it \
    stays\n## Design\nA table.\n## Tasks\n- [ ] keep it\n";

fn add_good(env: &TestEnv, change: &str) {
    env.write(&format!(".ratchet/changes/{change}/.ratchet.yaml"), "schema: ratchet\n");
    env.write(&format!(".ratchet/changes/{change}/features/cart/cart.feature"), FEATURE);
    env.write(&format!(".ratchet/changes/{change}/plan.md"), PLAN);
}

fn paths(item: &Value) -> Vec<&str> {
    item["issues"]
        .as_array()
        .expect("a test's own world holds")
        .iter()
        .map(|issue| issue["path"].as_str().expect("a test's own world holds"))
        .collect()
}

// C-K18
#[test]
fn a_good_change_is_valid() {
    let env = empty();
    add_good(&env, "keep-cart");
    env.ratchet(["validate", "keep-cart"]).ok().says("Change 'keep-cart' is valid");
    let json = env.ratchet(["validate", "keep-cart"]).json();
    assert_eq!(
        (&json["items"][0]["id"], &json["items"][0]["type"]),
        (&json!("keep-cart"), &json!("change"))
    );
    assert!(json["items"][0]["durationMs"].is_u64() && json["version"] == "1.0");
    assert_eq!(json["summary"]["byType"]["change"], json!({"items": 1, "passed": 1, "failed": 0}));
}

// C-J10 C-J11 C-J13 C-K18
#[test]
fn everything_that_is_wrong_with_a_change_comes_at_once() {
    let env = empty();
    add_good(&env, "keep-cart");
    env.write(
        ".ratchet/changes/keep-cart/.ratchet.yaml",
        "schema: ratchet\nstandards: [names, gone]\n",
    );
    env.write(
        ".ratchet/changes/keep-cart/features/cart/bad.feature",
        FEATURE.replace("    When it is opened\n", ""),
    );
    env.write(".ratchet/changes/keep-cart/features/none.feature", "nothing");
    env.write(".ratchet/changes/keep-cart/plan.md", PLAN.replace("## Design\nA table.\n", ""));
    for file in ["a", "b"] {
        env.write(&format!(".ratchet/standards/{file}.md"), "---\ntag: names\n---\n");
    }
    let finished = env.ratchet(["validate", "keep-cart", "--json"]).run().assert_code(1);
    let item = finished.json()["items"][0].clone();
    assert_eq!(
        paths(&item),
        [
            "features/cart/bad.feature#scenario[0]",
            "features/none.feature",
            "features/none.feature",
            "plan.md",
            "standards",
            ".ratchet.yaml"
        ]
    );
    assert_eq!((&item["issues"][0]["line"], &item["issues"][0]["column"]), (&json!(2), &json!(3)));
    let shown = env.ratchet(["validate", "keep-cart"]).run().assert_code(1);
    for words in [
        "Change 'keep-cart' has issues",
        "✗ [ERROR] plan.md: ",
        "Design",
        "'gone'",
        "ratchet instructions plan",
    ] {
        assert!(shown.stderr().contains(words), "{words}: {shown}");
    }
    assert_eq!(shown.stdout(), "");
}

// C-J10 C-J11
#[test]
fn a_change_without_features_or_plan_is_not_valid() {
    let env = empty();
    env.ratchet(["new", "change", "bare"]).ok();
    let json = env.ratchet(["validate", "bare", "--json"]).run().assert_code(1).json();
    assert_eq!(paths(&json["items"][0]), ["features", "plan.md"]);
    env.write(".ratchet/changes/bare/plan.md/x", "a folder");
    let json = env.ratchet(["validate", "bare", "--json"]).run().assert_code(1).json();
    assert_eq!(paths(&json["items"][0]), ["features", "plan.md"]);
}

// C-J12
#[test]
fn to_the_strict_a_warning_is_an_error() {
    let env = empty();
    add_good(&env, "keep-cart");
    env.write(
        ".ratchet/changes/keep-cart/plan.md",
        PLAN.replace("Shoppers lose their cart when the session ends, and do ", ""),
    );
    let lenient = env.ratchet(["validate", "keep-cart"]).ok();
    assert!(lenient.stderr().contains("⚠ [WARNING] plan.md: "), "{lenient}");
    env.ratchet(["validate", "keep-cart", "--strict"]).run().assert_code(1);
    let json = env.ratchet(["validate", "--changes", "--strict", "--json"]).run().assert_code(1);
    assert_eq!(json.json()["summary"]["totals"]["failed"], 1);
}

// C-K18 C-K08
#[test]
fn many_are_checked_at_once_and_counted_by_type() {
    let env = empty();
    let none = env.ratchet(["validate", "--all"]).json();
    assert_eq!(none["summary"]["totals"], json!({"items": 0, "passed": 0, "failed": 0}));
    env.ratchet(["validate", "--all"]).ok().says("No items found to validate.");
    add_good(&env, "b-good");
    add_good(&env, "a-good");
    env.write(".ratchet/changes/c-bad/plan.md", PLAN);
    env.write(".ratchet/changes/archive/2026-01-01-old/plan.md", "");
    env.write(".ratchet/changes/.hidden/plan.md", "");
    env.write(".ratchet/features/bb/x.feature", FEATURE);
    env.write(".ratchet/features/aa/x.feature", "Feature: none\n");
    let all =
        env.ratchet(["validate", "--all", "--concurrency", "3", "--json"]).run().assert_code(1);
    let json = all.json();
    let ids: Vec<&str> =
        json["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a-good", "aa", "b-good", "bb", "c-bad"]);
    assert_eq!(json["summary"]["byType"]["change"], json!({"items": 3, "passed": 2, "failed": 1}));
    assert_eq!(json["summary"]["byType"]["spec"], json!({"items": 2, "passed": 1, "failed": 1}));
    assert_eq!(all.stderr(), "", "with --json there is nothing but the document");
    let text = env.ratchet(["validate", "--all"]).run().assert_code(1);
    assert!(text.stdout().contains("✓ change/a-good\n✓ change/b-good\n✓ spec/bb\n"), "{text}");
    assert!(text.stderr().contains("✗ spec/aa\n") && text.stderr().contains("✗ change/c-bad\n"));
    assert!(text.stdout().contains("3 passed, 2 failed (5 items)"), "{text}");
    let changes = env.ratchet(["validate", "--changes", "--json"]).run().json();
    assert_eq!(changes["summary"]["totals"]["items"], 3);
    assert_eq!(changes["summary"]["byType"].get("spec"), None);
    let specs = env.ratchet(["validate", "--specs", "--json"]).run().json();
    assert_eq!(specs["summary"]["totals"]["items"], 2);
    env.ratchet(["validate", "--all", "--concurrency", "0"]).run().assert_code(1);
}

// C-K18 C-K09
#[test]
fn a_name_is_looked_up_among_changes_capabilities_and_batches() {
    let env = with(&Manifest::of_changes("shop", &["a"]));
    add_good(&env, "keep-cart");
    env.write(".ratchet/features/cart/x.feature", FEATURE);
    env.ratchet(["validate", "cart"]).ok().says("Spec 'cart' is valid");
    env.ratchet(["validate", "shop"]).ok().says("Batch 'shop' is valid");
    let error = env.ratchet(["validate", "keep-card"]).refused();
    assert!(
        error.contains("Unknown item 'keep-card'") && error.contains("keep-cart, cart, shop"),
        "{error}"
    );
    add_good(&env, "cart");
    let error = env.ratchet(["validate", "cart"]).refused();
    assert!(error.contains("both a change and a spec") && error.contains("--type"), "{error}");
    env.ratchet(["validate", "cart", "--type", "SPEC"]).ok().says("Spec 'cart'");
    env.ratchet(["validate", "cart", "--type", "change"]).ok().says("Change 'cart'");
    assert!(
        env.ratchet(["validate", "shop", "--type", "change"]).refused().contains("Unknown item")
    );
    add_good(&env, "shop");
    env.ratchet(["validate", "shop"]).ok().says("Change 'shop'");
}

// C-K19
#[test]
fn a_batch_is_checked_even_if_a_change_has_its_name() {
    let env = with(&Manifest::of_changes("shop", &["a"]));
    env.write(".ratchet/changes/shop/plan.md", "");
    let json = env.ratchet(["validate", "shop", "--type", "batch"]).json();
    assert_eq!(
        (&json["items"][0]["type"], json["items"][0].get("durationMs")),
        (&json!("batch"), None)
    );
    assert_eq!(json["summary"].get("byType"), None);
}

// C-K18 C-K20
#[test]
fn without_an_item_and_without_a_person_there_is_a_hint() {
    let env = empty();
    for arguments in
        [vec!["validate"], vec!["validate", "--no-interactive"], vec!["validate", "--json"]]
    {
        let error = env.ratchet(arguments).refused();
        assert!(error.contains("ratchet validate --all"), "{error}");
    }
}

#[test]
fn a_feature_in_another_language_is_checked_by_its_grammar() {
    let env = empty();
    add_good(&env, "keep-cart");
    let german = "# language: de\nFunktionalität: Korb\n  Szenario: bleibt\n    Angenommen ein Korb\n    Wenn er bleibt\n";
    env.write(".ratchet/changes/keep-cart/features/korb/korb.feature", german);
    let json = env.ratchet(["validate", "keep-cart", "--json"]).run().assert_code(1).json();
    let issues = json["items"][0]["issues"].as_array().unwrap();
    assert_eq!(issues.len(), 1, "{issues:#?}");
    assert!(issues[0]["message"].as_str().unwrap().contains("'bleibt' has no Then"));
    env.write(
        ".ratchet/changes/keep-cart/features/korb/korb.feature",
        format!("{german}    Dann bleibt er\n"),
    );
    env.ratchet(["validate", "keep-cart"]).ok();
}
