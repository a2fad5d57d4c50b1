//! Recorded shapes in, text out; and that it never matters where the bytes are cut.

use std::fs;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use proptest::prelude::*;
use ratchet_engine::outcome::Cause;
use ratchet_engine::time::Timestamp;
use ratchet_engine::usage::Completeness;

use super::*;
use crate::agent::render::render;

const TRANSCRIPTS: [(&str, StreamFormat); 16] = [
    ("claude-step", StreamFormat::Claude),
    ("claude-broken", StreamFormat::Claude),
    ("claude-api-failure", StreamFormat::Claude),
    ("claude-usage", StreamFormat::Claude),
    ("claude-limit", StreamFormat::Claude),
    ("codex-usage", StreamFormat::Codex),
    ("codex-limit", StreamFormat::Codex),
    ("gemini-limit", StreamFormat::Gemini),
    ("opencode-limit", StreamFormat::Opencode),
    ("codex-step", StreamFormat::Codex),
    ("codex-failed", StreamFormat::Codex),
    ("gemini-step", StreamFormat::Gemini),
    ("gemini-failed", StreamFormat::Gemini),
    ("cursor-step", StreamFormat::Cursor),
    ("opencode-step", StreamFormat::Opencode),
    ("opencode-failed", StreamFormat::Opencode),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/transcripts")
}

fn transcript(name: &str) -> Vec<u8> {
    fs::read(folder().join(format!("{name}.jsonl"))).unwrap()
}

/// An event that owns what it holds.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Event(AgentEvent<'static>),
    Raw(Vec<u8>, bool),
}

fn own(event: AgentEvent<'_>) -> Seen {
    match event {
        AgentEvent::Raw { bytes, ends_line } => Seen::Raw(bytes.to_vec(), ends_line),
        AgentEvent::Started { session, model } => {
            Seen::Event(AgentEvent::Started { session, model })
        }
        AgentEvent::Text(text) => Seen::Event(AgentEvent::Text(text)),
        AgentEvent::ToolCall { tool, target } => Seen::Event(AgentEvent::ToolCall { tool, target }),
        AgentEvent::ToolResult { lines, more, error } => {
            Seen::Event(AgentEvent::ToolResult { lines, more, error })
        }
        AgentEvent::Retry { attempt, delay_ms, reason } => {
            Seen::Event(AgentEvent::Retry { attempt, delay_ms, reason })
        }
        AgentEvent::Denied { tool, reason } => Seen::Event(AgentEvent::Denied { tool, reason }),
        AgentEvent::Notice(text) => Seen::Event(AgentEvent::Notice(text)),
        AgentEvent::Final(last) => Seen::Event(AgentEvent::Final(last)),
        AgentEvent::Quiet => Seen::Event(AgentEvent::Quiet),
    }
}

/// Reads chunks and gives the events, the text and the facts.
fn read<'c>(
    format: StreamFormat,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> (Vec<Seen>, Vec<u8>, StreamFacts) {
    let mut stream = AgentStream::new(format);
    let (mut seen, mut text) = (Vec::new(), Vec::new());
    let mut sink = |event: AgentEvent<'_>| {
        render(&event, &mut |piece| text.extend_from_slice(&piece.text));
        seen.push(own(event));
    };
    for chunk in chunks {
        stream.push(chunk, &mut sink);
    }
    stream.finish(&mut sink);
    (seen, text, stream.facts().clone())
}

fn shown(format: StreamFormat, text: &str) -> String {
    String::from_utf8(read(format, [text.as_bytes()]).1).unwrap()
}

fn last_word(name: &str, format: StreamFormat) -> Final {
    read(format, [transcript(name).as_slice()]).2.last_word.unwrap()
}

// B-T01 B-T02 B-T03 B-T04 B-T05 B-T06 B-T07 B-T08 B-T09 B-T10 B-T11 B-T12
#[test]
fn a_transcript_reads_as_its_golden_text() {
    for (name, format) in TRANSCRIPTS {
        let (_, text, facts) = read(format, [transcript(name).as_slice()]);
        let expected = fs::read_to_string(folder().join(format!("{name}.txt"))).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), expected, "{name}");
        assert!(facts.saw_event, "{name}");
        assert!(facts.last_word.is_some(), "{name}");
    }
}

