//! Boundaries, stacks, keys and branches.

use super::*;
use crate::sketch::Sketch;

const SHOP: &[(&str, &[&str])] = &[("p1", &["api", "auth"]), ("empty", &[]), ("p2", &["web"])];

fn cut(phases: &[(&str, &[&str])], grouping: PrGrouping) -> Vec<Boundary> {
    let sketch = Sketch::new(phases);
    boundaries(&sketch.0.manifest, &sketch.0.batch, grouping)
}

fn said(boundaries: &[Boundary]) -> Vec<String> {
    boundaries
        .iter()
        .map(|b| format!("{} {} {} {}", b.index, b.group_id, b.changes.len(), b.trigger()))
        .collect()
}

// B-U01
#[test]
fn nothing_is_cut_when_off_or_without_changes() {
    assert_eq!(cut(SHOP, PrGrouping::Off), []);
    for grouping in [PrGrouping::WholeBatch, PrGrouping::PerPhase, PrGrouping::PerChange] {
        assert_eq!(cut(&[("empty", &[])], grouping), []);
    }
}

// B-U02
#[test]
fn the_whole_batch_is_one_boundary() {
    assert_eq!(said(&cut(SHOP, PrGrouping::WholeBatch)), ["0 shop 3 web"]);
}

// B-U03
#[test]
fn each_filled_phase_is_a_boundary_and_an_empty_one_leaves_no_gap() {
    assert_eq!(said(&cut(SHOP, PrGrouping::PerPhase)), ["0 p1 2 auth", "1 p2 1 web"]);
}

// B-U04
#[test]
fn each_change_is_a_boundary() {
    let expected = ["0 api 1 api", "1 auth 1 auth", "2 web 1 web"];
    assert_eq!(said(&cut(SHOP, PrGrouping::PerChange)), expected);
}

fn branches(grouping: PrGrouping) -> Vec<(String, String)> {
    let boundaries = cut(SHOP, grouping);
    boundaries
        .iter()
        .map(|boundary| {
            let group = group(&boundaries, boundary);
            let of = Branches::of(group.as_ref(), Some("feature/x\n"), Some("origin/trunk\n"));
            (of.work, of.base)
        })
        .collect()
}

fn pair(work: &str, base: &str) -> (String, String) {
    (work.to_owned(), base.to_owned())
}

// B-U05 B-U15
#[test]
fn each_group_is_based_on_the_one_before() {
    let stacked = [pair("api", "trunk"), pair("auth", "api"), pair("web", "auth")];
    assert_eq!(branches(PrGrouping::PerChange), stacked);
    assert_eq!(branches(PrGrouping::WholeBatch), [pair("feature/x", "trunk")]);
    assert_eq!(branches(PrGrouping::Off), []);
}

#[test]
fn without_a_word_from_git_the_branch_is_main() {
    let of = Branches::of(None, None, None);
    assert_eq!((of.work.as_str(), of.base.as_str()), ("main", "main"));
}

// B-U06
#[test]
fn a_group_has_a_key_of_its_own() {
    let batch = BatchName::parse("shop").unwrap();
    let keys = |grouping| -> Vec<String> {
        cut(SHOP, grouping).iter().map(|b| b.key(&batch).to_string()).collect()
    };
    assert_eq!(keys(PrGrouping::WholeBatch), ["pr:shop"]);
    assert_eq!(keys(PrGrouping::PerPhase), ["pr:shop:p1", "pr:shop:p2"]);
}

// B-U08 B-U16
#[test]
fn opening_one_group_leaves_the_others_open() {
    let batch = BatchName::parse("shop").unwrap();
    let boundaries = cut(SHOP, PrGrouping::PerPhase);
    let opened = BTreeSet::from([StepKey::from_text("pr:shop:p1")]);
    let next = first_unopened(&boundaries, &batch, &opened).unwrap();
    assert_eq!(next.group_id, "p2");
    let other = BTreeSet::from([StepKey::from_text("pr:shop:p")]);
    assert_eq!(first_unopened(&boundaries, &batch, &other).unwrap().group_id, "p1");
}

// B-U07 B-U13
#[test]
fn only_the_engines_own_completion_marks_a_request_as_opened() {
    let line = |kind: &str, transition: &str| {
        let head = r#"{"at":"2026-07-02T09:00:00.000Z","change":"pr:shop","message":"m","kind":"#;
        format!("{head}\"{kind}\"{transition}}}\n")
    };
    let opened = |text: String| {
        let mut journal = crate::fold::JournalView::default();
        journal.apply_lines(text.as_bytes());
        journal.opened_pull_requests.len()
    };
    assert_eq!(opened(line("completion", "")), 0);
    assert_eq!(opened(line("blocker", r#","transition":"pr""#)), 0);
    assert_eq!(opened(line("completion", r#","transition":"pr""#)), 1);
}
