//! `batch report`: durable when it returns, refused when it is not clear what is reported.

use ratchet_tests::Manifest;
use serde_json::{Value, json};

use crate::{shop, with};

const KEY: [&str; 4] = ["batch", "report", "--change", "add-api"];

// B-V31 B-G01
#[test]
fn each_kind_of_report_writes_what_it_must() {
    for (flag, kind, parked) in [
        ("--status", "progress", Value::Null),
        ("--blocker", "blocker", json!("blocked")),
        ("--needs-input", "needs-input", json!("blocked")),
        ("--complete", "completion", Value::Null),
    ] {
        let env = shop();
        let answer = env.ratchet(KEY).args([flag, "some words"]).json();
        assert_eq!(answer["change"], "add-api", "{answer:#}");
        let text = answer["text"].as_str().unwrap_or_default();
        assert!(text.contains("add-api"), "{answer:#}");
        assert_eq!(answer["kind"], flag.trim_start_matches('-'));
        let entries = env.journal("shop");
        assert_eq!(entries.len(), 1, "{flag}");
        assert_eq!(
            (&entries[0]["kind"], &entries[0]["message"]),
            (&kind.into(), &"some words".into())
        );
        assert_eq!(entries[0].get("transition"), None::<&Value>);
        assert_eq!(env.park("shop", "add-api")["kind"], parked, "{flag}");
    }
}

#[test]
fn a_completion_can_ask_for_approval_at_once() {
    let env = shop();
    env.ratchet(KEY).args(["--complete", "please look", "--awaiting-approval"]).ok();
    let park = env.park("shop", "add-api");
    assert_eq!(
        (&park["kind"], &park["reason"]),
        (&"awaiting-approval".into(), &"please look".into())
    );
}

#[test]
fn answers_and_rejections_need_a_park_to_answer() {
    let env = shop();
    for flag in ["--answer", "--reject"] {
        let error = env.ratchet(KEY).args([flag, "words"]).refused();
        assert!(error.contains("No parked step for change 'add-api' in batch 'shop'."), "{error}");
    }
    assert!(env.journal("shop").is_empty());
}

// B-V30
#[test]
fn a_report_without_a_change_or_a_single_kind_is_refused_and_writes_nothing() {
    let env = shop();
    assert!(env.ratchet(["batch", "report", "--status", "x"]).refused().contains("--change"));
    env.ratchet(KEY).refused();
    env.ratchet(KEY).args(["--status", "x", "--blocker", "y"]).refused();
    assert!(env.journal("shop").is_empty());
}

#[test]
fn any_key_and_any_text_can_be_reported() {
    let env = shop();
    let text = "two\nlines, \"quotes\", a \u{1F980} and - dashes";
    for key in ["p1", "pr:shop", "pr:shop:p1", "nowhere"] {
        env.ratchet(["batch", "report", "--change", key, "--status", text]).ok();
        assert_eq!(env.journaled("shop", key, "progress")[0]["message"], text);
    }
}

// B-V35
#[test]
fn the_batch_must_be_clear_when_there_are_several_or_none() {
    let none = crate::empty();
    assert!(none.ratchet(KEY).args(["--status", "x"]).refused().contains("No batches found"));
    let several = shop();
    several.add_batch(&Manifest::of_changes("other", &["else"]));
    let error = several.ratchet(KEY).args(["--status", "x"]).refused();
    assert!(
        error.contains("Multiple batches exist")
            && error.contains("shop")
            && error.contains("other"),
        "{error}"
    );
    let unknown =
        several.ratchet(["batch", "report", "gone", "--change", "a", "--status", "x"]).refused();
    assert!(unknown.contains("gone") && unknown.contains("not found"), "{unknown}");
}

#[test]
fn fifty_reports_at_once_are_all_in_the_journal_whole() {
    let env = shop();
    let running: Vec<_> = (0..50)
        .map(|number| env.ratchet(KEY).args(["--status", &format!("report {number}")]).start())
        .collect();
    for report in running {
        report.wait().assert_code(0);
    }
    let mut messages: Vec<_> =
        env.journal("shop").iter().map(|entry| entry["message"].clone()).collect();
    messages.sort_by_key(ToString::to_string);
    let mut expected: Vec<Value> =
        (0..50).map(|number| json!(format!("report {number}"))).collect();
    expected.sort_by_key(ToString::to_string);
    assert_eq!(messages, expected);
    assert_eq!(env.read(".ratchet/batches/shop/run/journal.jsonl").lines().count(), 50);
}

#[test]
fn a_report_after_a_torn_line_is_not_swallowed_by_it() {
    let env = shop();
    env.write(
        ".ratchet/batches/shop/run/journal.jsonl",
        "{\"at\":\"2026-01-01T00:00:00.000Z\",\"chan",
    );
    env.ratchet(KEY).args(["--status", "kept"]).ok();
    assert_eq!(env.journaled("shop", "add-api", "progress").len(), 1);
}

#[test]
fn a_secret_setting_is_in_no_report_and_no_log() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]).setting("authToken: s3cr3t-t0ken"));
    for arguments in [
        &["batch", "status"][..],
        &["batch", "view"],
        &["batch", "config", "shop"],
        &["batch", "config", "shop", "--json"],
    ] {
        let finished = env.ratchet(arguments).ok();
        assert!(!(finished.stdout() + &finished.stderr()).contains("s3cr3t-t0ken"), "{finished}");
    }
}