#[test]
fn every_transcript_is_in_the_table() {
    let mut files = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(name) = name.strip_suffix(".jsonl") {
            assert!(TRANSCRIPTS.iter().any(|(known, _)| *known == name), "{name}");
            files += 1;
        }
    }
    assert_eq!(files, TRANSCRIPTS.len());
}

#[test]
fn the_reason_of_a_failure_is_told_apart() {
    let limit = Failure::Limit { resets_at: None };
    for (name, format, failure) in [
        ("claude-step", StreamFormat::Claude, None),
        ("claude-broken", StreamFormat::Claude, Some(Failure::Turns)),
        ("claude-api-failure", StreamFormat::Claude, Some(Failure::Login)),
        ("codex-step", StreamFormat::Codex, None),
        ("codex-failed", StreamFormat::Codex, Some(limit)),
        ("gemini-failed", StreamFormat::Gemini, Some(Failure::Provider)),
        ("opencode-failed", StreamFormat::Opencode, Some(Failure::Login)),
    ] {
        assert_eq!(last_word(name, format).failure, failure, "{name}");
    }
}

#[test]
fn a_usage_limit_knows_when_it_ends() {
    let text = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1800000000}}
{"type":"result","is_error":true,"subtype":"success","terminal_reason":"api_error","api_error_status":429,"result":"limit"}
"#;
    let facts = read(StreamFormat::Claude, [text.as_bytes()]).2;
    let failure = facts.last_word.unwrap().failure;
    assert_eq!(failure, Some(Failure::Limit { resets_at: Some(1_800_000_000) }));
}

#[test]
fn every_agents_limit_is_known_with_its_end() {
    let now = Timestamp::parse("2027-01-15T08:00:00.000Z").unwrap();
    for (name, format, resets) in [
        ("claude-limit", StreamFormat::Claude, "2027-01-15T09:00:00.000Z"),
        ("codex-limit", StreamFormat::Codex, "2027-01-15T15:05:00.000Z"),
        ("gemini-limit", StreamFormat::Gemini, "2027-01-15T16:44:07.000Z"),
        ("opencode-limit", StreamFormat::Opencode, "2027-01-15T08:00:11.500Z"),
    ] {
        let last = last_word(name, format);
        let words = last.text.unwrap();
        let told = last.failure.unwrap().told(&words, now, &TimeZone::UTC);
        assert_eq!(told.cause, Cause::Quota, "{name}");
        assert_eq!(told.retry_at.unwrap().to_string(), resets, "{name}");
    }
}

/// The five classes, and the price in thousandths of a cent.
fn used(format: StreamFormat, text: &[u8]) -> ([u64; 5], Option<u64>, Completeness) {
    let SpawnUsage { usage, completeness } = read(format, [text]).2.usage;
    let classes = [
        usage.input_tokens,
        usage.cached_input_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
    ];
    let cost = usage.cost_usd.map(|cost| (cost.dollars() * 1e5).round() as u64);
    (classes, cost, completeness)
}

#[test]
fn what_a_whole_run_used_is_known_by_class() {
    use Completeness::{Known, Partial, Unknown};
    for (name, format, classes, cost, completeness) in [
        ("claude-usage", StreamFormat::Claude, [528, 30_100, 2040, 85, 0], Some(4560), Known),
        ("claude-step", StreamFormat::Claude, [1200, 0, 0, 45, 0], Some(1234), Known),
        // The result of a refused request is all zeros; what came before it was used all the same.
        ("claude-limit", StreamFormat::Claude, [10, 90, 0, 4, 0], Some(200), Known),
        ("codex-usage", StreamFormat::Codex, [4000, 15_000, 1000, 250, 150], None, Known),
        ("codex-limit", StreamFormat::Codex, [0; 5], None, Unknown),
        ("gemini-limit", StreamFormat::Gemini, [400, 600, 0, 40, 50], None, Known),
        ("opencode-limit", StreamFormat::Opencode, [150, 900, 100, 30, 10], Some(500), Partial),
        ("opencode-step", StreamFormat::Opencode, [150, 0, 0, 30, 0], Some(50_000), Known),
    ] {
        assert_eq!(used(format, &transcript(name)), (classes, cost, completeness), "{name}");
    }
}

