//! The steps that are built: transition, frame, and what a person said.

use super::*;
use crate::settings::{GateMode, PrGrouping};
use crate::sketch::{Proof, Sketch};
use crate::usage::{Completeness, SpawnUsage, Usage};

fn plan(sketch: &Sketch) -> Plan {
    decide(&sketch.0).expect("the changes have an order")
}

fn step(sketch: &Sketch) -> Step {
    match plan(sketch) {
        Plan::Spawn(step) => *step,
        Plan::Prove(_) | Plan::Parked(_) | Plan::Idle(_) => panic!("no step: {:?}", plan(sketch)),
    }
}

fn one() -> Sketch {
    Sketch::new(&[("p1", &["api"])])
}

// B-J09 B-K01 B-K14
#[test]
fn a_step_of_a_change_has_the_transition_of_the_disk() {
    let kinds = [one(), one().plan("api", 1, 2), one().plan("api", 2, 2)].map(|s| step(&s).kind());
    assert_eq!(kinds, [StepKind::Propose, StepKind::Apply, StepKind::Verify]);
    let step = step(&one());
    assert_eq!(step.batch.as_ref().map(BatchName::as_str), Some("shop"));
    assert_eq!(step.key.as_str(), "api");
    assert_eq!(step.phase.name.as_str(), "p1");
    let Work::Change { done, .. } = step.work else { panic!("no change") };
    assert_eq!(done, "api works");
    assert_eq!((step.resume, step.guidance), (None, None));
}

// B-K06
#[test]
fn an_answer_comes_back_with_its_question_and_the_disk_decides_the_transition() {
    let sketch = one()
        .plan("api", 2, 2)
        .asked("api")
        .said("api", |park| park.answer = Some("8080".to_owned()));
    let step = step(&sketch);
    assert_eq!(step.kind(), StepKind::Verify);
    let question = "api waits".to_owned();
    let answer = "8080".to_owned();
    assert_eq!(step.resume, Some(Resume::Answered { question, answer }));
}

// B-K07 B-L35
#[test]
fn a_rejected_step_runs_again_as_what_it_was() {
    for (kind, ticked) in [(StepKind::Propose, 0), (StepKind::Apply, 2), (StepKind::Verify, 2)] {
        let sketch = one()
            .plan("api", ticked, 2)
            .shown("api", kind)
            .said("api", |park| park.feedback = Some("less".to_owned()));
        let step = step(&sketch);
        assert_eq!(step.kind(), kind);
        let rejected =
            Resume::Rejected { summary: "api waits".to_owned(), feedback: "less".to_owned() };
        assert_eq!(step.resume, Some(rejected));
    }
}

/// What a cut short propose left half written is no plan that anybody approved.
#[test]
fn a_step_that_was_cut_short_runs_again_as_what_it_was() {
    let sketch = one().plan("api", 0, 2).asked("api").said("api", |park| {
        park.transition = Some(StepKind::Propose);
        park.retry = true;
    });
    let step = step(&sketch);
    assert_eq!(step.kind(), StepKind::Propose);
    assert_eq!(step.resume, None);
}

#[test]
fn a_rejected_verify_runs_again_although_its_completion_is_journaled() {
    let sketch = one()
        .done(&["api"])
        .shown("api", StepKind::Verify)
        .said("api", |park| park.feedback = Some("look again".to_owned()));
    assert_eq!(step(&sketch).kind(), StepKind::Verify);
}

#[test]
fn a_reject_of_another_tools_park_follows_the_disk() {
    let sketch = one().plan("api", 0, 2).shown("api", StepKind::Propose).said("api", |park| {
        park.transition = None;
        park.feedback = Some("less".to_owned());
    });
    assert_eq!(step(&sketch).kind(), StepKind::Apply);
}

