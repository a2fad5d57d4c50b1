//! The derivation, row by row, and the JSON.

use super::*;
use crate::dag::DagError;
use crate::sketch::{Proof, Sketch};
use crate::transition::{StepKind, next_transition};

fn status(sketch: &Sketch) -> BatchStatus {
    derive(&sketch.0).expect("the changes have an order")
}

fn change<'a>(status: &'a BatchStatus, name: &str) -> &'a ChangeStatus {
    let mut all = status.phases.iter().flat_map(|phase| &phase.changes);
    all.find(|change| change.name.as_str() == name).expect("the change is declared")
}

fn state(sketch: &Sketch, name: &str) -> ChangeState {
    change(&status(sketch), name).status
}

fn blocked_by(sketch: &Sketch, name: &str) -> Vec<String> {
    change(&status(sketch), name).blocked_by.iter().map(ToString::to_string).collect()
}

fn next(sketch: &Sketch) -> String {
    match status(sketch).next {
        None => "-".to_owned(),
        Some(Next::Change { phase, change }) => format!("{phase}/{change}"),
        Some(Next::Decompose { phase }) => format!("{phase}/decompose"),
        Some(Next::Proof { phase }) => format!("{phase}/proof"),
    }
}

fn gated_by(sketch: &Sketch, phase: usize) -> Option<String> {
    status(sketch).phases[phase].gated_by.clone()
}

// B-H01
#[test]
fn an_intent_without_a_folder_is_ready_and_holds_what_comes_after() {
    let sketch = Sketch::new(&[("p1", &["api", "web < api", "docs < web"])]);
    assert_eq!(state(&sketch, "api"), ChangeState::Ready);
    assert_eq!(state(&sketch, "web"), ChangeState::Blocked);
    assert_eq!(blocked_by(&sketch, "web"), ["api"]);
    assert_eq!(blocked_by(&sketch, "docs"), ["web"]);
    assert_eq!(status(&sketch).status, BatchState::Pending);
}

#[test]
fn unmet_dependencies_are_sorted() {
    let sketch = Sketch::new(&[("p1", &["zeta", "alpha", "merge < zeta alpha"])]);
    assert_eq!(blocked_by(&sketch, "merge"), ["alpha", "zeta"]);
}

// B-H02
#[test]
fn a_verified_change_is_done_and_frees_what_comes_after() {
    let sketch = Sketch::new(&[("p1", &["api", "web < api"])]).done(&["api"]);
    assert_eq!(state(&sketch, "api"), ChangeState::Done);
    assert_eq!(state(&sketch, "web"), ChangeState::Ready);
    assert_eq!(status(&sketch).done_count, 1);
}

// B-H03
#[test]
fn a_finished_plan_without_a_verify_is_not_done_and_is_next() {
    let sketch = Sketch::new(&[("p1", &["api", "web < api"])]).plan("api", 3, 3);
    assert_eq!(state(&sketch, "api"), ChangeState::AwaitingVerify);
    assert_eq!(state(&sketch, "web"), ChangeState::Blocked);
    assert_eq!(status(&sketch).done_count, 0);
    assert_eq!(next(&sketch), "p1/api");
}

#[test]
fn a_verify_counts_for_its_own_change_only() {
    let sketch = Sketch::new(&[("p1", &["api", "web"])]).plan("api", 1, 1).verified("web");
    assert_eq!(state(&sketch, "api"), ChangeState::AwaitingVerify);
}

// B-H04
#[test]
fn an_archived_change_is_done_and_adds_no_tasks() {
    let sketch = Sketch::new(&[("p1", &["api"])]).archived("api");
    assert_eq!(state(&sketch, "api"), ChangeState::Done);
    assert_eq!(status(&sketch).progress, Progress::default());
    assert!(change(&status(&sketch), "api").archived);
}

// B-H05
#[test]
fn ticked_tasks_are_counted() {
    let sketch =
        Sketch::new(&[("p1", &["api", "web"])]).plan("api", 2, 5).plan("web", 1, 3).folder("web");
    assert_eq!(state(&sketch, "api"), ChangeState::InProgress);
    assert_eq!(change(&status(&sketch), "api").progress, Progress { total: 5, completed: 2 });
    assert_eq!(status(&sketch).progress, Progress { total: 8, completed: 3 });
    assert_eq!(status(&sketch).phases[0].status, PhaseState::InProgress);
}

