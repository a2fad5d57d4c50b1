//! Where a run of several steps goes on, where it halts, and what it says then.

use ratchet_engine::name::{PhaseName, StepKey};
use ratchet_engine::outcome::StepResult;
use ratchet_engine::transition::StepKind;

use super::*;
use crate::render::page::Ink;
use crate::schemas::assert_fits;

fn step(state: StepState) -> ApplyReport {
    ApplyReport::Step(StepResult::new(state, StepKey::from_text("add-cart"), StepKind::Apply))
}

#[test]
fn a_run_goes_on_as_long_as_steps_advance() {
    assert_eq!(Halted::after(&step(StepState::Advanced), None), None);
}

#[test]
fn a_run_halts_where_a_person_is_needed_or_nothing_is_left() {
    let reason = |report: &ApplyReport| Halted::after(report, None).map(|halted| halted.reason);
    assert_eq!(reason(&step(StepState::Blocked)), Some(Reason::Blocked));
    assert_eq!(reason(&step(StepState::AwaitingApproval)), Some(Reason::AwaitingApproval));
    assert_eq!(reason(&ApplyReport::idle(&Idle::Done)), Some(Reason::Done));
    assert_eq!(reason(&ApplyReport::idle(&Idle::NothingReady)), Some(Reason::NothingReady));
    let phase = PhaseName::parse("p1").unwrap();
    let shut = Idle::FailedProof { phase, gated_by: "p1".into() };
    assert_eq!(reason(&ApplyReport::idle(&shut)), Some(Reason::ProofFailed));
}

#[test]
fn a_signal_halts_a_run_whatever_the_step_came_to() {
    let halted = Halted::after(&step(StepState::Advanced), Some(Signal::Interrupt)).unwrap();
    assert_eq!(halted.reason, Reason::Stopped);
    assert!(halted.message.contains("SIGINT"));
}

#[test]
fn a_run_says_how_far_it_came_and_why_it_halted() {
    let ran = Ran {
        steps: vec![step(StepState::Advanced), step(StepState::Blocked)],
        halted: Halted::after(&step(StepState::Blocked), None).unwrap(),
    };
    let mut page = Page::new(Ink::Plain);
    ran.draw(&mut page);
    assert_eq!(page.finish(), "Halted after 2 steps: a step is blocked\n");
    assert_eq!(ran.exit(), Exit::Blocked);
    assert_fits("run", &ran);
    assert_fits("run", &Ran { steps: Vec::new(), halted: Halted::at_limit(3) });
}
