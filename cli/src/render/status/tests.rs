//! Status, view and list as people see them, word for word.

use super::*;
use crate::render::page::Ink;
use crate::schemas::assert_fits;
use ratchet_engine::permission::Escalation;
use ratchet_engine::settings::{GateMode, Layer, resolve};
use ratchet_engine::status::Progress;

fn drawn(batch: &BatchStatus) -> String {
    let mut page = Page::new(Ink::Plain);
    status(&mut page, batch);
    page.finish().to_owned()
}

pub(crate) fn change_of(name: &str, status: ChangeState) -> ChangeStatus {
    ChangeStatus {
        name: ChangeName::parse(name).unwrap(),
        status,
        base: status,
        done: "it works".into(),
        progress: Progress::default(),
        after: Vec::new(),
        blocked_by: Vec::new(),
        exists: true,
        archived: false,
        parked: None,
        usage: None,
    }
}

pub(crate) fn park_of(kind: ParkKind, reason: &str) -> ParkView {
    ParkView {
        kind,
        reason: reason.into(),
        cause: None,
        retry_at: None,
        answer: None,
        feedback: None,
        approved: None,
        retry: false,
    }
}

pub(crate) fn phase_of(name: &str, status: PhaseState, changes: Vec<ChangeStatus>) -> PhaseStatus {
    PhaseStatus {
        name: PhaseName::parse(name).unwrap(),
        goal: format!("the goal of {name}"),
        success: "seen".into(),
        status,
        gated_by: None,
        parked: None,
        changes,
    }
}

fn batch_of(phases: Vec<PhaseStatus>) -> BatchStatus {
    let changes = || phases.iter().flat_map(|phase| &phase.changes);
    BatchStatus {
        name: BatchName::parse("shop").unwrap(),
        status: BatchState::InProgress,
        progress: Progress { total: 12, completed: 5 },
        change_count: changes().count(),
        done_count: changes().filter(|change| change.status == ChangeState::Done).count(),
        gate: GateMode::Voluntary,
        next: None,
        pull_request: None,
        phases,
        usage: None,
    }
}

