//! What is picked, row by row.

use super::*;
use crate::settings::PrGrouping;
use crate::sketch::{Proof, Sketch};
use crate::status;
use crate::transition::StepKind;

fn target(sketch: &Sketch) -> Target {
    let status = status::derive(&sketch.0).expect("the changes have an order");
    pick(&sketch.0, &status)
}

/// Says a target in one word.
fn picked(sketch: &Sketch) -> String {
    let phases = &sketch.0.manifest.phases;
    match target(sketch) {
        Target::Change { phase, change } => {
            format!("{}/{}", phases[phase].name, phases[phase].changes[change].name)
        }
        Target::Decompose { phase } => format!("{}/decompose", phases[phase].name),
        Target::Proof { phase } => format!("{}/proof", phases[phase].name),
        Target::PullRequest { key, phase, .. } => format!("{key} in {}", phases[phase].name),
        Target::Parked(keys) => {
            let keys: Vec<_> = keys.iter().map(StepKey::as_str).collect();
            format!("parked {}", keys.join(" "))
        }
        Target::Idle(Idle::Done) => "done".to_owned(),
        Target::Idle(Idle::FailedProof { gated_by, .. }) => format!("failed: {gated_by}"),
        Target::Idle(Idle::OverBudget(_)) => panic!("selection knows no budget"),
        Target::Idle(Idle::NothingReady) => "nothing".to_owned(),
    }
}

const TWO: &[(&str, &[&str])] = &[("p1", &["api"]), ("p2", &["web"])];

// B-I01
#[test]
fn the_first_ready_change_is_picked() {
    assert_eq!(picked(&Sketch::new(&[("p1", &["web < api", "api", "docs"])])), "p1/api");
}

// B-I02
#[test]
fn a_change_with_open_dependencies_is_not_picked_even_when_started() {
    let sketch = Sketch::new(&[("p1", &["web < api", "api"])]).plan("web", 1, 2).plan("api", 1, 2);
    assert_eq!(picked(&sketch), "p1/api");
    let finished = Sketch::new(&[("p1", &["web < api", "api"])]).plan("web", 2, 2).folder("api");
    assert_eq!(picked(&finished), "p1/api");
}

// B-I03
#[test]
fn a_parked_change_is_passed_over() {
    let sketch = Sketch::new(&[("p1", &["api", "web"])]).asked("api");
    assert_eq!(picked(&sketch), "p1/web");
    let waiting = Sketch::new(&[("p1", &["api", "web"])]).shown("api", StepKind::Propose);
    assert_eq!(picked(&waiting), "p1/web");
}

// B-I03 B-K06 B-X18
#[test]
fn a_freed_park_runs_in_its_old_place() {
    let sketch = Sketch::new(&[("p1", &["api", "web"])])
        .asked("api")
        .said("api", |park| park.answer = Some("8080".to_owned()));
    assert_eq!(picked(&sketch), "p1/api");
    let rejected = Sketch::new(&[("p1", &["api", "web"])])
        .shown("api", StepKind::Propose)
        .said("api", |park| park.feedback = Some("less".to_owned()));
    assert_eq!(picked(&rejected), "p1/api");
}

// B-I04
#[test]
fn gated_phases_are_skipped() {
    assert_eq!(picked(&Sketch::new(TWO).folder("web")), "p1/api");
}

// B-I05
#[test]
fn a_finished_batch_has_no_step() {
    let sketch = Sketch::new(&[("p1", &["api"])]).done(&["api"]).proof("p1", Proof::Passed);
    assert_eq!(picked(&sketch), "done");
}

// B-I06 B-K05
#[test]
fn parks_that_hold_everything_are_all_named_in_order() {
    let sketch = Sketch::new(&[("p1", &["docs < api", "api", "web"])])
        .asked("web")
        .asked("api")
        .asked("docs");
    assert_eq!(picked(&sketch), "parked api web");
}

#[test]
fn a_park_behind_a_gate_holds_nothing() {
    let sketch = Sketch::new(TWO).done(&["api"]).proof("p1", Proof::Failed).asked("web");
    assert_eq!(picked(&sketch), "failed: p1 — proof-of-work failed: command exited 4");
}

#[test]
fn a_batch_without_phases_has_nothing_ready() {
    assert_eq!(picked(&Sketch::new(&[])), "nothing");
}

// B-I07 B-I12 B-V09
#[test]
fn entering_a_phase_first_proves_the_one_before() {
    let sketch = Sketch::new(TWO).done(&["api"]);
    assert_eq!(picked(&sketch), "p1/proof");
    let again = sketch.proof("p1", Proof::Failed).invalidated("p1");
    assert_eq!(picked(&again), "p1/proof");
}

// B-I08 B-I11 B-M15
#[test]
fn with_the_proof_recorded_the_change_is_picked() {
    let sketch = Sketch::new(TWO).done(&["api"]).proof("p1", Proof::Passed);
    assert_eq!(picked(&sketch), "p2/web");
    let warned = Sketch::new(TWO).done(&["api"]).proof("p1", Proof::FailedUnderWarn);
    assert_eq!(picked(&warned), "p2/web");
}

// B-I09
#[test]
fn nothing_is_proven_before_the_first_phase() {
    assert_eq!(picked(&Sketch::new(TWO)), "p1/api");
}

