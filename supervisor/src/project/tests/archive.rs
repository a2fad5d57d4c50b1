//! What is put away, and what is kept where it is.

use super::*;

const FEATURE: &str = "Feature: add\n  Scenario: one\n    Given a\n    When b\n    Then c\n";

// B-W01 B-W02 B-W03 B-W04
#[test]
fn a_batch_is_put_away_with_its_changes_in_phase_order() {
    let site = Site::new();
    let more = "      - {name: z, done: d}\n      - {name: never, done: d}\n";
    site.put_batch("shop", &format!("{SHOP}{more}"));
    site.put("batches/shop/run/journal.jsonl", "");
    site.put("changes/z/plan.md", "- [x] one\n");
    site.put("changes/a/plan.md", "- [x] one\n");
    site.put("changes/a/features/cart/add.feature", FEATURE);
    site.put("changes/archive/2030-01-01-b/plan.md", "");
    let report = site.project.archive_batch(&shop()).unwrap();
    assert_eq!(report.archived_changes, [change("a"), change("z")]);
    assert_eq!(report.skipped_archived, [change("b")]);
    assert_eq!(report.skipped_pending, [change("never")]);
    assert!(site.exists("changes/archive/2031-05-04-a/plan.md"));
    assert!(site.exists("features/cart/add.feature"));
    assert!(site.exists("batches/archive/2031-05-04-shop/batch.yaml"));
    assert!(site.exists("batches/archive/2031-05-04-shop/run/journal.jsonl"));
    assert!(!site.exists("batches/archive/2031-05-04-shop/run/step.lock"));
    assert!(!site.exists("batches/shop"));
    assert!(site.project.batch_names().unwrap().is_empty());
    let json = serde_json::to_value(&report).unwrap();
    let members: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        ["archivePath", "archivedChanges", "batchName", "skippedArchived", "skippedPending"]
    );
}

#[test]
fn a_feature_that_is_none_keeps_the_whole_batch_where_it_is() {
    let site = Site::new();
    site.put_batch("shop", &format!("{SHOP}      - {{name: z, done: d}}\n"));
    site.put("changes/a/plan.md", "- [x] one\n");
    site.put("changes/a/features/cart/add.feature", FEATURE);
    site.put("changes/z/plan.md", "- [x] one\n");
    site.put("changes/z/features/cart/add.feature", "not a feature");
    let error = site.project.archive_batch(&shop()).unwrap_err();
    assert!(matches!(&error, Error::ChangeNotArchivable { .. }), "{error}");
    let text = error.to_string();
    let place = "features/cart/add.feature: there is no 'Feature:' with a name (line 1, column 1)";
    assert!(text.starts_with("Change 'z' cannot be archived:") && text.contains(place), "{text}");
    assert!(site.exists("changes/a/plan.md") && site.exists("batches/shop/batch.yaml"));
    assert!(!site.exists("features/cart/add.feature"));
    site.put("changes/z/features/cart/add.feature", FEATURE);
    assert_eq!(site.project.archive_batch(&shop()).unwrap().archived_changes.len(), 2);
}

// B-W05
#[test]
fn a_taken_place_is_refused_before_anything_moves() {
    let site = Site::with_batch();
    site.put("changes/a/plan.md", "- [x] one\n");
    site.put("batches/archive/2031-05-04-shop/x", "");
    let error = site.project.archive_batch(&shop()).unwrap_err();
    assert!(matches!(error, Error::ArchiveExists { .. }), "{error}");
    assert!(site.exists("batches/shop/batch.yaml") && site.exists("changes/a/plan.md"));
}

// B-W06
#[test]
fn an_unknown_batch_cannot_be_put_away() {
    let error = Site::new().project.archive_batch(&shop()).unwrap_err();
    assert!(matches!(error, Error::BatchNotFound { .. }), "{error}");
}

// B-W07 B-W08
#[test]
fn unfinished_changes_are_named_and_a_parked_one_is_among_them() {
    let site = Site::with_batch();
    site.put("changes/archive/a/plan.md", "");
    site.report("b", Report::Blocker("?".into())).unwrap();
    let status = site.project.status(&shop()).unwrap();
    assert_eq!(unfinished(&status), [&change("b")]);
    site.put("changes/archive/b/plan.md", "");
    let status = site.project.status(&shop()).unwrap();
    assert!(unfinished(&status).is_empty());
    assert_eq!(status.status, BatchState::InProgress, "its proof has not run");
}

#[test]
fn nothing_is_put_away_while_a_step_runs_or_is_not_concluded() {
    let site = Site::with_batch();
    let home = RunHome::Batch(shop());
    let held = StepLock::acquire(site.project.layout(), &home, Clock::System.now()).unwrap();
    assert_eq!(site.project.archive_batch(&shop()).unwrap_err().code(), "step-running");
    drop(held);
    let proving =
        json!({"phase": "p1", "proof": {"kind": "integration", "run": "true", "pass": ""}});
    let task = json!({"proof": {"proving": proving, "policy": "warn"}});
    let intent = json!({"version": 1, "spawn": "s1", "key": "proof-of-work:p1", "task": task,
        "journalCount": 0, "locus": "local", "spawns": "/h", "startedAt": ""});
    site.put("batches/shop/run/inflight.json", &intent.to_string());
    assert_eq!(site.project.archive_batch(&shop()).unwrap_err().code(), "step-unfinished");
    assert!(site.exists("batches/shop/batch.yaml"));
}

#[test]
fn an_unsafe_feature_keeps_its_change_where_it_is() {
    let site = Site::new();
    site.put("changes/a/plan.md", "");
    site.put("changes/a/features/.deleted", "../../config.yaml\n");
    site.put("config.yaml", "schema: x\n");
    let error = site.project.archive_change(&change("a"), Archiving::default()).unwrap_err();
    assert_eq!(error.code(), "change-not-archivable");
    assert!(site.exists("changes/a/plan.md") && site.exists("config.yaml"));
    let error = site.project.archive_change(&change("none"), Archiving::default()).unwrap_err();
    assert!(matches!(error, Error::ChangeNotFound { .. }));
}