// B-H06
#[test]
fn next_is_the_first_actionable_change() {
    let sketch = Sketch::new(&[("p1", &["web < api", "api", "docs"])]);
    assert_eq!(next(&sketch), "p1/api");
}

// B-H07
#[test]
fn a_question_blocks_its_change_and_next_goes_on() {
    let sketch = Sketch::new(&[("p1", &["api", "web"])]).asked("api");
    assert_eq!(state(&sketch, "api"), ChangeState::Blocked);
    assert_eq!(change(&status(&sketch), "api").base, ChangeState::Ready);
    assert_eq!(next(&sketch), "p1/web");
}

// B-H07
#[test]
fn an_answered_question_shows_the_status_below_it_with_the_park_beside() {
    let sketch = Sketch::new(&[("p1", &["api", "web"])])
        .plan("api", 1, 2)
        .asked("api")
        .said("api", |park| park.answer = Some("8080".to_owned()));
    assert_eq!(state(&sketch, "api"), ChangeState::InProgress);
    let parked = change(&status(&sketch), "api").parked.clone().unwrap();
    assert_eq!(parked.answer.as_deref(), Some("8080"));
    assert_eq!(next(&sketch), "p1/api");
}

// B-H08
#[test]
fn an_open_decision_shows_as_awaiting_approval_until_it_is_made() {
    let sketch = Sketch::new(&[("p1", &["api"])]).plan("api", 0, 2).shown("api", StepKind::Propose);
    assert_eq!(state(&sketch, "api"), ChangeState::AwaitingApproval);
    assert_eq!(next(&sketch), "-");
    let approved = sketch.clone().said("api", |park| park.approved = Some(true));
    assert_eq!(state(&approved, "api"), ChangeState::InProgress);
    assert_eq!(next(&approved), "p1/api");
    let rejected = sketch.said("api", |park| park.feedback = Some("less".to_owned()));
    assert_eq!(state(&rejected, "api"), ChangeState::InProgress);
    assert_eq!(next(&rejected), "p1/api");
}

// B-H09
#[test]
fn a_park_of_a_done_change_is_ignored() {
    let sketch = Sketch::new(&[("p1", &["api"])]).done(&["api"]).asked("api");
    assert_eq!(state(&sketch, "api"), ChangeState::Done);
    assert_eq!(change(&status(&sketch), "api").parked, None);
}

#[test]
fn an_open_decision_on_a_verify_keeps_the_change_from_being_done() {
    let sketch = Sketch::new(&[("p1", &["api"])]).done(&["api"]).shown("api", StepKind::Verify);
    assert_eq!(state(&sketch, "api"), ChangeState::AwaitingApproval);
    assert_eq!(status(&sketch).done_count, 0);
}

// B-H12 B-H18
#[test]
fn a_phase_is_gated_by_the_bare_name_of_the_unfinished_one_before() {
    let phases: &[(&str, &[&str])] = &[("p1", &["api"]), ("p2", &["web"]), ("p3", &["docs"])];
    let sketch = Sketch::new(phases).proof("p1", Proof::Passed);
    assert_eq!(gated_by(&sketch, 1).as_deref(), Some("p1"));
    assert_eq!(gated_by(&sketch, 2).as_deref(), Some("p2"));
    assert_eq!(status(&sketch).phases[1].status, PhaseState::Blocked);
    let verify_open = Sketch::new(phases).plan("api", 2, 2);
    assert_eq!(gated_by(&verify_open, 1).as_deref(), Some("p1"));
}

const TWO: &[(&str, &[&str])] = &[("p1", &["api"]), ("p2", &["web"])];

// B-H13
#[test]
fn a_done_phase_without_a_proof_opens_the_next() {
    let sketch = Sketch::new(TWO).done(&["api"]);
    assert_eq!(gated_by(&sketch, 1), None);
    assert_eq!(next(&sketch), "p2/web");
}

