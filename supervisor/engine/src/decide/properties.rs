//! Properties over random batches: what is picked may be picked, status and plan agree, and every history ends.

use proptest::prelude::*;

use super::*;
use crate::settings::PrGrouping;
use crate::sketch::{Proof, Sketch};
use crate::status::{ChangeState, Next};

/// How one change is drawn: its disk and journal, its park, and which earlier changes of its phase it comes after.
type Drawn = (u8, u8, Vec<prop::sample::Index>);

fn change() -> impl Strategy<Value = Drawn> {
    (0..7u8, 0..6u8, prop::collection::vec(any::<prop::sample::Index>(), 0..3))
}

fn batch() -> impl Strategy<Value = Sketch> {
    let phases = prop::collection::vec((prop::collection::vec(change(), 0..5), 0..5u8), 0..4);
    (phases, 0..4u8).prop_map(|(phases, grouping)| draw(&phases, grouping))
}

fn draw(phases: &[(Vec<Drawn>, u8)], grouping: u8) -> Sketch {
    let texts: Vec<(String, Vec<String>)> = phases
        .iter()
        .enumerate()
        .map(|(p, (changes, _))| {
            let texts = changes.iter().enumerate().map(|(c, (_, _, after))| {
                let before = after.iter().filter(|_| c > 0).map(|i| format!("c{p}{}", i.index(c)));
                format!("c{p}{c} < {}", before.collect::<Vec<_>>().join(" "))
            });
            (format!("p{p}"), texts.collect())
        })
        .collect();
    let refs: Vec<(&str, Vec<&str>)> = texts
        .iter()
        .map(|(name, changes)| (name.as_str(), changes.iter().map(String::as_str).collect()))
        .collect();
    let shape: Vec<(&str, &[&str])> = refs.iter().map(|(n, c)| (*n, c.as_slice())).collect();
    let mut sketch = Sketch::new(&shape).grouping(match grouping {
        0 => PrGrouping::Off,
        1 => PrGrouping::WholeBatch,
        2 => PrGrouping::PerPhase,
        _ => PrGrouping::PerChange,
    });
    for (p, (changes, proof)) in phases.iter().enumerate() {
        for (c, (disk, park, _)) in changes.iter().enumerate() {
            sketch = drawn(sketch, &format!("c{p}{c}"), *disk, *park);
        }
        let name = format!("p{p}");
        sketch = match proof {
            0 | 1 => sketch,
            2 => sketch.proof(&name, Proof::Failed),
            3 => sketch.proof(&name, Proof::FailedUnderWarn),
            _ => sketch.proof(&name, Proof::Passed),
        };
    }
    sketch
}

fn drawn(sketch: Sketch, name: &str, disk: u8, park: u8) -> Sketch {
    let sketch = match disk {
        0 => sketch,
        1 => sketch.folder(name),
        2 => sketch.plan(name, 1, 2),
        3 => sketch.plan(name, 2, 2),
        4 => sketch.archived(name),
        _ => sketch.done(&[name]),
    };
    match park {
        0 => sketch.asked(name),
        1 => sketch.asked(name).said(name, |park| park.answer = Some("yes".to_owned())),
        2 => sketch.shown(name, StepKind::Apply),
        3 => {
            sketch.shown(name, StepKind::Verify).said(name, |p| p.feedback = Some("no".to_owned()))
        }
        _ => sketch,
    }
}

/// Pretends that the planned thing went well. Returns whether anything was left to do.
fn succeed(sketch: &mut Sketch) -> bool {
    match decide(&sketch.0).unwrap() {
        Plan::Spawn(step) => {
            sketch.0.parks.remove(&step.key);
            *sketch = finished(sketch.clone(), &step);
            true
        }
        Plan::Prove(proving) => {
            *sketch = sketch.clone().proof(proving.phase.as_str(), Proof::Passed);
            true
        }
        Plan::Parked(halts) => {
            for halt in halts {
                *sketch = sketch.clone().said(halt.key.as_str(), |park| {
                    park.answer = Some("go on".to_owned());
                    park.approved = Some(true);
                });
            }
            true
        }
        Plan::Idle(Idle::FailedProof { gated_by, .. }) => {
            let phase = gated_by.split(' ').next().expect("a split has a first part").to_owned();
            *sketch = sketch.clone().invalidated(&phase);
            true
        }
        Plan::Idle(Idle::Done | Idle::OverBudget(_) | Idle::NothingReady) => false,
    }
}

