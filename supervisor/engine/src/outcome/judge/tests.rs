//! The branches of the mapping, row by row.

use super::super::{Cause, ModelSource, Session, SessionEnd, Told};
use super::*;
use crate::change::ChangeFacts;
use crate::decide::{Resume, Step, Work};
use crate::journal::Via;
use crate::name::{AgentName, BatchName, ChangeName, SpawnId};
use crate::park::{ParkChange, park_after};
use crate::settings::{GateMode, Scope};
use crate::time::Timestamp;
use crate::transition::Transition;

mod failure;

fn step(transition: Transition) -> Step {
    let change = ChangeName::parse("api").unwrap();
    let alone = Step::standalone(change, transition, None, None, None);
    Step { batch: Some(BatchName::parse("shop").unwrap()), ..alone }
}

fn other(work: Work) -> Step {
    Step { work, ..step(Transition::Propose) }
}

fn decompose() -> Step {
    other(Work::Decompose { prior: Vec::new() })
}

fn pull_request() -> Step {
    other(Work::PullRequest { group: None, changes: Vec::new(), branches: None })
}

fn plan(complete: u64, total: u64) -> ChangeFacts {
    ChangeFacts {
        exists: true,
        archived: false,
        has_plan: true,
        tasks_total: total,
        tasks_complete: complete,
    }
}

/// A session that left the disk as it was.
fn session(end: SessionEnd, reports: &[(EntryKind, &str)]) -> Session {
    Session {
        spawn: SpawnId::parse("s1").unwrap(),
        agent: AgentName::new("codex"),
        end,
        reports: reports
            .iter()
            .enumerate()
            .map(|(at, (kind, message))| Report {
                index: at + 3,
                kind: *kind,
                message: (*message).to_owned(),
            })
            .collect(),
        before: Some(ChangeFacts::default()),
        after: Some(ChangeFacts::default()),
        account: None,
        stdout: String::new(),
        stderr: String::new(),
        told: None,
        via: None,
        model: None,
    }
}

fn said(message: &str) -> Session {
    session(SessionEnd::Exited(0), &[(EntryKind::Completion, message)])
}

fn on_disk(before: ChangeFacts, after: ChangeFacts, session: Session) -> Session {
    Session { before: Some(before), after: Some(after), ..session }
}

fn judged(step: &Step, session: &Session) -> StepResult {
    judge(&Subject::of(step, GateMode::Voluntary), session).result
}

#[test]
fn a_verdict_says_which_rule_decided() {
    let rule = |gate, session: Session| {
        let verdict = judge(&Subject::of(&step(Transition::Apply), gate), &session);
        verdict.rule.map(Rule::as_str)
    };
    let voluntary = |session| rule(GateMode::Voluntary, session);
    let (before, after) = (plan(0, 2), plan(1, 2));
    let silent = || session(SessionEnd::Exited(0), &[]);
    let broken = Session { end: SessionEnd::Exited(3), ..said("done") };
    let held = || on_disk(before, after, said("done"));
    let asked = [(EntryKind::Completion, "done"), (EntryKind::NeedsInput, "which?")];
    assert_eq!(voluntary(session(SessionEnd::Exited(0), &asked)), Some("1"));
    assert_eq!(voluntary(session(SessionEnd::Exited(3), &[])), Some("2"));
    assert_eq!(voluntary(said("done")), Some("3a"));
    assert_eq!(voluntary(on_disk(before, after, broken)), Some("3b"));
    assert_eq!(rule(GateMode::EveryPhase, held()), Some("3c"));
    assert_eq!(voluntary(held()), Some("3d"));
    assert_eq!(voluntary(on_disk(before, after, silent())), Some("4a"));
    assert_eq!(voluntary(silent()), Some("4b"));
}

fn model(scope: Scope) -> ModelSource {
    ModelSource { agent: "codex".to_owned(), model: "gpt-x".to_owned(), scope }
}

fn blocker(result: &StepResult) -> &str {
    assert_eq!(result.state, StepState::Blocked, "{result:?}");
    result.blocker.as_deref().expect("a blocked step has a blocker")
}

