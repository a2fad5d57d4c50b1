//! What a journal amounts to, whole or in parts.

use proptest::prelude::*;

use super::*;

const VERIFIED: &str =
    r#"{"change":"dock-sign","kind":"completion","message":"?","transition":"verify"}"#;
const MARKER: &str =
    r#"{"change":"proof-of-work:p1","kind":"proof-of-work-invalidated","message":"?"}"#;

/// A proof entry; `passed` is `true` or `false`.
fn proof(phase: &str, passed: &str) -> String {
    format!(
        r#"{{"change":"proof-of-work:{phase}","kind":"proof-of-work","message":"?","proof":{{"phase":"{phase}","passed":{passed},"gatePassed":{passed},"policy":"hard-gate","reason":"nonzero-exit","detail":"?"}}}}"#
    )
}

fn view(lines: &[&str]) -> JournalView {
    let mut view = JournalView::default();
    view.apply_lines(lines.join("\n").as_bytes());
    view
}

#[test]
fn only_a_completion_with_a_transition_verifies() {
    let key = StepKey::from_text("dock-sign");
    assert!(view(&[VERIFIED]).verified.contains(&key));
    let without = r#"{"change":"dock-sign","kind":"completion","message":"transition verify"}"#;
    let blocker = r#"{"change":"dock-sign","kind":"blocker","message":"?","transition":"verify"}"#;
    let nobody = r#"{"kind":"completion","message":"?","transition":"verify"}"#;
    assert_eq!(view(&[without, blocker, nobody]), JournalView::default());
    assert!(view(&[VERIFIED, blocker]).verified.contains(&key));
}

#[test]
fn opened_pull_requests_are_kept_by_key() {
    let view =
        view(&[r#"{"change":"pr:shop:p1","kind":"completion","message":"?","transition":"pr"}"#]);
    assert_eq!(view.opened_pull_requests, [StepKey::from_text("pr:shop:p1")].into());
    assert!(view.verified.is_empty());
}

// B-M22 B-M23 B-M25
#[test]
fn of_two_proofs_of_a_phase_the_later_counts() {
    let view = view(&[&proof("p1", "false"), &proof("p2", "true"), &proof("p1", "true"), VERIFIED]);
    assert!(view.proofs["p1"].passed && view.proofs["p2"].passed);
    assert!(!view.proofs.contains_key("p3"));
    let without = r#"{"change":"proof-of-work:p1","kind":"proof-of-work","message":"?"}"#;
    assert_eq!(super::tests::view(&[without]), JournalView::default());
}

// B-M21 B-M26
#[test]
fn a_marker_takes_back_its_own_phase_until_the_next_record() {
    let (failed, passed, other) = (proof("p1", "false"), proof("p1", "true"), proof("p2", "false"));
    let taken_back = view(&[&failed, &other, MARKER]);
    assert_eq!(taken_back.proofs.keys().collect::<Vec<_>>(), ["p2"]);
    assert!(view(&[&failed, &other, MARKER, &passed]).proofs["p1"].passed);
    let of_a_change = r#"{"change":"p1","kind":"proof-of-work-invalidated","message":"?"}"#;
    assert!(view(&[&failed, of_a_change]).proofs.contains_key("p1"));
}

// B-M24
#[test]
fn a_decomposition_of_a_phase_is_no_proof_of_it() {
    let entry = r#"{"change":"p1","kind":"completion","message":"?","transition":"decompose"}"#;
    assert_eq!(view(&[entry]), JournalView::default());
}

// B-G05 B-G06 B-G07
#[test]
fn broken_lines_do_not_disturb_their_neighbours() {
    let expected = view(&[VERIFIED]);
    assert_eq!(
        view(&["\0transition junk", VERIFIED, r#"{"at":"2031-05-04T01:00","transition":"ver"#]),
        expected
    );
    assert_eq!(view(&["null", "", "  ", VERIFIED, "\r"]), expected);
    assert_eq!(view(&[]), JournalView::default());
}

#[test]
fn an_escape_hides_no_entry() {
    let hidden =
        r#"{"change":"dock-sign","\u006bind":"com\u0070letion","tr\u0061nsition":"\u0076erify"}"#;
    assert_eq!(view(&[hidden]), view(&[VERIFIED]));
}

fn any_line() -> impl Strategy<Value = String> {
    let key =
        prop::sample::select(vec!["a", "b", "proof-of-work:p1", "proof-of-work:p2", "pr:shop", ""]);
    let kind = prop::sample::select(&EntryKind::ALL[..]);
    let transition =
        prop::sample::select(&["propose", "apply", "verify", "pr", "decompose", "later"][..]);
    let entry = (key, kind, transition).prop_map(|(key, kind, transition)| {
        format!(
            r#"{{"change":"{key}","kind":"{}","message":"m","transition":"{transition}"}}"#,
            kind.as_str()
        )
    });
    let record = (1..3u8, any::<bool>())
        .prop_map(|(phase, passed)| proof(&format!("p{phase}"), &passed.to_string()));
    prop_oneof![4 => entry, 2 => record, 1 => Just(MARKER.to_owned()), 1 => "[ -~]{0,20}"]
}

proptest! {
    #[test]
    fn a_prefix_and_then_the_rest_equals_the_whole(lines in prop::collection::vec(any_line(), 0..20), cut in 0..20usize) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (head, tail) = lines.split_at(cut.min(lines.len()));
        let mut in_parts = view(head);
        in_parts.apply_lines(tail.join("\n").as_bytes());
        prop_assert_eq!(in_parts, view(&lines));
    }

    #[test]
    fn skipping_lines_unparsed_changes_nothing(lines in prop::collection::vec(any_line(), 0..20)) {
        let parsed = JournalView::fold(lines.iter().filter_map(|line| parse_line(line.as_bytes())));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        prop_assert_eq!(parsed, view(&lines));
    }

    #[test]
    fn a_marker_takes_back_nothing_but_its_phase(lines in prop::collection::vec(any_line(), 0..20)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut before = view(&lines);
        let after = view(&[&lines[..], &[MARKER]].concat());
        before.proofs.remove("p1");
        prop_assert_eq!(before, after);
    }
}
