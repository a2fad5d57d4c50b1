//! The file of what was used: once for each spawn, read past anything.

use std::fs;

use ratchet_engine::usage::{Completeness, Usage};

use super::*;
use crate::store::journal::with_lock;
use crate::store::testing::Scene;

fn line(spawn: &str, change: &str, tokens: u64) -> UsageLine {
    UsageLine {
        at: Timestamp::from_unix_ms(0),
        change: StepKey::from_text(change),
        transition: StepKind::Apply,
        spawn: SpawnId::parse(spawn).unwrap(),
        agent: AgentName::new("claude"),
        model: None,
        spent: SpawnUsage {
            usage: Usage { output_tokens: tokens, ..Usage::default() },
            completeness: Completeness::Known,
        },
    }
}

fn recorded(scene: &Scene, line: &UsageLine) -> Recorded {
    with_lock::<_, FileError>(&scene.run(), |writer| record(writer, line)).unwrap()
}

fn tokens(scene: &Scene) -> Option<u64> {
    read(&scene.run()).unwrap().total().map(|total| total.usage.tokens())
}

#[test]
fn a_spawn_is_booked_once_however_often_it_is_concluded() {
    let scene = Scene::new();
    assert_eq!(tokens(&scene), None);
    assert!(!scene.run().dir().exists(), "reading makes nothing");
    assert_eq!(recorded(&scene, &line("s1", "api", 10)), Recorded::Now);
    assert_eq!(recorded(&scene, &line("s1", "api", 10)), Recorded::Before);
    assert_eq!(recorded(&scene, &line("s2", "web", 5)), Recorded::Now);
    assert_eq!(tokens(&scene), Some(15));
    let ledger = read(&scene.run()).unwrap();
    assert_eq!(ledger.of("web").map(|tally| tally.usage.tokens()), Some(5));
    let text = fs::read_to_string(scene.run().usage()).unwrap();
    assert_eq!(
        text.lines().next(),
        Some(concat!(
            r#"{"at":"1970-01-01T00:00:00.000Z","change":"api","transition":"apply","spawn":"s1","agent":"claude","#,
            r#""usage":{"inputTokens":0,"cachedInputTokens":0,"cacheWriteTokens":0,"outputTokens":10,"#,
            r#""reasoningTokens":0},"completeness":"known"}"#
        ))
    );
}

#[test]
fn broken_lines_cost_themselves_only() {
    let scene = Scene::new();
    recorded(&scene, &line("s1", "api", 10));
    let good = fs::read_to_string(scene.run().usage()).unwrap();
    let odd = [
        "",
        "not json",
        "[1]",
        r#"{"change":"api"}"#,
        r#"{"change":"api","usage":{"outputTokens":-1},"completeness":"known"}"#,
        r#"{"change":"api","usage":{"costUsd":-1},"completeness":"known"}"#,
        r#"{"change":"api","usage":{"outputTokens":1},"completeness":"guessed"}"#,
    ];
    // Members of a later version are passed over, and what it left out is 0.
    let later =
        r#"{"change":"api","new":1,"usage":{"outputTokens":7,"new":2},"completeness":"partial"}"#;
    fs::write(scene.run().usage(), format!("{good}{}\n{later}", odd.join("\n"))).unwrap();
    assert_eq!(tokens(&scene), Some(17));
    assert_eq!(read(&scene.run()).unwrap().total().unwrap().tokens, Completeness::Partial);
}

#[test]
fn a_torn_line_swallows_no_later_one() {
    let scene = Scene::new();
    recorded(&scene, &line("s1", "api", 10));
    let mut text = fs::read(scene.run().usage()).unwrap();
    text.truncate(text.len() - 20);
    fs::write(scene.run().usage(), text).unwrap();
    // What was torn was not booked, so it is booked again.
    assert_eq!(recorded(&scene, &line("s1", "api", 10)), Recorded::Now);
    assert_eq!(recorded(&scene, &line("s2", "api", 5)), Recorded::Now);
    assert_eq!(tokens(&scene), Some(15));
}