// B-H14 B-M16 B-M35
#[test]
fn a_failed_proof_keeps_the_next_phase_shut() {
    let sketch = Sketch::new(TWO).done(&["api"]).proof("p1", Proof::Failed);
    let gated = gated_by(&sketch, 1).unwrap();
    assert_eq!(gated, "p1 — proof-of-work failed: command exited 4");
    assert_eq!(status(&sketch).phases[1].status, PhaseState::Blocked);
    assert_eq!(state(&sketch, "web"), ChangeState::Ready);
    assert_eq!(status(&sketch).status, BatchState::InProgress);
    assert_eq!(next(&sketch), "-");
}

// B-H15 B-M15 B-M36
#[test]
fn a_passed_proof_opens_the_next_phase() {
    let sketch = Sketch::new(TWO).done(&["api"]).proof("p1", Proof::Passed);
    assert_eq!(gated_by(&sketch, 1), None);
    assert_eq!(next(&sketch), "p2/web");
}

// B-H16
#[test]
fn a_pass_after_an_invalidated_failure_opens_the_next_phase() {
    let failed = Sketch::new(TWO).done(&["api"]).proof("p1", Proof::Failed);
    let again = failed.invalidated("p1").proof("p1", Proof::Passed);
    assert_eq!(gated_by(&again, 1), None);
}

// B-H17 B-M18 B-M37
#[test]
fn a_failure_under_warn_opens_the_next_phase() {
    let sketch = Sketch::new(TWO).done(&["api"]).proof("p1", Proof::FailedUnderWarn);
    assert_eq!(gated_by(&sketch, 1), None);
    assert_eq!(next(&sketch), "p2/web");
}

#[test]
fn a_reopened_phase_gates_by_itself_not_by_its_old_proof() {
    let sketch = Sketch::new(TWO).plan("api", 1, 2).verified("api").proof("p1", Proof::Failed);
    assert_eq!(gated_by(&sketch, 1).as_deref(), Some("p1"));
    assert_eq!(next(&sketch), "p1/api");
}

// B-H19 B-K22
#[test]
fn a_reachable_empty_phase_keeps_the_batch_going_and_is_next() {
    let sketch = Sketch::new(&[("p1", &["api"]), ("p2", &[])]).done(&["api"]);
    assert_eq!(status(&sketch).status, BatchState::InProgress);
    assert_eq!(next(&sketch), "p2/decompose");
    assert_eq!(status(&sketch).phases[1].status, PhaseState::Pending);
}

// B-H20
#[test]
fn an_empty_phase_behind_unfinished_work_is_not_offered() {
    let sketch = Sketch::new(&[("p1", &["api"]), ("p2", &[])]).plan("api", 1, 2);
    assert_eq!(next(&sketch), "p1/api");
    assert_eq!(gated_by(&sketch, 1).as_deref(), Some("p1"));
}

#[test]
fn an_empty_phase_in_the_middle_gates_what_follows() {
    let sketch = Sketch::new(&[("p1", &["api"]), ("p2", &[]), ("p3", &["web"])]).done(&["api"]);
    assert_eq!(next(&sketch), "p2/decompose");
    assert_eq!(gated_by(&sketch, 2).as_deref(), Some("p2"));
}

#[test]
fn a_batch_of_one_empty_phase_is_empty_and_its_decomposition_is_next() {
    let sketch = Sketch::new(&[("p1", &[])]);
    assert_eq!(status(&sketch).status, BatchState::Empty);
    assert_eq!(next(&sketch), "p1/decompose");
    let nothing = Sketch::new(&[]);
    assert_eq!(status(&nothing).status, BatchState::Empty);
    assert_eq!(next(&nothing), "-");
}

#[test]
fn a_parked_decomposition_is_not_next() {
    let sketch = Sketch::new(&[("p1", &[])]).asked("p1");
    assert_eq!(next(&sketch), "-");
    let answered = sketch.said("p1", |park| park.answer = Some("two".to_owned()));
    assert_eq!(next(&answered), "p1/decompose");
}