// B-J10 B-K01 B-K13
#[test]
fn a_corroborated_completion_advances_and_points_at_its_entries() {
    let session = on_disk(ChangeFacts::default(), plan(0, 2), said("planned"));
    let verdict = judge(&Subject::of(&step(Transition::Propose), GateMode::Voluntary), &session);
    assert_eq!(verdict.result.state, StepState::Advanced);
    assert_eq!(verdict.result.message.as_deref(), Some("planned"));
    assert_eq!(verdict.result.journal_refs, Some(vec![3]));
    let entry = verdict.entry(Timestamp::from_unix_ms(0));
    assert_eq!((entry.kind, entry.message.as_str()), (EntryKind::Completion, "planned"));
    assert_eq!(entry.transition, Some(StepKind::Propose));
    assert_eq!(entry.spawn.as_ref().map(SpawnId::as_str), Some("s1"));
    assert_eq!(park_after(&verdict.result, verdict.blocked_by), ParkChange::Clear);
}

#[test]
fn the_json_of_a_result_has_the_documented_members() {
    let session = on_disk(ChangeFacts::default(), plan(0, 2), said("planned"));
    let result = judged(&step(Transition::Propose), &session);
    assert_eq!(
        serde_json::to_string(&result).unwrap(),
        r#"{"state":"advanced","change":"api","transition":"propose","journalRefs":[3],"message":"planned","spawnId":"s1"}"#
    );
}

// B-K02
#[test]
fn the_first_question_wins_over_everything() {
    let reports = [
        (EntryKind::Completion, "done"),
        (EntryKind::NeedsInput, "which port?"),
        (EntryKind::Blocker, "and which host?"),
    ];
    for end in [SessionEnd::Exited(0), SessionEnd::Exited(9)] {
        let session = on_disk(ChangeFacts::default(), plan(0, 2), session(end, &reports));
        let verdict =
            judge(&Subject::of(&step(Transition::Propose), GateMode::Autonomous), &session);
        assert_eq!(blocker(&verdict.result), "which port?");
        assert_eq!(verdict.entry_message, "Agent raised a blocker during propose.");
        assert_eq!(verdict.entry_kind, EntryKind::Blocker);
        assert_eq!(verdict.result.journal_refs, Some(vec![3, 4, 5]));
    }
}

// B-J11 B-K03 B-U13
#[test]
fn a_bad_exit_without_completion_is_blocked() {
    for step in [step(Transition::Apply), decompose(), pull_request()] {
        let mut session = session(SessionEnd::Exited(9), &[(EntryKind::Progress, "reading")]);
        session.stderr = "boom\n".to_owned();
        session.stdout = "out".to_owned();
        let verdict = judge(&Subject::of(&step, GateMode::Voluntary), &session);
        let text = blocker(&verdict.result);
        assert_eq!(text, "Agent exited with code 9 without reporting completion.");
        assert_eq!(verdict.entry_message, format!("Agent failed during {}.", step.kind()));
        assert_eq!(verdict.result.detail.as_deref(), Some("boom"));
        assert_eq!(verdict.entry_kind, EntryKind::Blocker);
    }
}