// B-I10 B-M17 B-M30
#[test]
fn a_failed_proof_lets_nothing_of_the_next_phase_be_picked() {
    let sketch = Sketch::new(TWO).done(&["api"]).proof("p1", Proof::Failed);
    assert_eq!(picked(&sketch), "failed: p1 — proof-of-work failed: command exited 4");
}

// B-I13
#[test]
fn a_finished_plan_is_picked_for_its_verify() {
    assert_eq!(picked(&Sketch::new(&[("p1", &["api", "web"])]).plan("api", 2, 2)), "p1/api");
}

// B-I14 B-I15
#[test]
fn a_partly_applied_change_is_picked_before_a_ready_one() {
    let sketch = Sketch::new(&[("p1", &["api", "web", "docs < api"])]).plan("api", 1, 2);
    assert_eq!(picked(&sketch), "p1/api");
}

// B-I16
#[test]
fn the_reachable_empty_phase_is_decomposed() {
    assert_eq!(picked(&Sketch::new(&[("p1", &[]), ("p2", &["web"])])), "p1/decompose");
}

// B-I17
#[test]
fn the_proof_before_comes_before_the_decomposition() {
    let sketch = Sketch::new(&[("p1", &["api"]), ("p2", &[])]).done(&["api"]);
    assert_eq!(picked(&sketch), "p1/proof");
    assert_eq!(picked(&sketch.proof("p1", Proof::Passed)), "p2/decompose");
}

#[test]
fn a_parked_decomposition_holds_the_batch() {
    let sketch = Sketch::new(&[("p1", &["api"]), ("p2", &[])]).done(&["api"]).asked("p2");
    assert_eq!(picked(&sketch), "parked p2");
}

// B-H24 B-M27
#[test]
fn the_last_proof_is_picked_and_a_failed_one_is_cited() {
    let sketch = Sketch::new(&[("p1", &["api"])]).done(&["api"]);
    assert_eq!(picked(&sketch), "p1/proof");
    let failed = sketch.proof("p1", Proof::Failed);
    assert_eq!(picked(&failed), "failed: p1 — proof-of-work failed: command exited 4");
}

fn finished() -> Sketch {
    Sketch::new(&[("p1", &["api", "auth"]), ("p2", &["web"])])
        .done(&["api", "auth", "web"])
        .proof("p1", Proof::Passed)
        .proof("p2", Proof::Passed)
}

// B-I18 B-U12 B-V12
#[test]
fn the_pull_request_over_all_comes_at_the_end_and_once() {
    let sketch = finished().grouping(PrGrouping::WholeBatch);
    assert_eq!(picked(&sketch), "pr:shop in p2");
    let Target::PullRequest { group, changes, .. } = target(&sketch) else { panic!("no request") };
    assert_eq!(group, None);
    assert_eq!(changes.len(), 3);
    assert_eq!(picked(&sketch.opened("pr:shop")), "done");
}

// B-I19 B-U11
#[test]
fn no_pull_request_is_due_when_grouping_is_off() {
    assert_eq!(picked(&finished()), "done");
}

// B-I20 B-I25
#[test]
fn outstanding_work_and_proofs_come_before_a_pull_request() {
    for grouping in [PrGrouping::WholeBatch, PrGrouping::PerPhase, PrGrouping::PerChange] {
        let unproven = finished().invalidated("p2").grouping(grouping);
        assert_eq!(picked(&unproven), "p2/proof");
        let unfinished = finished().plan("web", 1, 2).grouping(grouping);
        assert_eq!(picked(&unfinished), "p2/web");
    }
}

// B-I21 B-I22 B-U16 B-U18
#[test]
fn each_phase_gets_its_pull_request_in_order() {
    let sketch = finished().grouping(PrGrouping::PerPhase);
    assert_eq!(picked(&sketch), "pr:shop:p1 in p1");
    let one = sketch.opened("pr:shop:p1");
    assert_eq!(picked(&one), "pr:shop:p2 in p2");
    let Target::PullRequest { group: Some(group), .. } = target(&one) else { panic!("no group") };
    assert_eq!((group.index, group.id.as_str()), (1, "p2"));
    assert_eq!(group.stacked_on.as_deref(), Some("p1"));
    assert_eq!(picked(&one.opened("pr:shop:p2")), "done");
}

// B-I23 B-I24
#[test]
fn each_change_gets_its_pull_request_framed_by_its_phase() {
    let mut sketch = finished().grouping(PrGrouping::PerChange);
    for (change, phase) in [("api", "p1"), ("auth", "p1"), ("web", "p2")] {
        assert_eq!(picked(&sketch), format!("pr:shop:{change} in {phase}"));
        sketch = sketch.opened(&format!("pr:shop:{change}"));
    }
    assert_eq!(picked(&sketch), "done");
}

#[test]
fn a_parked_pull_request_holds_the_stack() {
    let sketch = finished().grouping(PrGrouping::PerPhase).asked("pr:shop:p1");
    assert_eq!(picked(&sketch), "parked pr:shop:p1");
    let answered = sketch.said("pr:shop:p1", |park| park.answer = Some("main".to_owned()));
    assert_eq!(picked(&answered), "pr:shop:p1 in p1");
}