#[test]
fn a_run_that_was_killed_is_counted_as_far_as_it_told() {
    use Completeness::{Partial, Unknown};
    let cut = |name: &str, lines: usize| {
        let text = String::from_utf8(transcript(name)).unwrap();
        text.lines().take(lines).map(|line| format!("{line}\n")).collect::<String>()
    };
    for (name, format, lines, classes, cost, completeness) in [
        ("claude-usage", StreamFormat::Claude, 1, [0; 5], None, Unknown),
        ("claude-usage", StreamFormat::Claude, 5, [3, 14_000, 2000, 1, 0], None, Partial),
        ("claude-usage", StreamFormat::Claude, 7, [503, 14_100, 2000, 69, 0], None, Partial),
        ("claude-usage", StreamFormat::Claude, 10, [508, 30_100, 2040, 81, 0], None, Partial),
        ("codex-usage", StreamFormat::Codex, 3, [0; 5], None, Unknown),
        ("gemini-limit", StreamFormat::Gemini, 3, [0; 5], None, Unknown),
        ("opencode-limit", StreamFormat::Opencode, 3, [100, 900, 100, 20, 10], Some(400), Partial),
    ] {
        let used = used(format, cut(name, lines).as_bytes());
        assert_eq!(used, (classes, cost, completeness), "{name} cut after {lines} lines");
    }
}

#[test]
fn an_end_without_an_answer_is_the_network() {
    let text = r#"{"type":"result","is_error":true,"subtype":"success","terminal_reason":"api_error","api_error_status":null,"result":"Unable to connect"}"#;
    let facts = read(StreamFormat::Claude, [text.as_bytes()]).2;
    assert_eq!(facts.last_word.unwrap().failure, Some(Failure::Network));
}

#[test]
fn an_account_is_the_error_at_the_end_or_the_trouble_that_it_was_ended_in() {
    let account = |format, text: &str| read(format, [text.as_bytes()]).2.account(None);
    let retry = "{\"type\":\"error\",\"message\":\"Reconnecting... 1/5 (unexpected status 429 Too Many Requests: slow)\"}\n";
    let spoke = "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"On I go.\"}}\n";
    let done = "{\"type\":\"turn.completed\"}\n";
    let failed = "{\"type\":\"turn.failed\",\"error\":{\"message\":\"status 401: bad key\"}}\n";
    let codex = |lines: &[&str]| account(StreamFormat::Codex, &lines.concat());
    let limit = "a usage limit was reached: unexpected status 429 Too Many Requests: slow";
    assert_eq!(codex(&[retry]).as_deref(), Some(limit));
    assert_eq!(codex(&[retry, spoke]), None);
    assert_eq!(codex(&[retry, done]), None);
    let refused = "not logged in, or the key was refused: status 401: bad key";
    assert_eq!(codex(&[retry, failed]).as_deref(), Some(refused));
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#;
    let told = account(StreamFormat::Claude, turns);
    assert_eq!(told.as_deref(), Some("the agent's limit of turns was reached"));
    let silent = StreamFacts::default();
    assert_eq!(silent.account(None), None);
    let code = "not logged in, or the key was refused";
    assert_eq!(silent.account(Some(Failure::Login)).as_deref(), Some(code));
}

#[test]
fn pieces_that_no_whole_message_repeats_are_shown_all_the_same() {
    let piece = |text: &str| {
        format!(
            "{{\"type\":\"stream_event\",\"event\":{{\"type\":\"content_block_delta\",\
             \"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}}}\n"
        )
    };
    let whole = |text: &str| {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
        )
    };
    let stop = "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_stop\"}}\n";
    let say = |parts: &[&str]| shown(StreamFormat::Claude, &parts.concat());
    assert_eq!(say(&[&piece("a"), &piece("b")]), "ab\n");
    assert_eq!(say(&[&piece("a"), &piece("b"), &whole("ab")]), "ab\n");
    assert_eq!(say(&[&piece("a"), stop, &piece("b"), stop, &whole("a"), &whole("b")]), "a\nb\n");
    assert_eq!(say(&[&piece("a"), &whole("other")]), "a\nother\n");
    assert_eq!(say(&[&whole("twice"), &whole("twice")]), "twice\ntwice\n");
}

