//! What counts as a task, and what counts as done.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn counts(text: &str, total: u64, ticked: u64) {
    assert_eq!(count_tasks(text), (total, ticked), "{text:?}");
}

#[test]
fn a_box_in_any_list_item_is_a_task() {
    counts("- [ ] a\n- [x] b\n- [X] c\n", 3, 2);
    counts("* [x] a\n+ [ ] b\n1. [x] c\n12) [ ] d", 4, 2);
    counts("- [x]\n- [ ]\n", 2, 1);
    counts("-\t[x] tab\n-   [ ] blanks\n", 2, 1);
    counts("- [x] row\n  - [ ] inner\n\t- [x] tab\n        - [ ] deep\n", 4, 2);
    counts("- [ ] early\n# Plan\n\n## Tasks\n- [x] row\n\n## Later\n- [ ] late\n", 3, 1);
}

#[test]
fn another_single_mark_is_a_task_that_is_not_done() {
    counts("- [-] a\n- [~] b\n- [✓] c\n- [?]\n- [x] d\n", 5, 1);
    counts("- [\t] a\n", 1, 0);
}

#[test]
fn what_only_looks_like_a_box_is_no_task() {
    counts("-[x] no blank\n[x] no bullet\n- [] empty\n- [xx] two\n- text [x]\n", 0, 0);
    counts("- [a](https://example.test) link\n- [1]: note\n- [[x]] link\n", 0, 0);
    counts("1234567890. [x] too long a number\n1- [x]\n. [x]\n", 0, 0);
    counts("", 0, 0);
}

#[test]
fn every_kind_of_line_end_ends_a_line() {
    counts("- [x] a\r\n- [ ] b\r\n", 2, 1);
    counts("# Plan\r\r- [x] a\r- [ ] b\r", 2, 1);
    counts("\u{feff}- [ ] a\n- [x] b", 2, 1);
}

#[test]
fn a_task_in_fenced_code_is_an_example() {
    counts("- [x] a\n```\n- [ ] example\n```\n- [ ] b\n", 2, 1);
    counts("~~~md\n- [ ] one\n```\n- [ ] two\n~~~\n- [x] a\n", 1, 1);
    counts("````\n```\n- [ ] example\n````\n- [x] a\n", 1, 1);
    counts("- [x] a\n  ```sh\n  - [ ] example\n  ```\n- [x] b\n", 2, 2);
    counts("```not a fence```\n- [ ] a\n", 1, 0);
}

#[test]
fn a_fence_that_is_never_closed_hides_no_open_task() {
    counts("- [x] a\n```\n- [ ] b\n", 2, 1);
    counts("- [x] a\n```\n- [ ] b\n```rust\n- [x] c\n", 3, 2);
}

proptest! {
    #[test]
    fn there_are_never_more_ticks_than_tasks(text in "([-*`~\\[\\]x 1.\r\n]|- \\[x\\] |```\n){0,60}") {
        let (total, ticked) = count_tasks(&text);
        prop_assert!(ticked <= total);
    }
}

fn applied() -> ChangeFacts {
    ChangeFacts { exists: true, archived: false, has_plan: true, tasks_total: 2, tasks_complete: 2 }
}

fn park(kind: ParkKind, transition: Option<StepKind>, approved: Option<bool>) -> Park {
    Park {
        parked_at: "2031-05-04T09:00:00.000Z".to_owned(),
        key: StepKey::from_text("read-probe"),
        kind,
        reason: "?".to_owned(),
        answer: None,
        feedback: None,
        approved,
        transition,
        cause: None,
        retry_at: None,
        retry: false,
    }
}

#[test]
fn a_plan_is_applied_when_every_one_of_its_tasks_is_ticked() {
    assert!(applied().applied());
    assert!(!ChangeFacts { tasks_complete: 1, ..applied() }.applied());
    assert!(!ChangeFacts { tasks_total: 0, tasks_complete: 0, ..applied() }.applied());
    assert!(ChangeFacts { archived: true, ..ChangeFacts::default() }.applied());
}

// B-H04
#[test]
fn an_archived_change_is_done_whatever_else_is_missing() {
    let facts = ChangeFacts { archived: true, ..ChangeFacts::default() };
    assert!(is_done(&facts, &StepKey::from_text("read-probe"), &JournalView::default(), None));
}

#[test]
fn an_applied_change_is_done_once_its_verify_is_journaled() {
    let key = StepKey::from_text("read-probe");
    let mut journal = JournalView::default();
    assert!(!is_done(&applied(), &key, &journal, None));
    journal.verified.insert(StepKey::from_text("other"));
    assert!(!is_done(&applied(), &key, &journal, None));
    journal.verified.insert(key.clone());
    assert!(is_done(&applied(), &key, &journal, None));
    assert!(!is_done(&ChangeFacts { tasks_complete: 1, ..applied() }, &key, &journal, None));
}

// B-H09
#[test]
fn only_an_open_approval_of_its_verify_keeps_a_verified_change_from_being_done() {
    let key = StepKey::from_text("read-probe");
    let journal = JournalView { verified: [key.clone()].into(), ..JournalView::default() };
    let done = |park| is_done(&applied(), &key, &journal, Some(&park));
    let verify = Some(StepKind::Verify);
    assert!(!done(park(ParkKind::AwaitingApproval, verify, None)));
    assert!(!done(park(ParkKind::AwaitingApproval, verify, Some(false))));
    assert!(done(park(ParkKind::AwaitingApproval, verify, Some(true))));
    assert!(done(park(ParkKind::AwaitingApproval, Some(StepKind::Apply), None)));
    assert!(done(park(ParkKind::AwaitingApproval, None, None)));
    assert!(done(park(ParkKind::Blocked, verify, None)));
}