// B-V14 B-V16 B-V18
#[test]
fn a_status_shows_phases_changes_and_what_is_next() {
    let cart = ChangeStatus {
        progress: Progress { total: 3, completed: 3 },
        ..change_of("add-cart", ChangeState::Done)
    };
    let pay = ChangeStatus {
        progress: Progress { total: 9, completed: 2 },
        after: vec![ChangeName::parse("add-cart").unwrap()],
        ..change_of("add-pay", ChangeState::InProgress)
    };
    let mail = ChangeStatus {
        after: vec![ChangeName::parse("add-pay").unwrap()],
        blocked_by: vec![ChangeName::parse("add-pay").unwrap()],
        ..change_of("add-mail", ChangeState::Blocked)
    };
    let second =
        PhaseStatus { gated_by: Some("p1".into()), ..phase_of("p2", PhaseState::Blocked, vec![]) };
    let mut batch =
        batch_of(vec![phase_of("p1", PhaseState::InProgress, vec![cart, pay, mail]), second]);
    batch.next = Some(Next::Change {
        phase: PhaseName::parse("p1").unwrap(),
        change: ChangeName::parse("add-pay").unwrap(),
    });
    assert_fits("status", &batch.to_status_json());
    insta::assert_snapshot!(drawn(&batch), @r"
    Batch: shop
    Status: in-progress · 1/3 changes done · 5/12 tasks · 42%

    ◉ Phase: p1 — the goal of p1
      ✓ add-cart [3/3]
      ◉ add-pay [2/9]  after: add-cart
      ✗ add-mail  after: add-pay  blocked by add-pay

    ✗ Phase: p2 — the goal of p2 (gated by p1)
      (not decomposed yet)

    Next: add-pay (phase p1)
    ");
}

// B-V21
#[test]
fn a_view_has_bars_the_runtime_and_what_is_next() {
    let cart = ChangeStatus {
        progress: Progress { total: 3, completed: 3 },
        ..change_of("add-cart", ChangeState::Done)
    };
    let pay = ChangeStatus {
        progress: Progress { total: 9, completed: 2 },
        ..change_of("add-pay", ChangeState::InProgress)
    };
    let mut batch = batch_of(vec![phase_of("p1", PhaseState::InProgress, vec![cart, pay])]);
    batch.next = Some(Next::Change {
        phase: PhaseName::parse("p1").unwrap(),
        change: ChangeName::parse("add-pay").unwrap(),
    });
    let settings = resolve(None, &Layer::default(), None, Escalation::Clamped);
    let mut page = Page::new(Ink::Plain);
    crate::render::view::view(&mut page, &batch, &settings, &[]);
    insta::assert_snapshot!(page.finish(), @r"
    Batch: shop  in-progress
    ████████░░░░░░░░░░░░ 42%  5/12 tasks  1/2 changes done

    Runtime: local · posture repo-sandboxed-permissive [default]
    Isolation: local — advisory: no filesystem or network isolation; the agent's environment is limited to the allow-list

    ◉ Phase: p1 — the goal of p1
      ✓ ████████████ 100%  add-cart  3/3
      ◉ ███░░░░░░░░░  22%  add-pay  2/9

    Next: add-pay (phase p1)
    ");
}

// B-V15 B-V17 B-V34 B-V38
#[test]
fn a_parked_change_says_why_it_waits_and_what_frees_it() {
    let asked = park_of(ParkKind::Blocked, "Which currency?\nEuro or pound?");
    let parked = |name, state, park| ChangeStatus { parked: Some(park), ..change_of(name, state) };
    let changes = vec![
        parked("asked", ChangeState::Blocked, asked.clone()),
        parked("told", ChangeState::InProgress, ParkView { answer: Some("euro".into()), ..asked }),
        parked(
            "planned it",
            ChangeState::AwaitingApproval,
            park_of(ParkKind::AwaitingApproval, "plan written"),
        ),
        parked(
            "refused",
            ChangeState::InProgress,
            ParkView {
                feedback: Some("too big".into()),
                approved: Some(false),
                ..park_of(ParkKind::AwaitingApproval, "plan written")
            },
        ),
    ];
    let batch = batch_of(vec![phase_of("p1", PhaseState::InProgress, changes)]);
    assert_fits("status", &batch.to_status_json());
    insta::assert_snapshot!(drawn(&batch), @r#"
    Batch: shop
    Status: in-progress · 0/4 changes done · 5/12 tasks · 42%

    ◉ Phase: p1 — the goal of p1
      ✗ asked
          ⚠ blocked: Which currency?
            Euro or pound?
          answer it: ratchet batch report shop --change asked --answer "…"
      ◉ told
          ⚠ blocked: Which currency?
            Euro or pound?
          answered: euro
      ⏸ planned it
          ⏸ awaiting approval: plan written
          approve it: ratchet batch report shop --change 'planned it' --approve
          or reject it: ratchet batch report shop --change 'planned it' --reject "…"
      ◉ refused
          ⏸ awaiting approval: plan written
          rejected: too big

    No ready step. Everything is blocked, gated, or parked.
    "#);
}

// B-V13
#[test]
fn an_empty_batch_shows_a_hint_and_nothing_else() {
    let mut batch = batch_of(vec![phase_of("p1", PhaseState::Pending, vec![])]);
    batch.next = Some(Next::Decompose { phase: PhaseName::parse("p1").unwrap() });
    insta::assert_snapshot!(drawn(&batch), @r"
    Batch: shop
    No changes yet. Add change intents to the phases in .ratchet/batches/shop/batch.yaml, or have an agent decompose phase p1: ratchet batch apply shop
    ");
}

// B-V19
#[test]
fn a_finished_batch_says_so_and_an_unproven_one_names_the_proof() {
    let changes = vec![change_of("add-cart", ChangeState::Done)];
    let mut batch = batch_of(vec![phase_of("p1", PhaseState::Done, changes)]);
    batch.next = Some(Next::Proof { phase: PhaseName::parse("p1").unwrap() });
    assert!(drawn(&batch).ends_with("\nNext: proof-of-work of phase p1\n"));
    batch.next = None;
    let stuck = drawn(&batch);
    assert!(stuck.contains("the proof-of-work of phase p1 failed"), "{stuck}");
    assert!(stuck.ends_with("ratchet batch rerun-proof shop --phase p1\n"), "{stuck}");
    batch.status = BatchState::Done;
    assert!(drawn(&batch).ends_with("\nAll changes done.\n"));
}

#[test]
fn a_parked_decomposition_and_a_parked_pull_request_show_what_frees_them() {
    let asked = park_of(ParkKind::Blocked, "Which repository?");
    let phase =
        PhaseStatus { parked: Some(asked.clone()), ..phase_of("p1", PhaseState::Pending, vec![]) };
    let empty = batch_of(vec![phase]);
    assert_fits("status", &empty.to_status_json());
    insta::assert_snapshot!(drawn(&empty), @r#"
    Batch: shop
    No changes yet. Add change intents to the phases in .ratchet/batches/shop/batch.yaml
      Phase: p1
          ⚠ blocked: Which repository?
          answer it: ratchet batch report shop --change p1 --answer "…"
    "#);
    let mut done = batch_of(vec![phase_of(
        "p1",
        PhaseState::Done,
        vec![change_of("add-cart", ChangeState::Done)],
    )]);
    done.status = BatchState::Done;
    let due = |parked: Option<ParkView>| DuePullRequest {
        key: StepKey::from_text("pr:shop"),
        changes: vec![ChangeName::parse("add-cart").unwrap()],
        held: parked.is_some(),
        parked,
    };
    done.pull_request = Some(due(Some(asked)));
    assert_fits("status", &done.to_status_json());
    assert!(
        drawn(&done).ends_with(
            "\nAll changes done.\nPull request: pr:shop (add-cart)\n      ⚠ blocked: Which repository?\n      \
             answer it: ratchet batch report shop --change pr:shop --answer \"…\"\n"
        ),
        "{}",
        drawn(&done)
    );
    done.pull_request = Some(due(None));
    assert!(drawn(&done).ends_with("\nAll changes done.\nNext: pull request pr:shop (add-cart)\n"));
}

#[test]
fn a_step_that_nobody_asked_anything_about_runs_again() {
    let reason = "Agent was stopped by cancel without reporting completion.";
    let stopped = ParkView { retry: true, ..park_of(ParkKind::Blocked, reason) };
    let change =
        ChangeStatus { parked: Some(stopped), ..change_of("add-cart", ChangeState::InProgress) };
    let batch = batch_of(vec![phase_of("p1", PhaseState::InProgress, vec![change])]);
    assert_fits("status", &batch.to_status_json());
    assert!(drawn(&batch).contains("\n      run it again: ratchet batch apply shop\n"));
}