// B-L34
#[test]
fn an_approved_proposal_goes_on_to_apply() {
    let sketch = one()
        .plan("api", 0, 2)
        .gate(GateMode::EveryPhase)
        .shown("api", StepKind::Propose)
        .said("api", |park| park.approved = Some(true));
    let step = step(&sketch);
    assert_eq!(step.kind(), StepKind::Apply);
    assert!(!step.resume.unwrap().is_reply());
}

// B-K20 B-K21
#[test]
fn a_decomposition_knows_what_was_shipped_and_what_was_answered() {
    let sketch = Sketch::new(&[("p1", &["api", "auth"]), ("p2", &[])])
        .done(&["api", "auth"])
        .proof("p1", Proof::Passed)
        .asked("p2")
        .said("p2", |park| park.answer = Some("two".to_owned()));
    let step = step(&sketch);
    assert_eq!((step.kind(), step.key.as_str()), (StepKind::Decompose, "p2"));
    assert!(step.resume.as_ref().unwrap().is_reply());
    let Work::Decompose { prior } = step.work else { panic!("no decomposition") };
    assert_eq!(prior.len(), 1);
    assert_eq!(prior[0].changes[1].1, "auth works");
}

#[test]
fn a_proof_is_planned_with_its_command() {
    let Plan::Prove(proving) = plan(&one().done(&["api"])) else { panic!("no proof") };
    assert_eq!(proving.phase.as_str(), "p1");
    assert_eq!(proving.proof.run, "./check p1");
}

// B-V02 B-V03 B-V08
#[test]
fn parks_are_planned_as_halts() {
    let sketch = Sketch::new(&[("p1", &["api", "web"])]).asked("api").shown("web", StepKind::Apply);
    let Plan::Parked(halts) = plan(&sketch) else { panic!("not parked") };
    let keys: Vec<_> = halts.iter().map(|halt| halt.key.as_str()).collect();
    assert_eq!(keys, ["api", "web"]);
}

// B-U09
#[test]
fn a_pull_request_is_a_step_without_branches_yet() {
    let sketch = one().done(&["api"]).proof("p1", Proof::Passed).grouping(PrGrouping::PerPhase);
    let step = step(&sketch);
    assert_eq!((step.kind(), step.key.as_str()), (StepKind::Pr, "pr:shop:p1"));
    let Work::PullRequest { branches, changes, .. } = step.work else { panic!("no request") };
    assert_eq!((branches, changes.len()), (None, 1));
}

// B-J08 B-X05
#[test]
fn a_standalone_step_has_the_forced_transition() {
    let change = ChangeName::parse("api").unwrap();
    for transition in [Transition::Propose, Transition::Apply, Transition::Verify] {
        let step = Step::standalone(change.clone(), transition, Some("sell more"), None, None);
        assert_eq!(step.kind(), StepKind::from(transition));
        assert_eq!((step.batch.clone(), step.key.as_str()), (None, "api"));
        assert_eq!(step.phase.name.as_str(), transition.as_str());
    }
    let step = Step::standalone(change, Transition::Propose, Some("sell more"), None, None);
    assert!(step.phase.goal.contains("sell more"));
}

#[test]
fn no_agent_is_planned_once_the_budget_is_used_up_but_a_proof_still_is() {
    let usage = Usage { input_tokens: 60, output_tokens: 40, ..Usage::default() };
    let spawn = SpawnUsage { usage, completeness: Completeness::Known };
    let limited = |sketch: Sketch, limit| {
        let mut sketch = sketch.used("api", &spawn);
        sketch.0.settings.budget_tokens = Some(limit);
        plan(&sketch)
    };
    let Plan::Idle(idle) = limited(one(), 100) else { panic!("a step was planned") };
    let message = idle.message();
    assert!(message.contains("100 tokens of budgetTokens 100"), "{message}");
    assert!(matches!(limited(one(), 101), Plan::Spawn(_)));
    assert!(matches!(limited(one().done(&["api"]), 100), Plan::Prove(_)));
    assert!(matches!(limited(one().asked("api"), 100), Plan::Parked(_)));
}
