//! What is reported about steps, and what it frees.

use super::*;

// B-V31
#[test]
fn each_kind_of_report_writes_what_it_must() {
    let site = Site::with_batch();
    site.report("a", Report::Status("looking".into())).unwrap();
    assert!(!site.exists("batches/shop/run/state.json"));
    site.report("a", Report::Blocker("Which yarn?".into())).unwrap();
    let park = json!({"parkedAt": "2031-05-04T09:00:00.000Z", "change": "a", "kind": "blocked", "reason": "Which yarn?"});
    assert_eq!(site.state()["parked"]["a"], park);
    let told = site.report("a", Report::Answer("blue".into())).unwrap();
    assert_eq!((told.kind, told.change.as_str()), ("answer", "a"));
    assert_eq!(site.state()["parked"]["a"]["answer"], "blue");
    site.report("pr:shop", Report::NeedsInput("card".into())).unwrap();
    assert_eq!(site.state()["parked"]["pr:shop"]["kind"], "blocked");
    site.report("a", Report::Complete("done".into())).unwrap();
    site.report("a", Report::CompleteAwaitingApproval("planned".into())).unwrap();
    site.report("a", Report::Reject("no".into())).unwrap();
    let park = &site.state()["parked"]["a"];
    assert_eq!((&park["feedback"], &park["approved"]), (&json!("no"), &json!(false)));
    let kinds: Vec<Value> = site.journal().iter().map(|entry| entry["kind"].clone()).collect();
    let expected =
        ["progress", "blocker", "answer", "needs-input", "completion", "completion", "reject"];
    assert_eq!(kinds, expected);
    assert!(site.journal().iter().all(|entry| entry.get("transition").is_none()));
}

// B-V31
#[test]
fn a_decision_about_a_step_that_is_not_parked_leaves_no_trace() {
    let site = Site::with_batch();
    for report in [Report::Answer("x".into()), Report::Reject("x".into()), Report::Approve] {
        let error = site.report("a", report).unwrap_err().to_string();
        assert_eq!(error, "No parked step for change 'a' in batch 'shop'.");
    }
    assert!(!site.exists("batches/shop/run"));
}

