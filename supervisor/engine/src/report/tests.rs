//! The JSON of `batch apply`.

use super::*;
use crate::decide::{Plan, decide};
use crate::outcome::SessionEnd;
use crate::sketch::{Proof, Sketch, judged_proof};
use crate::transition::StepKind;

fn json(report: &ApplyReport) -> String {
    serde_json::to_string(report).unwrap()
}

fn planned(sketch: &Sketch) -> Plan {
    decide(&sketch.0).unwrap()
}

fn idle(sketch: &Sketch) -> String {
    let Plan::Idle(idle) = planned(sketch) else { panic!("not idle") };
    json(&ApplyReport::idle(&idle))
}

// B-V02 B-V03 B-V08
#[test]
fn a_parked_report_names_the_first_and_lists_the_others() {
    let sketch = Sketch::new(&[("p1", &["api", "web"])]).asked("api").shown("web", StepKind::Apply);
    let Plan::Parked(halts) = planned(&sketch) else { panic!("not parked") };
    let report = ApplyReport::parked(&halts).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap(), @r#"
    {
      "state": "parked",
      "change": "api",
      "reason": "blocked: api waits",
      "hint": "record an answer with `ratchet batch report --change api --answer \"...\"`",
      "others": [
        {
          "change": "web",
          "reason": "awaiting approval: web waits",
          "hint": "approve with `ratchet batch approve --change web` or reject with `ratchet batch report --change web --reject \"...\"`"
        }
      ]
    }
    "#);
    assert_eq!(ApplyReport::parked(&[]), None);
    let ApplyReport::Parked(parked) = report.of_batch(&sketch.0.batch) else {
        panic!("not parked")
    };
    insta::assert_snapshot!(format!("{}\n{}", parked.first.hint, parked.others[0].hint), @r#"
    record an answer with `ratchet batch report shop --change api --answer "..."`
    approve with `ratchet batch approve shop --change web` or reject with `ratchet batch report shop --change web --reject "..."`
    "#);
}

#[test]
fn a_hint_about_a_change_on_its_own_names_no_batch() {
    let change = ChangeName::parse("api").unwrap();
    let told = |kind| hint(kind, &StepKey::of_change(&change), Channel::Alone(&change));
    assert_eq!(
        told(ParkKind::Blocked),
        "record an answer with `ratchet report api --answer \"...\"`"
    );
    assert_eq!(
        told(ParkKind::AwaitingApproval),
        "approve with `ratchet report api --approve` or reject with `ratchet report api --reject \"...\"`"
    );
}

#[test]
fn a_hint_can_be_pasted_into_a_shell() {
    let sketch = Sketch::new(&[("the loom", &[])]).asked("the loom");
    let Plan::Parked(halts) = planned(&sketch) else { panic!("not parked") };
    assert!(Waiting::of(&halts[0]).hint.contains("--change 'the loom' --answer"));
}

// B-V01
#[test]
fn a_finished_batch_says_that_nothing_is_to_be_done() {
    let done = Sketch::new(&[("p1", &["api"])]).done(&["api"]).proof("p1", Proof::Passed);
    assert_eq!(
        idle(&done),
        r#"{"state":"nothing-ready","message":"Nothing to do — all changes are done."}"#
    );
}

// B-H26 B-M30 B-M35
#[test]
fn a_failed_proof_is_cited() {
    let last = Sketch::new(&[("p1", &["api"])]).done(&["api"]).proof("p1", Proof::Failed);
    let before = Sketch::new(&[("p1", &["api"]), ("p2", &["web"])])
        .done(&["api"])
        .proof("p1", Proof::Failed);
    let expected = "{\"state\":\"nothing-ready\",\"message\":\"No ready step — blocked by p1 — \
                    proof-of-work failed: command exited 4\"}";
    assert_eq!(idle(&last), expected);
    assert_eq!(idle(&before), expected);
}

#[test]
fn a_proof_that_keeps_its_gate_shut_says_how_it_runs_again() {
    let failed = Sketch::new(&[("p 1", &["api"])]).done(&["api"]).proof("p 1", Proof::Failed);
    let Plan::Idle(why) = planned(&failed) else { panic!("not idle") };
    let ApplyReport::NothingReady(nothing) = ApplyReport::idle(&why).of_batch(&failed.0.batch)
    else {
        panic!("something is ready")
    };
    let hint = "mend what it names, then have it run again: `ratchet batch rerun-proof shop --phase 'p 1'`, then \
                `ratchet batch apply shop`";
    assert_eq!(nothing.hint.as_deref(), Some(hint));
    let Plan::Prove(proving) = planned(&Sketch::new(&[("p 1", &["api"])]).done(&["api"])) else {
        panic!("no proof")
    };
    let proof = |pass, end| {
        let finding = judged_proof(pass, &end, b"");
        let record = finding.record(&proving.phase, ProofPolicy::HardGate);
        let report = ApplyReport::proof(&proving, &record).of_batch(&failed.0.batch);
        let ApplyReport::Proof(proof) = report else { panic!("no proof: {report:?}") };
        proof.hint
    };
    assert_eq!(proof("exit 0", SessionEnd::Exited(4)).as_deref(), Some(hint));
    assert_eq!(proof("exit 0", SessionEnd::Exited(0)), None);
}

#[test]
fn an_empty_batch_has_nothing_ready() {
    assert!(idle(&Sketch::new(&[])).contains("Everything is blocked, gated, or parked."));
}

// B-V10 B-M38
#[test]
fn a_proof_is_reported_with_its_record() {
    let Plan::Prove(proving) = planned(&Sketch::new(&[("p1", &["api"])]).done(&["api"])) else {
        panic!("no proof")
    };
    let finding = judged_proof("contains:ok", &SessionEnd::Exited(0), b"ok");
    let record = finding.record(&proving.phase, ProofPolicy::HardGate);
    assert_eq!(
        json(&ApplyReport::proof(&proving, &record)),
        r#"{"state":"proof-of-work","phase":"p1","kind":"integration","passed":true,"gatePassed":true,"policy":"hard-gate","reason":"pass-condition-met","detail":"Proof-of-work passed (contains:ok).","conditionKind":"contains","matchedExcerpt":"ok"}"#
    );
    let finding = judged_proof("exit 0", &SessionEnd::Exited(4), b"");
    let record = finding.record(&proving.phase, ProofPolicy::HardGate);
    assert!(json(&ApplyReport::proof(&proving, &record)).contains(r#""reason":"nonzero-exit""#));
}

// B-V07
#[test]
fn a_step_is_reported_as_its_result() {
    let key = StepKey::from_text("api");
    let result = StepResult::new(crate::outcome::StepState::Advanced, key, StepKind::Apply);
    assert_eq!(
        json(&ApplyReport::Step(result)),
        r#"{"state":"advanced","change":"api","transition":"apply"}"#
    );
}
