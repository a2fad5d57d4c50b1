//! Outcomes of steps and proofs as people see them, and that their JSON fits its schema.

use super::*;
use crate::render::page::Ink;
use crate::schemas::assert_fits;
use ratchet_engine::decide::{Halt, Idle, Proving};
use ratchet_engine::manifest::{ProofKind, ProofOfWork};
use ratchet_engine::name::{BatchName, ChangeName, PhaseName, SpawnId, StepKey};
use ratchet_engine::park::{Park, ParkKind};
use ratchet_engine::proof::{ProofReason, ProofRecord};
use ratchet_engine::transition::StepKind;

fn drawn(draw: impl FnOnce(&mut Page)) -> String {
    let mut page = Page::new(Ink::Plain);
    draw(&mut page);
    page.finish().to_owned()
}

fn result_of(state: StepState) -> StepResult {
    StepResult {
        state,
        change: StepKey::from_text("add-cart"),
        transition: StepKind::Apply,
        blocker: None,
        approval_request: None,
        cause: None,
        retry_at: None,
        detail: None,
        journal_refs: None,
        message: None,
        agent_override: false,
        spawn_id: Some(SpawnId::parse("01").unwrap()),
        not_started: false,
        notes: Vec::new(),
    }
}

fn record(policy: ProofPolicy) -> ProofRecord {
    ProofRecord {
        phase: "p1".into(),
        passed: false,
        gate_passed: policy == ProofPolicy::Warn,
        policy,
        reason: ProofReason::NonzeroExit,
        detail: "Proof-of-work failed: command exited 3".into(),
        condition_kind: None,
        matched_excerpt: None,
    }
}

fn proof_of(record: &ProofRecord) -> ApplyReport {
    let kind = ProofKind::Integration;
    let proof = ProofOfWork { kind, run: "make test".into(), pass: "exit 0".into() };
    ApplyReport::proof(&Proving { phase: PhaseName::parse("p1").unwrap(), proof }, record)
}

#[test]
fn a_step_is_named_and_then_its_outcome() {
    let advanced = result_of(StepState::Advanced);
    assert_eq!(
        drawn(|page| result(page, &advanced, Manner::Batch)),
        "Ran: add-cart (apply)\n✓ advanced — step complete\n"
    );
    let message = StepResult { message: Some("five tasks done".into()), ..advanced };
    assert_eq!(
        drawn(|page| result(page, &message, Manner::Batch)),
        "Ran: add-cart (apply)\n✓ advanced — five tasks done\n"
    );
}

// B-X06
#[test]
fn a_blocked_verb_says_that_it_can_be_resumed() {
    let blocked =
        StepResult { blocker: Some("Which currency?".into()), ..result_of(StepState::Blocked) };
    assert_fits("verb", &blocked);
    assert_eq!(
        drawn(|page| result(page, &blocked, Manner::Apply)),
        "Applied: add-cart\n⚠ blocked — Which currency? (resumable)\n"
    );
    assert_eq!(
        drawn(|page| result(page, &blocked, Manner::Batch)),
        "Ran: add-cart (apply)\n⚠ blocked — Which currency?\n"
    );
}

#[test]
fn an_override_is_said_before_everything_else() {
    let overridden = StepResult {
        agent_override: true,
        approval_request: Some("plan written".into()),
        notes: vec!["2 processes outlived the agent and were ended".into()],
        ..result_of(StepState::AwaitingApproval)
    };
    assert_eq!(
        drawn(|page| result(page, &overridden, Manner::Batch)),
        "⚠ agent overridden by RATCHET_BATCH_AGENT_CMD\nRan: add-cart (apply)\n⏸ awaiting approval — plan written\n  note: 2 processes outlived the agent and were ended\n"
    );
}

// B-V09 B-V10
#[test]
fn a_proof_names_its_phase_and_its_policy() {
    let drawn_proof = |record: &ProofRecord| {
        let report = proof_of(record);
        assert_fits("apply", &report);
        drawn(|page| super::report(page, &report))
    };
    assert_eq!(
        drawn_proof(&record(ProofPolicy::HardGate)),
        "Proof-of-work: p1 (hard-gate)\n✗ failed — Proof-of-work failed: command exited 3\n"
    );
    assert_eq!(
        drawn_proof(&record(ProofPolicy::Warn)),
        "Proof-of-work: p1 (warn)\n⚠ failed (warn) — Proof-of-work failed: command exited 3\n"
    );
    let passed = ProofRecord {
        passed: true,
        detail: "Proof-of-work passed (exit 0).".into(),
        ..record(ProofPolicy::Warn)
    };
    assert_eq!(
        drawn_proof(&passed),
        "Proof-of-work: p1 (warn)\n✓ passed — Proof-of-work passed (exit 0).\n"
    );
}

