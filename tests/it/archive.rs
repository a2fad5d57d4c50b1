//! `batch archive`: everything moves or nothing does.

use ratchet_tests::{Action, Manifest, Script, TestEnv};
use serde_json::json;

use crate::{apply, shop, with};

fn two_done() -> TestEnv {
    let env = with(&Manifest::of_changes("shop", &["one", "two"]));
    env.add_done("shop", "one");
    env.add_done("shop", "two");
    env
}

fn archived_batches(env: &TestEnv) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(env.path(".ratchet/batches/archive")) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

// B-W01 B-W04 B-W07 B-V32
#[test]
fn a_finished_batch_is_archived_with_its_changes_and_its_journal() {
    let env = two_done();
    let answer = env.ratchet(["batch", "archive", "shop"]).json();
    assert_eq!(answer["archivedChanges"], json!(["one", "two"]));
    let archived = archived_batches(&env);
    assert_eq!(archived.len(), 1);
    assert!(archived[0].ends_with("-shop"), "{archived:?}");
    assert!(
        env.path(&format!(".ratchet/batches/archive/{}/run/journal.jsonl", archived[0])).exists()
    );
    assert!(!env.path(".ratchet/batches/shop").exists());
    assert!(!env.path(".ratchet/changes/one").exists());
    assert!(env.ratchet(["batch", "status", "shop"]).refused().contains("not found"));
}

// B-W08
#[test]
fn an_unfinished_batch_moves_only_when_told_to() {
    let env = with(&Manifest::of_changes("shop", &["one", "open"]));
    env.add_done("shop", "one");
    let refused = env.ratchet(["batch", "archive", "shop", "--json"]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert_eq!(refused.json()["aborted"], true, "{refused}");
    assert!(env.path(".ratchet/batches/shop/batch.yaml").exists());
    assert!(env.path(".ratchet/changes/one").exists());
    let answer = env.ratchet(["batch", "archive", "shop", "--yes"]).json();
    assert_eq!(answer["archivedChanges"], json!(["one"]));
    assert_eq!(answer["skippedPending"], json!(["open"]));
}

#[test]
fn a_parked_change_makes_a_batch_unfinished() {
    let env = shop();
    apply(&env, &Script::always([Action::ReadPrompt, Action::blocker("?")]));
    let finished = env.ratchet(["batch", "archive", "shop"]).run().assert_code(1);
    assert!(finished.stderr().contains("not done: add-api"), "{finished}");
    assert!(finished.stderr().contains("--yes"), "it says how to do it all the same:\n{finished}");
    assert!(env.path(".ratchet/batches/shop").exists());
}

// B-W02 B-W03
#[test]
fn what_is_archived_already_or_never_existed_is_skipped() {
    let env = with(&Manifest::of_changes("shop", &["gone", "one"]));
    env.write(".ratchet/changes/archive/2026-01-01-gone/plan.md", "- [x] t\n");
    env.add_done("shop", "one");
    let answer = env.ratchet(["batch", "archive", "shop"]).json();
    assert_eq!(
        (&answer["skippedArchived"], &answer["archivedChanges"]),
        (&json!(["gone"]), &json!(["one"]))
    );
}

// B-W05
#[test]
fn a_target_that_exists_stops_the_archive_before_anything_moves() {
    let env = two_done();
    env.ratchet(["batch", "archive", "shop"]).ok();
    let target = archived_batches(&env).remove(0);
    env.add_batch(&Manifest::of_changes("shop", &["three"]));
    env.add_done("shop", "three");
    let error = env.ratchet(["batch", "archive", "shop"]).refused();
    assert!(error.contains(&target), "{error}");
    assert!(
        env.path(".ratchet/changes/three").exists() && env.path(".ratchet/batches/shop").exists()
    );
}

#[test]
fn a_feature_file_that_is_none_keeps_everything_where_it_is() {
    let env = two_done();
    env.write(".ratchet/changes/two/features/shop/two.feature", "not a feature");
    let error = env.ratchet(["batch", "archive", "shop", "--yes"]).refused();
    assert!(error.contains("features/shop/two.feature") && error.contains("line 1"), "{error}");
    assert!(env.path(".ratchet/changes/one").exists() && !env.path(".ratchet/features").exists());
    assert!(env.path(".ratchet/batches/shop").exists());
}

// B-W06
#[test]
fn an_unknown_batch_cannot_be_archived() {
    assert!(shop().ratchet(["batch", "archive", "gone"]).refused().contains("not found"));
}
