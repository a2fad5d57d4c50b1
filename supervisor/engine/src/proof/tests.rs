//! Pass conditions, searching in pieces, and records.

use super::matcher::{HARD_WINDOW, PLAIN_WINDOW};
use super::*;
use crate::sketch::judged_proof as judge;

const GOOD: SessionEnd = SessionEnd::Exited(0);

fn kind(pass: &str) -> ConditionKind {
    classify(pass).expect("the condition can be read").kind()
}

fn passes(pass: &str, stdout: &str) -> bool {
    judge(pass, &GOOD, stdout.as_bytes()).reason == ProofReason::PassConditionMet
}

// B-M06 B-M04
#[test]
fn the_exit_zero_directive_is_recognised_in_all_its_spellings() {
    let spellings = [
        "",
        "   ",
        "exit 0",
        "exit-zero",
        "exit code 0",
        "exit0",
        "exitcode0",
        "exit-code-zero",
        "Exit 0, then look",
        "EXIT CODE 0 — all tests pass",
        "exit-zero: suite green",
        "exit zero-ish",
        "  exit 0  ",
    ];
    for pass in spellings {
        assert_eq!(kind(pass), ConditionKind::ExitZero, "{pass:?}");
    }
}

// B-M07
#[test]
fn what_only_looks_like_the_directive_is_a_text() {
    let texts = [
        "exit code 0_done",
        "exit 00",
        "exit 01",
        "exit 0x",
        "exit  0",
        "exits 0",
        "0",
        "exit",
        "exit code",
        "exit 1",
        "Contains:x",
        "REGEX:x",
    ];
    for pass in texts {
        assert_eq!(kind(pass), ConditionKind::Substring, "{pass:?}");
    }
}

// B-M01 B-M05 B-M04
#[test]
fn exit_zero_asks_for_nothing_else() {
    assert!(passes("exit code 0 — new tests pass", ""));
    let failed = judge("exit code 0 — new tests pass", &SessionEnd::Exited(4), b"new tests pass");
    assert_eq!(failed.reason, ProofReason::NonzeroExit);
    assert_eq!(failed.detail, "Proof-of-work failed: command exited 4");
}

// B-M02 B-M11
#[test]
fn contains_takes_its_text_as_it_stands() {
    assert_eq!(classify("contains: foo "), Ok(Condition::Contains(" foo".to_owned())));
    assert!(passes("contains: foo", "a foo"));
    assert!(!passes("contains: foo", "foo"));
}

// B-M03
#[test]
fn a_pattern_is_found_anywhere_and_its_anchors_mean_the_ends() {
    assert!(passes("regex:w.ven", "bands woven\n"));
    assert!(passes("regex:^bands", "bands woven\n"));
    assert!(!passes("regex:^woven", "bands\nwoven\n"));
    assert!(!passes("regex:woven$", "bands woven\n"));
    assert!(!passes("regex:a.b", "a\nb"));
}

#[test]
fn a_pattern_may_look_around_and_back() {
    assert!(passes("regex:foo(?=bar)", "foobar"));
    assert!(!passes("regex:foo(?=bar)", "foobaz"));
    assert!(passes(r"regex:(\w+) \1", "tests tests"));
}

// B-M08
#[test]
fn a_plain_text_needs_exit_zero_and_must_be_in_the_output() {
    assert!(passes("bands woven", "3 bands woven today"));
    assert!(!passes("bands woven", "3 bands"));
    let failed = judge("bands woven", &SessionEnd::Exited(1), b"bands woven");
    assert_eq!(failed.reason, ProofReason::NonzeroExit);
}

// B-M09
#[test]
fn a_condition_that_cannot_be_read_never_passes_and_never_throws() {
    assert!(matches!(classify("regex:("), Err(ConditionError::InvalidRegex { .. })));
    assert_eq!(classify("regex:"), Err(ConditionError::EmptyRegex));
    assert_eq!(classify("contains:  "), Err(ConditionError::EmptyContains));
    let finding = judge("regex:(", &GOOD, b"(");
    assert_eq!(finding.reason, ProofReason::PassConditionUnmet);
    assert_eq!(finding.detail, "Proof-of-work failed: pass condition not satisfied by output");
}

#[test]
fn a_text_is_found_across_pieces_of_any_size() {
    let stdout = b"one two three the-end four";
    for size in 1..stdout.len() {
        let mut matcher = Matcher::new("contains:the-end");
        stdout.chunks(size).for_each(|piece| matcher.feed(piece));
        assert_eq!(matcher.finish(&GOOD).reason, ProofReason::PassConditionMet, "{size}");
        let mut matcher = Matcher::new("contains:the-enD");
        stdout.chunks(size).for_each(|piece| matcher.feed(piece));
        assert_eq!(matcher.finish(&GOOD).reason, ProofReason::PassConditionUnmet, "{size}");
    }
}

#[test]
fn a_text_is_found_among_bytes_that_are_no_text() {
    let finding = judge("contains:größe", &GOOD, b"\xff\xfe gr\xc3\xb6\xc3\x9fe \xff");
    assert_eq!(finding.reason, ProofReason::PassConditionMet);
    let lossy = judge("regex:ok", &GOOD, b"\xff ok");
    assert_eq!(lossy.reason, ProofReason::PassConditionMet);
}