// B-V02 B-V03 B-V08
#[test]
fn parked_steps_say_what_frees_the_first_and_who_else_waits() {
    let halt = |key: &str, kind, reason: &str| Halt {
        key: StepKey::from_text(key),
        park: Park {
            parked_at: "2026-07-02T09:00:00.000Z".into(),
            key: StepKey::from_text(key),
            kind,
            reason: reason.into(),
            answer: None,
            feedback: None,
            approved: None,
            transition: None,
            retry: false,
            cause: None,
            retry_at: None,
        },
    };
    let halts = [
        halt("add-cart", ParkKind::Blocked, "Which currency?"),
        halt("add-pay", ParkKind::AwaitingApproval, "plan written"),
    ];
    let parked = ApplyReport::parked(&halts).unwrap();
    assert_fits("apply", &parked);
    insta::assert_snapshot!(drawn(|page| report(page, &parked)), @r#"
    Step 'add-cart' did not advance (blocked: Which currency?).
    To proceed: record an answer with `ratchet batch report --change add-cart --answer "..."`
    Also waiting: 'add-pay' (awaiting approval: plan written)
    "#);
}

// B-V01
#[test]
fn nothing_to_do_is_said_in_one_line() {
    let done = ApplyReport::idle(&Idle::Done);
    assert_fits("apply", &done);
    assert_eq!(drawn(|page| report(page, &done)), "Nothing to do — all changes are done.\n");
}

#[test]
fn a_step_without_an_agent_is_not_said_to_have_run() {
    let blocked = StepResult {
        blocker: Some(
            "Agent could not be started: cannot run claude: not found on PATH (/bin).".into(),
        ),
        not_started: true,
        ..result_of(StepState::Blocked)
    };
    assert_fits("apply", &ApplyReport::Step(blocked.clone()));
    assert_eq!(
        drawn(|page| result(page, &blocked, Manner::Batch)),
        "Not started: add-cart (apply)\n⚠ blocked — Agent could not be started: cannot run claude: not found on PATH (/bin).\n"
    );
    let refused = StepResult { spawn_id: None, not_started: false, ..blocked };
    assert!(
        drawn(|page| result(page, &refused, Manner::Apply))
            .starts_with("Not started: add-cart (apply)\n")
    );
}

#[test]
fn a_step_that_halts_says_what_it_waits_for() {
    let park = |kind, transition| Park {
        parked_at: "2026-07-02T09:00:00.000Z".into(),
        key: StepKey::from_text("add-cart"),
        kind,
        reason: "Which currency?".into(),
        answer: None,
        feedback: None,
        approved: None,
        transition: Some(transition),
        retry: false,
        cause: None,
        retry_at: None,
    };
    let verify = StepResult { transition: StepKind::Verify, ..result_of(StepState::Blocked) };
    let change = ChangeName::parse("add-cart").unwrap();
    let asked = park(ParkKind::Blocked, StepKind::Apply);
    insta::assert_snapshot!(drawn(|page| waits(page, &verify, &asked, Channel::Alone(&change))), @r#"
    It is the apply of 'add-cart' that waits.
    To proceed: record an answer with `ratchet report add-cart --answer "..."`
    "#);
    let batch = BatchName::parse("shop").unwrap();
    let stopped = Park { retry: true, ..park(ParkKind::Blocked, StepKind::Verify) };
    assert_eq!(
        drawn(|page| waits(page, &verify, &stopped, Channel::Batch(&batch))),
        "To proceed: run it again with `ratchet batch apply shop`\n"
    );
    let shown = park(ParkKind::AwaitingApproval, StepKind::Verify);
    insta::assert_snapshot!(drawn(|page| waits(page, &verify, &shown, Channel::Batch(&batch))), @r#"
    To proceed: approve with `ratchet batch approve shop --change add-cart` or reject with `ratchet batch report shop --change add-cart --reject "..."`
    "#);
}

#[test]
fn a_proof_that_keeps_its_gate_shut_says_how_it_runs_again() {
    let batch = BatchName::parse("shop").unwrap();
    let failed = proof_of(&record(ProofPolicy::HardGate)).of_batch(&batch);
    assert_fits("apply", &failed);
    let text = drawn(|page| report(page, &failed));
    assert!(text.contains("\nTo proceed: mend what it names"), "{text}");
    assert!(text.contains("`ratchet batch rerun-proof shop --phase p1`"), "{text}");
    let phase = PhaseName::parse("p1").unwrap();
    let shut =
        ApplyReport::idle(&Idle::FailedProof { phase, gated_by: "p1".into() }).of_batch(&batch);
    assert_fits("apply", &shut);
    assert!(drawn(|page| report(page, &shut)).contains("rerun-proof shop --phase p1"));
}