// B-H21
#[test]
fn a_batch_is_done_when_all_is_decomposed_done_and_proven() {
    let sketch = Sketch::new(TWO)
        .done(&["api", "web"])
        .proof("p1", Proof::Passed)
        .proof("p2", Proof::Passed);
    assert_eq!(status(&sketch).status, BatchState::Done);
    assert_eq!(next(&sketch), "-");
}

// B-H22 B-H25
#[test]
fn a_batch_of_one_phase_is_done_with_its_proof() {
    let sketch = Sketch::new(&[("p1", &["api"])]).done(&["api"]).proof("p1", Proof::Passed);
    assert_eq!(status(&sketch).status, BatchState::Done);
    assert_eq!(next(&sketch), "-");
}

// B-H23
#[test]
fn an_empty_phase_behind_does_not_disturb_the_one_in_work() {
    let sketch =
        Sketch::new(&[("p1", &["api", "web < api", "docs"]), ("p2", &[])]).plan("api", 1, 2);
    assert_eq!(state(&sketch, "api"), ChangeState::InProgress);
    assert_eq!(state(&sketch, "web"), ChangeState::Blocked);
    assert_eq!(state(&sketch, "docs"), ChangeState::Ready);
}

// B-H24
#[test]
fn the_last_proof_is_offered_when_everything_is_done() {
    let sketch = Sketch::new(TWO).done(&["api", "web"]).proof("p1", Proof::Passed);
    assert_eq!(status(&sketch).status, BatchState::InProgress);
    assert_eq!(next(&sketch), "p2/proof");
}

#[test]
fn the_first_missing_proof_is_offered_and_none_is_left_out() {
    let sketch = Sketch::new(TWO).done(&["api", "web"]).proof("p2", Proof::Passed);
    assert_eq!(next(&sketch), "p1/proof");
    assert_eq!(status(&sketch).status, BatchState::InProgress);
    let rerun = sketch.proof("p1", Proof::Passed);
    assert_eq!(status(&rerun).status, BatchState::Done);
}

// B-H26
#[test]
fn a_failed_last_proof_keeps_the_batch_in_progress() {
    let sketch = Sketch::new(&[("p1", &["api"])]).done(&["api"]).proof("p1", Proof::Failed);
    assert_eq!(status(&sketch).status, BatchState::InProgress);
    assert_eq!(next(&sketch), "-");
}

// B-H27
#[test]
fn a_last_proof_that_failed_under_warn_is_good_enough() {
    let sketch =
        Sketch::new(&[("p1", &["api"])]).done(&["api"]).proof("p1", Proof::FailedUnderWarn);
    assert_eq!(status(&sketch).status, BatchState::Done);
}

// B-H28
#[test]
fn a_gated_last_phase_never_offers_its_proof() {
    let empty =
        Sketch::new(&[("p1", &["api"]), ("p2", &[])]).done(&["api"]).proof("p1", Proof::Failed);
    assert_eq!(next(&empty), "-");
    let filled = Sketch::new(TWO).done(&["api", "web"]).proof("p1", Proof::Failed);
    assert_eq!(next(&filled), "-");
    assert_eq!(status(&filled).phases[1].status, PhaseState::Blocked);
}

// B-H29
#[test]
fn propose_apply_verify_and_the_proof_drive_a_change_to_the_end() {
    let mut sketch = Sketch::new(&[("p1", &["api"])]);
    let mut seen = vec![state(&sketch, "api")];
    sketch = sketch.plan("api", 0, 2);
    seen.push(state(&sketch, "api"));
    sketch = sketch.plan("api", 2, 2);
    seen.push(state(&sketch, "api"));
    sketch = sketch.verified("api");
    seen.push(state(&sketch, "api"));
    let expected = [
        ChangeState::Ready,
        ChangeState::InProgress,
        ChangeState::AwaitingVerify,
        ChangeState::Done,
    ];
    assert_eq!(seen, expected);
    assert_eq!(next(&sketch), "p1/proof");
    assert_eq!(next(&sketch.proof("p1", Proof::Passed)), "-");
}

