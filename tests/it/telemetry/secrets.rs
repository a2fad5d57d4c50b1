//! Secrets that an agent prints, reports and runs into: in no display, no journal, no state, no span, no record and no log
//! line. What is stored of its output stays as it came.

use std::fs;
use std::path::Path;

use ratchet_tests::{Action, Script, TestEnv};

use super::collector::{Collector, Way};
use super::traced;
use crate::shop;

/// The value of a variable with a telling name.
const KEY: &str = "pa55/word+with=odd&chars";
const BASE64: &str = "cGE1NS93b3JkK3dpdGg9b2RkJmNoYXJz";
const PERCENT: &str = "pa55%2Fword%2Bwith%3Dodd%26chars";

/// A token that nobody told of, put together here so that this file holds none.
fn token() -> String {
    ["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"].concat()
}

fn forms() -> Vec<String> {
    let inner = |text: &str| text[2..text.len() - 2].to_owned();
    vec![KEY.to_owned(), inner(BASE64), PERCENT.to_owned(), token()]
}

#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    for form in forms() {
        let found = bytes.windows(form.len()).position(|window| window == form.as_bytes());
        assert_eq!(found, None, "{what} holds {form}: {}", String::from_utf8_lossy(bytes));
    }
}

fn everything_below(folder: &Path, found: &mut Vec<u8>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            everything_below(&path, found);
        } else {
            found.extend(fs::read(&path).unwrap_or_default());
        }
    }
}

/// Prints a text in two writes, cut at every place in turn.
fn cut_everywhere(text: &str) -> Vec<Action> {
    let print = |text: &str| Action::Print { text: text.to_owned() };
    (1..text.len())
        .flat_map(|at| {
            [print(&text[..at]), Action::Pause { us: 200 }, print(&text[at..]), Action::say("")]
        })
        .collect()
}

fn run(env: &TestEnv, collector: &Collector, script: &Script) -> ratchet_tests::Finished {
    let call = env.ratchet(["batch", "apply"]).agent(&env.agent(script)).embedded();
    traced(call, collector, Way::Http)
        .var("SHOP_API_KEY", KEY)
        .var("RATCHET_AGENT_ENV_ALLOW", "SHOP_API_KEY")
        .var("RATCHET_LOG", "trace")
        .run()
}

#[test]
fn a_secret_is_shown_nowhere_however_it_is_cut_and_encoded() {
    let (env, collector) = (shop(), Collector::start());
    let mut actions: Vec<Action> =
        [KEY, BASE64, PERCENT].iter().flat_map(|text| cut_everywhere(text)).collect();
    actions.extend(cut_everywhere(&token()));
    actions.push(Action::PrintError { text: format!("failed with {KEY} and {}\n", token()) });
    actions.push(Action::report("--status", &format!("using {KEY}")));
    actions.push(Action::blocker(&format!("is {KEY} ({BASE64}) or {} right?", token())));
    let done = run(&env, &collector, &Script::always(actions));
    assert_clean("the display", &done.stdout);
    assert_clean("the log", &done.stderr);
    assert!(done.stdout().contains("***"), "{done}");
    let mut kept = Vec::new();
    everything_below(&env.path(".ratchet"), &mut kept);
    assert_clean("the project", &kept);
    let blockers = env.journaled("shop", "add-api", "blocker");
    assert_eq!(blockers[0]["message"], "is *** (***) or *** right?");
    collector.look(|got| assert_clean("the telemetry", &got.bytes));
    for words in [&["batch", "log", "--last"][..], &["batch", "view"], &["batch", "status"]] {
        let shown = env.ratchet(words).var("SHOP_API_KEY", KEY).run();
        assert_clean(&words.join(" "), &[shown.stdout, shown.stderr].concat());
    }
    let raw = env.ratchet(["batch", "log", "--last", "--raw"]).ok();
    assert!(
        raw.stdout.windows(KEY.len()).any(|window| window == KEY.as_bytes()),
        "stored as it came"
    );
}

#[test]
fn a_failure_that_quotes_a_secret_is_told_without_it() {
    let (env, collector) = (shop(), Collector::start());
    let script = Script::always([
        Action::PrintError { text: format!("401 for {} and {KEY}\n", token()) },
        Action::exit(1),
    ]);
    let done = run(&env, &collector, &script);
    assert_clean("the display", &[done.stdout, done.stderr].concat());
    let mut kept = Vec::new();
    everything_below(&env.path(".ratchet"), &mut kept);
    assert_clean("the project", &kept);
    collector.look(|got| assert_clean("the telemetry", &got.bytes));
}