fn finished(sketch: Sketch, step: &Step) -> Sketch {
    let key = step.key.as_str();
    match &step.work {
        Work::Change { transition: Transition::Propose, .. } => sketch.plan(key, 0, 2),
        Work::Change { transition: Transition::Apply, .. } => sketch.plan(key, 2, 2),
        Work::Change { transition: Transition::Verify, .. } => sketch.plan(key, 2, 2).verified(key),
        Work::PullRequest { .. } => sketch.opened(key),
        Work::Decompose { .. } => {
            let mut sketch = sketch;
            let filled = crate::sketch::phase(key, &[&format!("{key}-new")]);
            let phases = &mut sketch.0.manifest.phases;
            let phase = phases.iter_mut().find(|phase| phase.name == filled.name);
            phase.expect("the phase is declared").changes = filled.changes;
            sketch
        }
    }
}

proptest! {
    #[test]
    fn a_picked_change_is_never_parked_gated_done_or_waiting(sketch in batch()) {
        let status = status::derive(&sketch.0).unwrap();
        if let Plan::Spawn(step) = decide_by(&sketch.0, &status) {
            prop_assert!(sketch.0.unresolved_park(&step.key).is_none());
            let phase = status.phases.iter().find(|phase| phase.name == step.phase.name).unwrap();
            prop_assert_eq!(&phase.gated_by, &None);
            if let Some(name) = step.change() {
                let change = phase.changes.iter().find(|change| change.name == *name).unwrap();
                prop_assert!(change.status.is_workable());
                prop_assert_ne!(change.base, ChangeState::Done);
                prop_assert_eq!(&change.blocked_by, &Vec::<ChangeName>::new());
            }
        }
    }

    #[test]
    fn status_and_plan_name_the_same_step(sketch in batch()) {
        let status = status::derive(&sketch.0).unwrap();
        let plan = decide_by(&sketch.0, &status);
        match (&status.next, &plan) {
            (Some(Next::Change { change, .. }), Plan::Spawn(step)) => {
                prop_assert_eq!(step.change(), Some(change));
            }
            (Some(Next::Decompose { phase }), Plan::Spawn(step)) => {
                prop_assert_eq!(step.kind(), StepKind::Decompose);
                prop_assert_eq!(&step.phase.name, phase);
            }
            (Some(Next::Proof { phase }), Plan::Prove(proving)) => {
                prop_assert_eq!(&proving.phase, phase);
            }
            // The proof of the phase in front comes first.
            (Some(Next::Change { phase, .. } | Next::Decompose { phase }), Plan::Prove(proving)) => {
                let phases = &sketch.0.manifest.phases;
                let at = phases.iter().position(|p| p.name == *phase).unwrap();
                prop_assert_eq!(&proving.phase, &phases[at - 1].name);
            }
            // Pull requests come after the end, where status names nothing.
            (None, Plan::Spawn(step)) => prop_assert_eq!(step.kind(), StepKind::Pr),
            (None, Plan::Parked(_) | Plan::Idle(_)) => {}
            (next, plan) => prop_assert!(false, "{next:?} and {plan:?}"),
        }
    }

    #[test]
    fn every_history_ends_in_done(sketch in batch()) {
        let mut sketch = sketch;
        // At most three transitions, a park and a pull request for each of 20 changes, and a few things for each phase.
        let mut left = 200;
        while succeed(&mut sketch) {
            left -= 1;
            prop_assert!(left > 0, "it goes in circles: {:?}", decide(&sketch.0));
        }
        let expected =
            if sketch.0.manifest.phases.is_empty() { Idle::NothingReady } else { Idle::Done };
        prop_assert_eq!(decide(&sketch.0).unwrap(), Plan::Idle(expected));
    }

    #[test]
    fn the_same_facts_always_give_the_same_plan(sketch in batch()) {
        prop_assert_eq!(decide(&sketch.0).unwrap(), decide(&sketch.clone().0).unwrap());
    }
}

#[test]
fn ten_thousand_changes_are_decided_at_once() {
    let names: Vec<String> = (0..10_000).map(|i| format!("c{i}")).collect();
    let chained: Vec<String> = (0..10_000)
        .map(|i| if i == 0 { "c0".to_owned() } else { format!("c{i} < c{}", i - 1) })
        .collect();
    let changes: Vec<&str> = chained.iter().map(String::as_str).collect();
    let mut sketch = Sketch::new(&[("p1", &changes)]);
    for name in &names[..9_999] {
        sketch = sketch.done(&[name]);
    }
    let Plan::Spawn(step) = decide(&sketch.0).unwrap() else { panic!("no step") };
    assert_eq!(step.key.as_str(), "c9999");
}