// B-H30
#[test]
fn status_never_says_done_while_a_transition_is_left() {
    let name = crate::name::ChangeName::parse("api").unwrap();
    let key = crate::name::StepKey::of_change(&name);
    let plain = Sketch::new(&[("p1", &["api"])]);
    let all = [
        plain.clone(),
        plain.clone().folder("api"),
        plain.clone().plan("api", 0, 0),
        plain.clone().plan("api", 1, 2).verified("api"),
        plain.clone().plan("api", 2, 2),
        plain.clone().done(&["api"]),
        plain.archived("api"),
    ];
    for sketch in all {
        let left = next_transition(&sketch.0.facts(&name), &key, &sketch.0.journal);
        assert_eq!(state(&sketch, "api") == ChangeState::Done, left.is_none(), "{sketch:?}");
    }
}

// B-H31
#[test]
fn a_partly_ticked_plan_is_in_progress_whatever_the_journal_says() {
    let sketch = Sketch::new(&[("p1", &["api"])]).plan("api", 1, 2).verified("api");
    assert_eq!(state(&sketch, "api"), ChangeState::InProgress);
}

#[test]
fn a_started_change_keeps_its_status_and_shows_what_it_waits_for() {
    let sketch = Sketch::new(&[("p1", &["web < api", "api"])]).plan("web", 1, 2);
    assert_eq!(state(&sketch, "web"), ChangeState::InProgress);
    assert_eq!(blocked_by(&sketch, "web"), ["api"]);
    assert_eq!(next(&sketch), "p1/api");
}

#[test]
fn changes_without_an_order_are_refused() {
    let sketch = Sketch::new(&[("p1", &["api < web", "web < api"])]);
    let error = derive(&sketch.0).unwrap_err();
    assert!(matches!(error.error, DagError::Cycle { .. }));
    assert_eq!(error.phase.as_str(), "p1");
}

// B-H10 B-H11 B-V19 B-V20
#[test]
fn the_json_of_status_has_its_members_in_order() {
    let sketch = Sketch::new(&[("p1", &["api", "web < api"]), ("p2", &[])])
        .plan("api", 1, 2)
        .asked("api")
        .said("api", |park| park.answer = Some("8080".to_owned()));
    let status = status(&sketch);
    let text = serde_json::to_string_pretty(&status.to_status_json()).unwrap();
    assert!(!text.contains("\"success\": \"api"));
    insta::assert_snapshot!("status_json", text);
}

// B-V21
#[test]
fn the_json_of_view_leaves_out_what_is_not_set() {
    let sketch = Sketch::new(TWO).asked("api");
    let status = status(&sketch);
    insta::assert_snapshot!(
        "view_json",
        serde_json::to_string_pretty(&status.to_view_json()).unwrap()
    );
}

#[test]
fn a_parked_decomposition_is_shown_with_its_question() {
    let sketch = Sketch::new(&[("p1", &[])]).asked("p1");
    let status = status(&sketch);
    assert_eq!(status.next, None);
    assert_eq!(status.phases[0].parked.as_ref().unwrap().reason, "p1 waits");
    let json = serde_json::to_value(status.to_status_json()).unwrap();
    assert_eq!(json["phases"][0]["parked"]["kind"], "blocked");
    let json = serde_json::to_value(status.to_view_json()).unwrap();
    assert_eq!(json["phases"][0]["parked"]["kind"], "blocked");
    // Once the phase has changes, nobody waits for its decomposition.
    let filled = derive(&Sketch::new(&[("p1", &["api"])]).asked("p1").0).unwrap();
    assert_eq!(filled.phases[0].parked, None);
}

#[test]
fn a_pull_request_that_is_owed_is_shown_and_so_is_its_park() {
    let done = Sketch::new(&[("p1", &["api"])])
        .done(&["api"])
        .proof("p1", Proof::Passed)
        .grouping(crate::settings::PrGrouping::PerPhase);
    let due = status(&done).pull_request.unwrap();
    assert_eq!((due.key.as_str(), due.changes[0].as_str()), ("pr:shop:p1", "api"));
    assert_eq!(due.parked, None);
    let parked = status(&done.clone().asked("pr:shop:p1"));
    let json = serde_json::to_value(parked.to_status_json()).unwrap();
    assert_eq!(json["pullRequest"]["parked"]["reason"], "pr:shop:p1 waits");
    assert_eq!(status(&done.opened("pr:shop:p1")).pull_request, None);
}
