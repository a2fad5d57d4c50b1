//! Which changes can start, and which orders are refused.

use proptest::prelude::*;

use super::*;
use crate::manifest::{ProofKind, ProofOfWork};
use crate::name::PhaseName;

/// Builds a phase from `name: after after` lines.
fn phase(lines: &[(&str, &[&str])]) -> Phase {
    let name = |text: &str| ChangeName::parse(text).unwrap();
    Phase {
        name: PhaseName::parse("p1").unwrap(),
        goal: "g".to_owned(),
        success: "s".to_owned(),
        proof: ProofOfWork {
            kind: ProofKind::Blackbox,
            run: "true".to_owned(),
            pass: "exit 0".to_owned(),
        },
        changes: lines
            .iter()
            .map(|(change, after)| ChangeIntent {
                name: name(change),
                after: after.iter().map(|text| name(text)).collect(),
                done: "d".to_owned(),
                place: None,
            })
            .collect(),
    }
}

fn texts(phase: &Phase) -> Vec<String> {
    check(phase).iter().map(ToString::to_string).collect()
}

fn done(names: &[&str]) -> Vec<ChangeName> {
    names.iter().map(|text| ChangeName::parse(text).unwrap()).collect()
}

fn ready_texts(phase: &Phase, finished: &[&str]) -> Vec<String> {
    let finished = done(finished);
    ready(phase, &finished.iter().collect()).into_iter().map(ToString::to_string).collect()
}

// B-B01
#[test]
fn in_a_chain_only_the_head_is_ready() {
    let chain = phase(&[("c", &["b"]), ("b", &["a"]), ("a", &[])]);
    assert_eq!(ready_texts(&chain, &[]), ["a"]);
    let order: Vec<&str> = order(&chain).unwrap().into_iter().map(ChangeName::as_str).collect();
    assert_eq!(order, ["a", "b", "c"]);
}

// B-B02
#[test]
fn without_edges_everything_is_ready_in_the_order_of_the_alphabet() {
    assert_eq!(ready_texts(&phase(&[("b", &[]), ("a", &[])]), &[]), ["a", "b"]);
}

// B-B03
#[test]
fn a_dependent_gets_ready_when_its_dependencies_are_done() {
    let diamond = phase(&[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["c", "b", "c"])]);
    assert_eq!(ready_texts(&diamond, &["a"]), ["b", "c"]);
    let finished = done(&["a", "b"]);
    let finished = finished.iter().collect();
    let waits = blocked(&diamond, &finished);
    assert_eq!(waits.len(), 1);
    assert_eq!(unmet(&diamond.changes[3], &finished), [&diamond.changes[2].name]);
    assert_eq!(ready_texts(&diamond, &["a", "b", "c"]), ["d"]);
}

// B-B04
#[test]
fn a_new_change_without_edges_disturbs_nobody() {
    assert_eq!(ready_texts(&phase(&[("a", &[]), ("b", &["a"]), ("x", &[])]), &[]), ["a", "x"]);
}

// B-B05 B-A30
#[test]
fn a_cycle_is_refused_with_everybody_it_holds() {
    let ring = phase(&[("y", &["x"]), ("x", &["y"]), ("free", &[]), ("behind", &["y"])]);
    assert_eq!(texts(&ring), ["Cycle detected in after edges involving: behind, x, y"]);
    assert_eq!(texts(&phase(&[("x", &["x"])])), ["Cycle detected in after edges involving: x"]);
    assert!(order(&ring).is_err());
}

// B-B06 B-A31
#[test]
fn an_edge_to_nowhere_is_refused_with_both_ends() {
    let [text] = &texts(&phase(&[("a", &["ghost"])]))[..] else { panic!("one error") };
    assert!(
        text.contains("'a'") && text.contains("'ghost'") && text.contains("unknown reference"),
        "{text}"
    );
}

// B-B07
#[test]
fn two_changes_of_one_name_are_refused_once() {
    assert_eq!(
        texts(&phase(&[("a", &[]), ("a", &[]), ("a", &[])])),
        ["Duplicate change intent: 'a'"]
    );
}

proptest! {
    #[test]
    fn an_order_puts_every_change_behind_what_it_waits_for(edges in prop::collection::vec((0usize..12, 0usize..12), 0..30)) {
        let names: Vec<String> = (0..12).map(|index| format!("c{index:02}")).collect();
        let after = |of: usize| -> Vec<&str> {
            edges.iter().filter(|(from, to)| *from == of && to < from).map(|(_, to)| names[*to].as_str()).collect()
        };
        let afters: Vec<Vec<&str>> = (0..12).map(after).collect();
        let lines: Vec<(&str, &[&str])> =
            names.iter().zip(&afters).map(|(name, after)| (name.as_str(), after.as_slice())).collect();
        let phase = phase(&lines);
        let order = order(&phase).unwrap();
        prop_assert_eq!(order.len(), 12);
        for change in &phase.changes {
            let place = |name: &ChangeName| order.iter().position(|other| *other == name);
            for target in &change.after {
                prop_assert!(place(target) < place(&change.name));
            }
        }
    }
}

#[test]
fn what_is_wrong_is_told_with_its_phase_and_its_place() {
    let manifest = crate::manifest::parse(
        "name: shop\nphases:\n- name: p1\n  goal: g\n  success: s\n  proofOfWork: {kind: blackbox, run: x, pass: exit 0}\n  changes:\n  - {name: api, after: [nowhere], done: d}\n  - {name: web, after: [web], done: d}\n  - {name: api, done: d}\n",
    )
    .unwrap();
    let told: Vec<String> =
        misordered(&manifest.phases[0]).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    phase 'p1': Duplicate change intent: 'api' (line 10, column 5)
    phase 'p1': Change 'api' has an after edge to 'nowhere', which is no change of its phase (unknown reference) (line 8, column 5)
    phase 'p1': Cycle detected in after edges involving: web (line 9, column 5)
    ");
}
