//! The gate alone; its place in a batch is tested with the status.

use super::*;

fn phase() -> PhaseName {
    PhaseName::parse("p1").unwrap()
}

#[test]
fn the_first_phase_is_open() {
    assert_eq!(shut(None, &JournalView::default()), None);
}

#[test]
fn an_unfinished_phase_shuts_the_next_by_its_bare_name() {
    let states = [PhaseState::Pending, PhaseState::InProgress, PhaseState::Blocked];
    for state in states {
        let shut = shut(Some((&phase(), state)), &JournalView::default()).unwrap();
        assert_eq!(shut.to_string(), "p1");
    }
}

#[test]
fn a_done_phase_opens_the_next() {
    assert_eq!(shut(Some((&phase(), PhaseState::Done)), &JournalView::default()), None);
}
