//! Where a run of several steps goes on, where it halts, and what it says then.

use ratchet_engine::name::StepKey;
use ratchet_engine::outcome::{StepResult, StepState};
use ratchet_engine::transition::StepKind;

use super::*;
use crate::render::page::Ink;
use crate::schemas::assert_fits;

fn step(state: StepState) -> ApplyReport {
    ApplyReport::Step(StepResult::new(state, StepKey::from_text("add-cart"), StepKind::Apply))
}

#[test]
fn a_signal_halts_a_run_whatever_the_step_came_to() {
    let halted = Halted::after(&step(StepState::Advanced), Some(Signal::Interrupt)).unwrap();
    assert_eq!(halted.reason, Reason::Cut(Cut::Stopped));
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
    assert_fits("run", &Ran { steps: Vec::new(), halted: halt::Halted::at_limit(3).into() });
}

#[test]
fn a_step_that_changes_nothing_is_named_with_a_way_on() {
    let batch = BatchName::parse("shop").unwrap();
    let step = StepResult::new(StepState::Advanced, StepKey::from_text("p1"), StepKind::Decompose);
    let ran = Ran { steps: Vec::new(), halted: halt::Halted::stalled(&step, &batch).into() };
    let mut page = Page::new(Ink::Plain);
    ran.draw(&mut page);
    insta::assert_snapshot!(page.finish(), @r"
    Halted after 0 steps: a step changes nothing
    The decompose of 'p1' was reported complete, but it left nothing behind and would only run again.
    To proceed: read what its agent printed: `ratchet batch log shop --last`; then write what is missing yourself, or let one more try run: `ratchet batch apply shop`
    ");
    assert_eq!(ran.exit(), Exit::Blocked);
    assert_fits("run", &ran);
}

#[test]
fn a_run_that_ends_in_an_error_still_tells_what_it_did() {
    let failure = Failure::new("the disk is full").help("free some space").code("disk-full");
    let ran = Ran { steps: vec![step(StepState::Advanced)], halted: Halted::by(&failure) };
    assert_fits("run", &ran);
    let json = serde_json::to_value(&ran).unwrap();
    assert_eq!(json["halted"]["reason"], "error");
    assert_eq!(json["halted"]["message"], "the disk is full");
    assert_eq!(json["halted"]["code"], "disk-full");
    assert_eq!(ran.exit(), Exit::Failure);
}