#[test]
fn a_pattern_sees_the_end_of_a_long_output_and_says_so() {
    let mut long = vec![b'x'; PLAIN_WINDOW + 10];
    long[..5].copy_from_slice(b"start");
    long.extend_from_slice(b"finish");
    assert_eq!(judge("regex:finish$", &GOOD, &long).reason, ProofReason::PassConditionMet);
    let missed = judge("regex:start", &GOOD, &long);
    assert_eq!(
        missed.detail,
        "Proof-of-work failed: pass condition not satisfied by output (only its last 16384 KiB were \
         searched)"
    );
    assert_eq!(judge("regex:^x", &GOOD, &long).reason, ProofReason::PassConditionUnmet);
}

#[test]
fn the_window_is_the_same_however_the_output_arrives() {
    let long: Vec<u8> = (0..3 * HARD_WINDOW).map(|i| b'a' + (i % 26) as u8).collect();
    let whole = judge("regex:(?=q)q(r)s$|xyz(?=abc)", &GOOD, &long);
    let mut matcher = Matcher::new("regex:(?=q)q(r)s$|xyz(?=abc)");
    long.chunks(7919).for_each(|piece| matcher.feed(piece));
    assert_eq!(matcher.finish(&GOOD), whole);
}

#[test]
fn a_pattern_that_explodes_is_an_error_not_a_hang() {
    let stdout = format!("{}b", "a".repeat(40));
    let finding = judge(r"regex:^(a|a)*\1c$", &GOOD, stdout.as_bytes());
    assert_eq!(finding.reason, ProofReason::Error);
    assert!(finding.detail.starts_with("Proof-of-work failed: the pattern could not"));
}

// B-M12
#[test]
fn the_gate_follows_the_verdict_or_the_policy() {
    let phase = PhaseName::parse("p1").unwrap();
    let failed = || judge("exit 0", &SessionEnd::Exited(4), b"");
    assert!(!failed().record(&phase, ProofPolicy::HardGate).gate_passed);
    let warned = failed().record(&phase, ProofPolicy::Warn);
    assert!(warned.gate_passed && !warned.passed);
    let passed = judge("exit 0", &GOOD, b"").record(&phase, ProofPolicy::HardGate);
    assert!(passed.gate_passed && passed.passed);
}

// B-M19 B-M38
#[test]
fn a_record_has_its_members_in_order_and_reads_back() {
    let phase = PhaseName::parse("p1").unwrap();
    let record = judge("contains:ok", &GOOD, b"ok").record(&phase, ProofPolicy::HardGate);
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(
        text,
        r#"{"phase":"p1","passed":true,"gatePassed":true,"policy":"hard-gate","reason":"pass-condition-met","detail":"Proof-of-work passed (contains:ok).","conditionKind":"contains","matchedExcerpt":"ok"}"#
    );
    assert_eq!(serde_json::from_str::<ProofRecord>(&text).unwrap(), record);
    let older = r#"{"phase":"p1","passed":true,"gatePassed":true,"policy":"warn","reason":"judge-pass","detail":"x"}"#;
    assert!(serde_json::from_str::<ProofRecord>(older).is_ok());
}

// B-M38
#[test]
fn an_excerpt_is_what_matched_and_is_bounded() {
    assert_eq!(judge(r"regex:\d+ passed", &GOOD, b"12 passed").excerpt.unwrap(), "12 passed");
    let long = judge("regex:ü+", &GOOD, "ü".repeat(500).as_bytes()).excerpt.unwrap();
    assert_eq!(long.chars().count(), 200);
    assert_eq!(judge("exit 0", &GOOD, b"").excerpt, None);
    assert_eq!(judge("contains:x", &GOOD, b"").excerpt, None);
}

// B-M28
#[test]
fn every_way_to_end_badly_fails_and_says_how() {
    let limit = "wall".to_owned();
    let ends = [
        (SessionEnd::Signaled("SIGKILL".to_owned()), ProofReason::NonzeroExit, "SIGKILL"),
        (SessionEnd::TimedOut { limit, after_ms: 50 }, ProofReason::Error, "50ms (wall limit)"),
        (SessionEnd::Stopped { by: "a user".to_owned() }, ProofReason::Error, "a user"),
        (SessionEnd::Lingered, ProofReason::Error, "before it exited"),
        (SessionEnd::OutOfMemory, ProofReason::Error, "memory"),
        (SessionEnd::OutputLimit { bytes: 9 }, ProofReason::Error, "9 bytes"),
        (
            SessionEnd::NotStarted { error: "no bash".to_owned(), code: 127 },
            ProofReason::Error,
            "no bash",
        ),
        (SessionEnd::Lost { reason: "reboot".to_owned() }, ProofReason::Error, "reboot"),
    ];
    for (end, reason, word) in ends {
        let finding = judge("contains:ok", &end, b"ok");
        assert_eq!(finding.reason, reason, "{end:?}");
        assert!(finding.detail.contains(word), "{}", finding.detail);
        assert!(finding.detail.contains("fail"), "{}", finding.detail);
    }
}

#[test]
fn the_text_of_a_pass_quotes_the_condition_as_it_was_written() {
    assert_eq!(judge("  exit 0  ", &GOOD, b"").detail, "Proof-of-work passed (  exit 0  ).");
}