#[test]
fn plain_lines_go_through_untouched_whatever_they_hold() {
    let bytes = b"plain\n\xff\xfe{\"type\":\"result\"}\r\n\n{\"type\":\"result\"}\ncut";
    for format in [StreamFormat::Raw, StreamFormat::Codex] {
        let (_, text, facts) = read(format, [&bytes[..]]);
        let expected = [&bytes[..], b"\n"].concat();
        assert_eq!(text, expected);
        assert!(!facts.saw_event && facts.last_word.is_none());
    }
}

#[test]
fn a_line_of_five_megabytes_comes_out_whole_and_the_next_is_understood() {
    let long = format!("{{\"type\":\"text\",\"x\":\"{}\"}}\n", "ü".repeat(2_500_000));
    let end = "{\"type\":\"turn.completed\"}\n";
    let (seen, text, facts) = read(StreamFormat::Codex, [long.as_bytes(), end.as_bytes()]);
    assert_eq!(&text[..long.len()], long.as_bytes());
    assert!(facts.last_word.is_some());
    for event in &seen {
        if let Seen::Raw(bytes, _) = event {
            assert!(bytes.len() <= MAX_LINE);
        }
    }
    assert_eq!(seen.len(), 5_000_022 / MAX_LINE + 2);
}

#[test]
fn a_long_result_says_how_many_lines_are_missing() {
    let result = |content: &str| {
        let line = format!(
            "{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"content\":\"{content}\"}}]}}}}\n"
        );
        shown(StreamFormat::Claude, &line)
    };
    assert_eq!(result("one\\ntwo"), "  ↳ one two\n");
    assert_eq!(result("1\\n2\\n\\n3\\n4\\n5"), "  ↳ 1 2 3 … (+2 more)\n");
    let wide = result(&"x".repeat(300));
    assert_eq!(wide, format!("  ↳ {} … (+1 more)\n", "x".repeat(200)));
    let two = result(&format!("{}\\n{}\\nend", "x".repeat(150), "y".repeat(100)));
    assert_eq!(two, format!("  ↳ {} {} … (+2 more)\n", "x".repeat(150), "y".repeat(49)));
    assert_eq!(result(""), "  ↳\n");
}

proptest! {
    #[test]
    fn the_same_bytes_give_the_same_events_and_facts_wherever_they_are_cut(
        which in 0..TRANSCRIPTS.len(),
        junk in proptest::collection::vec(any::<u8>(), 0..40),
        at in any::<prop::sample::Index>(),
        sizes in proptest::collection::vec(1..90_usize, 1..20),
    ) {
        let (name, format) = TRANSCRIPTS[which];
        let mut bytes = transcript(name);
        let place = at.index(bytes.len());
        bytes.splice(place..place, junk);
        let mut chunks = Vec::new();
        let (mut rest, mut next) = (bytes.as_slice(), sizes.iter().cycle());
        while !rest.is_empty() {
            let (chunk, more) = rest.split_at(rest.len().min(*next.next().unwrap()));
            chunks.push(chunk);
            rest = more;
        }
        let whole = read(format, [bytes.as_slice()]);
        let mut skim = Skim::new(format);
        chunks.iter().for_each(|chunk| skim.push(chunk));
        prop_assert_eq!(&skim.finish(&mut |_| {}), &whole.2);
        prop_assert_eq!(read(format, chunks), whole);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        lines in proptest::collection::vec("\\{\"type\":\"(result|user|assistant|system|text|tool_use|tool_call|error|stream_event|message)\",\"(message|part|event|tool_call|error)\":(\\{\"content\":\\[\\{\"type\":\"text\"\\},7\\]\\}|null|\\[\\]|\"x\"|-1e999|\\{\"type\":\"content_block_delta\",\"delta\":\\{\"text\":\"\u{e9}\"\\}\\})\\}", 0..8),
    ) {
        let text = lines.join("\n");
        for format in [
            StreamFormat::Claude,
            StreamFormat::Codex,
            StreamFormat::Gemini,
            StreamFormat::Cursor,
            StreamFormat::Opencode,
        ] {
            let facts = read(format, [text.as_bytes()]).2;
            let mut skim = Skim::new(format);
            skim.push(text.as_bytes());
            prop_assert_eq!(skim.finish(&mut |_| {}), facts);
        }
    }
}