// B-L25
#[test]
fn every_way_to_end_badly_is_told_apart() {
    let limit = "wall".to_owned();
    let ends = [
        SessionEnd::Signaled("SIGKILL".to_owned()),
        SessionEnd::TimedOut { limit, after_ms: 600_000 },
        SessionEnd::Stopped { by: "ratchet batch cancel".to_owned() },
        SessionEnd::OutOfMemory,
        SessionEnd::OutputLimit { bytes: 1000 },
        SessionEnd::NotStarted {
            error: "cannot run codex: not found on PATH (/bin)".to_owned(),
            code: 127,
        },
        SessionEnd::Lost { reason: "the machine restarted".to_owned() },
    ];
    let lines: Vec<String> = ends
        .into_iter()
        .map(|end| {
            let mut session = session(end, &[]);
            session.stderr = "tail".to_owned();
            session.model = Some(model(Scope::Project));
            let result = judged(&step(Transition::Apply), &session);
            let detail = result.detail.clone().unwrap_or_default().replace('\n', "\\n");
            format!("{} | {} | {detail}", blocker(&result), result.message.as_deref().unwrap())
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    Agent exited via signal SIGKILL without reporting completion. | Agent failed during apply. | tail
    Agent timed out after 600000ms (wall limit) without reporting completion. | Agent timed out after 600000ms during apply (wall limit). | tail
    Agent was stopped by ratchet batch cancel without reporting completion. | Agent was stopped by ratchet batch cancel during apply. | tail
    Agent ran out of memory and was killed without reporting completion. | Agent ran out of memory during apply. | tail
    Agent was stopped for printing more than 1000 bytes (output limit) without reporting completion. | Agent printed more than 1000 bytes during apply (output limit). | tail
    Agent could not be started: cannot run codex: not found on PATH (/bin). | Agent could not be started for apply: cannot run codex: not found on PATH (/bin). | cannot run codex: not found on PATH (/bin)\n\ntail
    Agent was lost (the machine restarted) without reporting completion. | Agent was lost during apply (the machine restarted). | tail
    ");
}

// B-L01 B-L04
#[test]
fn silence_is_blocked_with_the_transcript() {
    let mut session = session(SessionEnd::Exited(0), &[]);
    session.stdout = "\nI am done!\n".to_owned();
    let result = judged(&step(Transition::Propose), &session);
    assert_eq!(
        blocker(&result),
        "Agent exited with code 0 without reporting completion or a blocker."
    );
    assert_eq!(result.message.as_deref(), Some("No completion reported during propose."));
    assert_eq!(result.detail.as_deref(), Some("I am done!"));
    session.stdout.clear();
    assert_eq!(judged(&step(Transition::Propose), &session).detail.as_deref(), Some(""));
}

// B-L02
#[test]
fn without_standard_output_standard_error_is_shown() {
    let mut session = session(SessionEnd::Exited(0), &[]);
    session.stderr = "warning".to_owned();
    let result = judged(&step(Transition::Propose), &session);
    assert_eq!(result.detail.as_deref(), Some("warning"));
}

// B-L03
#[test]
fn a_long_transcript_is_cut_and_says_so() {
    let mut session = session(SessionEnd::Exited(0), &[]);
    session.stdout = "ü".repeat(2001);
    let detail = judged(&step(Transition::Propose), &session).detail.unwrap();
    assert_eq!(detail, format!("{}… (truncated)", "ü".repeat(2000)));
    session.stdout = "ü".repeat(2000);
    let detail = judged(&step(Transition::Propose), &session).detail.unwrap();
    assert_eq!(detail, "ü".repeat(2000));
}

// B-L05 B-L06 B-L07 B-L08
#[test]
fn what_lies_on_disk_is_told_and_not_believed() {
    let none = ChangeFacts::default();
    let folder = ChangeFacts { exists: true, ..none };
    let table = [
        (
            Transition::Propose,
            none,
            plan(0, 2),
            Some("a change directory and plan.md were created"),
        ),
        (Transition::Propose, none, folder, Some("a change directory was created")),
        (Transition::Propose, none, none, None),
        (Transition::Apply, plan(0, 3), plan(2, 3), Some("2 tasks were checked off")),
        (Transition::Apply, plan(1, 3), plan(2, 3), Some("1 task was checked off")),
        (Transition::Apply, plan(2, 3), plan(2, 3), None),
        (Transition::Apply, plan(2, 3), plan(1, 3), None),
        (Transition::Verify, plan(2, 3), plan(3, 3), Some("1 task was checked off")),
        (Transition::Verify, plan(3, 3), plan(3, 3), None),
    ];
    for (transition, before, after, progress) in table {
        let mut session = on_disk(before, after, session(SessionEnd::Exited(0), &[]));
        session.stdout = "tail".to_owned();
        let result = judged(&step(transition), &session);
        match progress {
            Some(progress) => {
                let text = format!(
                    "Agent exited with code 0 without reporting completion, but {progress} on disk — \
                     review and resume."
                );
                assert_eq!(blocker(&result), text);
                assert_eq!(result.message.as_deref(), Some(text.as_str()));
                assert_eq!(result.detail, Some(format!("{text}\n\ntail")));
            }
            None => assert!(blocker(&result).ends_with("completion or a blocker.")),
        }
    }
    let grown = on_disk(none, plan(0, 2), session(SessionEnd::Exited(0), &[]));
    assert!(blocker(&judged(&decompose(), &grown)).ends_with("completion or a blocker."));
}

fn disagrees(reason: &str) -> String {
    format!("Reported complete but disk disagrees: {reason}.")
}

// B-L09 B-L14
#[test]
fn a_proposal_without_a_plan_is_blocked_under_every_gate() {
    let folder = ChangeFacts { exists: true, ..ChangeFacts::default() };
    for after in [ChangeFacts::default(), folder] {
        let session = on_disk(ChangeFacts::default(), after, said("planned"));
        let result =
            judge(&Subject::of(&step(Transition::Propose), GateMode::AfterPropose), &session)
                .result;
        assert_eq!(blocker(&result), disagrees("no plan.md on disk"));
        assert_eq!(result.message, result.blocker);
    }
}

#[test]
fn a_resumed_proposal_over_an_existing_plan_agrees() {
    let session = on_disk(plan(0, 2), plan(0, 2), said("planned"));
    assert_eq!(judged(&step(Transition::Propose), &session).state, StepState::Advanced);
}

// B-L10
#[test]
fn an_apply_must_tick_something_or_have_ticked_everything() {
    let apply = step(Transition::Apply);
    let judged = |before, after| judged(&apply, &on_disk(before, after, said("woven")));
    let reason = disagrees("no tasks checked off this session");
    assert_eq!(blocker(&judged(plan(1, 3), plan(1, 3))), reason);
    assert_eq!(blocker(&judged(plan(2, 3), plan(1, 3))), reason);
    assert_eq!(blocker(&judged(plan(0, 3), ChangeFacts::default())), reason);
    assert_eq!(judged(plan(1, 3), plan(2, 3)).state, StepState::Advanced);
    assert_eq!(judged(plan(3, 3), plan(3, 3)).state, StepState::Advanced);
    let archived = ChangeFacts { archived: true, ..ChangeFacts::default() };
    assert_eq!(judged(plan(3, 3), archived).state, StepState::Advanced);
}

// B-L11 B-L12 B-L13
#[test]
fn a_verify_needs_an_applied_change_and_a_verdict() {
    let verify = step(Transition::Verify);
    let judged = |after, message| judged(&verify, &on_disk(plan(2, 3), after, said(message)));
    let open = judged(plan(2, 3), "Ready for archive");
    assert_eq!(blocker(&open), disagrees("change not applied (unchecked tasks remain)"));
    let silent = judged(plan(3, 3), "all fine");
    assert_eq!(blocker(&silent), disagrees("no verification verdict in the completion"));
    assert_eq!(judged(plan(3, 3), "READY FOR ARCHIVE.").state, StepState::Advanced);
    assert_eq!(judged(plan(3, 3), "2 critical issues found").state, StepState::Advanced);
}

// B-L15 B-L16
#[test]
fn a_completion_before_a_bad_end_is_blocked_unless_the_disk_is_worse() {
    let ended = |end| {
        let session = session(end, &[(EntryKind::Completion, "planned")]);
        judged(&step(Transition::Propose), &on_disk(ChangeFacts::default(), plan(0, 2), session))
    };
    assert_eq!(
        blocker(&ended(SessionEnd::Exited(7))),
        "Agent reported completion but exited with code 7 — the reported work may be incomplete; \
         review and resume."
    );
    assert!(blocker(&ended(SessionEnd::Signaled("SIGTERM".to_owned()))).contains("signal SIGTERM"));
    let nothing = session(SessionEnd::Exited(7), &[(EntryKind::Completion, "planned")]);
    let result = judged(&step(Transition::Propose), &nothing);
    assert_eq!(blocker(&result), disagrees("no plan.md on disk"));
}

#[test]
fn an_agent_that_lingered_is_judged_by_its_report_with_a_note() {
    let session = session(SessionEnd::Lingered, &[(EntryKind::Completion, "planned")]);
    let session = on_disk(ChangeFacts::default(), plan(0, 2), session);
    let result = judged(&step(Transition::Propose), &session);
    assert_eq!(result.state, StepState::Advanced);
    assert!(result.notes[0].contains("lingered"));
}

// B-L17 B-U09
#[test]
fn decompositions_and_pull_requests_are_not_held_against_the_disk() {
    for step in [decompose(), pull_request()] {
        let verdict = judge(&Subject::of(&step, GateMode::EveryPhase), &said("authored"));
        assert_eq!(verdict.result.state, StepState::Advanced);
        assert_eq!(verdict.entry_kind, EntryKind::Completion);
        assert_eq!(verdict.entry(Timestamp::from_unix_ms(0)).transition, Some(step.kind()));
    }
    let crashed = session(SessionEnd::Exited(2), &[(EntryKind::Completion, "opened")]);
    assert!(blocker(&judged(&pull_request(), &crashed)).contains("exited with code 2"));
}

// B-P10
#[test]
fn a_stand_in_for_the_agent_marks_result_and_entry() {
    let mut session = on_disk(ChangeFacts::default(), plan(0, 2), said("planned"));
    session.via = Some(Via::EnvOverride);
    let verdict = judge(&Subject::of(&step(Transition::Propose), GateMode::Voluntary), &session);
    assert!(verdict.result.agent_override);
    assert_eq!(verdict.entry(Timestamp::from_unix_ms(0)).via, Some(Via::EnvOverride));
}

// B-K04 B-L30 B-L31
#[test]
fn a_gate_parks_a_completion_that_holds() {
    let session = on_disk(ChangeFacts::default(), plan(0, 2), said("two tasks planned"));
    let verdict = judge(&Subject::of(&step(Transition::Propose), GateMode::AfterPropose), &session);
    assert_eq!(verdict.result.state, StepState::AwaitingApproval);
    assert_eq!(verdict.result.approval_request.as_deref(), Some("two tasks planned"));
    assert_eq!(verdict.entry_message, "Propose complete; awaiting approval.");
    assert_eq!(verdict.entry_kind, EntryKind::Completion);
    let ParkChange::Set(park) = park_after(&verdict.result, verdict.blocked_by) else {
        panic!("not parked")
    };
    assert_eq!((park.reason.as_str(), park.transition), ("two tasks planned", StepKind::Propose));
    let session = on_disk(plan(0, 2), plan(2, 2), said("woven"));
    let apply =
        judge(&Subject::of(&step(Transition::Apply), GateMode::EveryPhase), &session).result;
    assert_eq!(apply.message.as_deref(), Some("Apply complete; awaiting approval."));
    let apply =
        judge(&Subject::of(&step(Transition::Apply), GateMode::AfterPropose), &session).result;
    assert_eq!(apply.state, StepState::Advanced);
}

#[test]
fn a_verify_that_waits_for_approval_is_not_journaled_as_complete() {
    let session = on_disk(plan(2, 2), plan(2, 2), said("Ready for archive"));
    let verdict = judge(&Subject::of(&step(Transition::Verify), GateMode::EveryPhase), &session);
    assert_eq!(verdict.result.state, StepState::AwaitingApproval);
    assert_eq!(verdict.entry_kind, EntryKind::Progress);
    assert_eq!(verdict.entry_message, "Verify complete; awaiting approval.");
}

// B-L34 B-L35
#[test]
fn a_reply_does_not_park_again_and_an_approval_does_not_free_the_next() {
    let session = on_disk(plan(0, 2), plan(2, 2), said("woven"));
    let state = |resume| {
        let step = Step { resume: Some(resume), ..step(Transition::Apply) };
        judge(&Subject::of(&step, GateMode::EveryPhase), &session).result.state
    };
    let text = || "x".to_owned();
    assert_eq!(state(Resume::Answered { question: text(), answer: text() }), StepState::Advanced);
    assert_eq!(state(Resume::Rejected { summary: text(), feedback: text() }), StepState::Advanced);
    assert_eq!(state(Resume::Approved { summary: text() }), StepState::AwaitingApproval);
}