#[test]
fn an_approval_removes_the_park_and_remembers_what_was_approved() {
    let site = Site::with_batch();
    site.put("changes/a/plan.md", "- [x] one\n");
    site.put(
        "batches/shop/run/state.json",
        r#"{"parked":{"a":{"kind":"awaiting-approval","reason":"Ready for archive.","transition":"verify"}}}"#,
    );
    site.report("a", Report::Approve).unwrap();
    assert_eq!(site.state(), json!({"parked": {}}));
    let journal = site.journal();
    assert_eq!(journal[0]["kind"], "answer");
    assert!(journal[0]["approved"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(
        (&journal[1]["kind"], &journal[1]["transition"]),
        (&json!("completion"), &json!("verify"))
    );
    assert_eq!(site.project.status(&shop()).unwrap().done_count, 1);
}

#[test]
fn a_question_cannot_be_approved() {
    let site = Site::with_batch();
    site.report("a", Report::Blocker("?".into())).unwrap();
    let error = site.report("a", Report::Approve).unwrap_err();
    assert_eq!(error.code(), "not-a-result");
    assert_eq!(site.journal().len(), 1);
}

#[test]
fn reports_under_the_stand_in_command_say_so() {
    let site = Site::with_env(&[("RATCHET_BATCH_AGENT_CMD", "sh x")]);
    site.put_batch("shop", SHOP);
    site.report("a", Report::Blocker("?".into())).unwrap();
    site.report("a", Report::Answer("a person's".into())).unwrap();
    assert_eq!(site.journal()[0]["via"], "env-override");
    assert_eq!(site.journal()[1].get("via"), None);
}

#[test]
fn a_standalone_report_needs_its_change_and_parks_nothing_by_itself() {
    let site = Site::new();
    let report = Report::Blocker("Which?".into());
    let error = site.project.report_change(&change("a"), &report).unwrap_err();
    assert!(matches!(error, Error::ChangeNotFound { .. }));
    assert!(!site.exists("changes"));
    site.put("changes/a/plan.md", "");
    site.project.report_change(&change("a"), &report).unwrap();
    let run = site.project.layout().run(&RunHome::Change(change("a")));
    assert_eq!(entries_of(&run, &StepKey::from_text("a")).unwrap().len(), 1);
    assert!(!run.state().exists());
    site.put(
        "changes/a/.run/state.json",
        r#"{"parked":{"a":{"kind":"blocked","reason":"Which?"}}}"#,
    );
    site.project.report_change(&change("a"), &Report::Answer("this".into())).unwrap();
    let park = RunState::read(&run).unwrap().park(&StepKey::from_text("a")).unwrap();
    assert_eq!((park.kind, park.answer.as_deref()), (ParkKind::Blocked, Some("this")));
}

#[test]
fn a_proof_is_set_aside_once_and_only_if_there_is_one() {
    let site = Site::with_batch();
    let error = site.project.invalidate_proof(&shop(), "p9").unwrap_err().to_string();
    assert!(error.contains("'p9'") && error.contains("'shop'") && error.contains("p1"), "{error}");
    assert!(!site.project.invalidate_proof(&shop(), "p1").unwrap().invalidated);
    assert!(!site.exists("batches/shop/run/journal.jsonl"));
    let record = json!({"phase": "p1", "passed": true, "gatePassed": true, "policy": "warn", "reason": "error", "detail": "d"});
    let entry = json!({"at": "2031-05-04T00:00:00.000Z", "change": "proof-of-work:p1", "kind": "proof-of-work", "message": "d", "proof": record});
    site.put("batches/shop/run/journal.jsonl", &format!("{entry}\n"));
    assert!(site.project.invalidate_proof(&shop(), "p1").unwrap().invalidated);
    assert!(!site.project.invalidate_proof(&shop(), "p1").unwrap().invalidated);
    assert_eq!(site.journal()[1]["kind"], "proof-of-work-invalidated");
    assert_eq!(site.journal()[1]["change"], "proof-of-work:p1");
}

#[test]
fn a_decision_that_does_not_fit_the_park_is_not_told_as_freeing_it() {
    let site = Site::with_batch();
    site.report("a", Report::NeedsInput("which port?".into())).unwrap();
    let rejected = site.report("a", Report::Reject("no".into())).unwrap().text;
    assert_eq!(
        rejected,
        "Kept this with a, which waits for an answer all the same: record an answer with `ratchet batch report shop \
         --change a --answer \"...\"`"
    );
    let answered = site.report("a", Report::Answer("8080".into())).unwrap().text;
    assert_eq!(answered, "Answered a; the next apply goes on with it");
    site.report("b", Report::CompleteAwaitingApproval("planned".into())).unwrap();
    let answered = site.report("b", Report::Answer("fine".into())).unwrap().text;
    assert!(
        answered
            .contains("waits for approval all the same: approve with `ratchet batch approve shop"),
        "{answered}"
    );
    let rejected = site.report("b", Report::Reject("no".into())).unwrap().text;
    assert_eq!(rejected, "Rejected b; the next apply runs it again");
}

#[test]
fn a_decision_is_refused_inside_an_agent_and_what_an_agent_says_is_not() {
    let site = Site::with_env(&[("RATCHET_SPAWN_ID", "01")]);
    site.put_batch("shop", SHOP);
    site.report("a", Report::CompleteAwaitingApproval("planned".into())).unwrap();
    let before = (site.state(), site.journal());
    for decision in [Report::Approve, Report::Reject("no".into()), Report::Answer("yes".into())] {
        let error = site.report("a", decision).unwrap_err();
        assert_eq!(error.code(), "person-needed");
        assert!(error.to_string().contains("spawn 01"), "{error}");
        assert!(error.help().unwrap().contains("RATCHET_SPAWN_ID"));
    }
    assert_eq!((site.state(), site.journal()), before);
}

#[test]
fn help_about_a_change_on_its_own_names_the_command_of_such_changes() {
    let site = Site::new();
    site.put("changes/solo/plan.md", "# plan");
    let change = ChangeName::parse("solo").unwrap();
    let error = site.project.report_change(&change, &Report::Approve).unwrap_err();
    assert_eq!(error.to_string(), "No parked step for change 'solo'.");
    let parked = r#"{"parked":{"solo":{"kind":"blocked","reason":"which?"}}}"#;
    site.put("changes/solo/.run/state.json", parked);
    let error = site.project.report_change(&change, &Report::Approve).unwrap_err();
    assert_eq!(error.code(), "not-a-result");
    assert_eq!(
        error.help().unwrap(),
        "record an answer with `ratchet report solo --answer \"...\"`"
    );
}
