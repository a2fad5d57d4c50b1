//! What agents used: booked once for each spawn, shown with what is not known of it, and held against a budget.

use std::fs;

use ratchet_tests::asked::Kind;
use ratchet_tests::script::SCRIPT_VAR;
use ratchet_tests::{Action, Call, Script, TestEnv};
use serde_json::Value;

use crate::crash::CRASH_VAR;
use crate::{apply, shop};

const BEGUN: &str = r#"{"type":"assistant","message":{"id":"M1","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":900,"cache_creation_input_tokens":20,"output_tokens":5}},"parent_tool_use_id":null}"#;
const ENDED: &str = r#"{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"ok","total_cost_usd":0.05,"usage":{"input_tokens":10,"cache_read_input_tokens":900,"cache_creation_input_tokens":20,"output_tokens":70}}"#;

/// A project whose agent is a `claude` that obeys the script.
fn with_claude() -> TestEnv {
    let env = shop();
    env.install_agent("claude");
    env
}

fn claude(env: &TestEnv, arguments: &[&str], script: &Script) -> Call {
    env.ratchet(arguments).var(SCRIPT_VAR, env.script(script))
}

/// An agent that plans, and says what that used.
fn honest() -> Script {
    Script::always([Action::say(BEGUN)]).on(
        Kind::Propose,
        [
            Action::ran("propose"),
            Action::Plan { change: None, tasks: 2 },
            Action::complete("planned"),
            Action::say(ENDED),
        ],
    )
}

fn booked(env: &TestEnv) -> Vec<Value> {
    let text = fs::read_to_string(env.path(".ratchet/batches/shop/run/usage.jsonl"));
    text.unwrap_or_default()
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

#[test]
fn what_a_step_used_is_booked_and_shown_for_the_batch_and_its_change() {
    let env = with_claude();
    for verb in ["status", "view"] {
        assert_eq!(env.ratchet(["batch", verb]).json().get("usage"), None, "no agent has run");
    }
    let step = claude(&env, &["batch", "apply"], &honest()).json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    let [line] = &booked(&env)[..] else { panic!("{:#?}", booked(&env)) };
    assert_eq!(line["spawn"], step["spawnId"]);
    assert_eq!((&line["change"], &line["transition"]), (&"add-api".into(), &"propose".into()));
    assert_eq!((&line["agent"], &line["completeness"]), (&"claude".into(), &"known".into()));
    for verb in ["status", "view"] {
        let shown = env.ratchet(["batch", verb]).json();
        for usage in [&shown["usage"], &shown["phases"][0]["changes"][0]["usage"]] {
            assert_eq!(usage["totalTokens"], 1000, "{shown:#}");
            assert_eq!(
                (&usage["costUsd"], &usage["costCompleteness"]),
                (&0.05.into(), &"known".into())
            );
        }
        env.ratchet(["batch", verb]).ok().says("Used: $0.0500 · 1000 tokens in 1 run");
    }
}

#[test]
fn a_killed_agent_is_counted_as_far_as_it_told() {
    let env = with_claude();
    let killed = Script::always([Action::say(BEGUN), Action::DieBy { signal: "KILL".to_owned() }]);
    let step = claude(&env, &["batch", "apply"], &killed).json();
    assert_eq!((&step["state"], &step["cause"]), (&"blocked".into(), &"crash".into()));
    let usage = &env.ratchet(["batch", "status"]).json()["usage"];
    assert_eq!((&usage["totalTokens"], &usage["completeness"]), (&935.into(), &"partial".into()));
    assert_eq!((usage.get("costUsd"), &usage["costCompleteness"]), (None, &"unknown".into()));
    env.ratchet(["batch", "status"]).ok().says("Used: cost unknown · at least 935 tokens");
}

#[test]
fn a_command_that_stands_in_for_the_agent_is_not_booked() {
    let env = shop();
    apply(&env, &Script::honest());
    assert_eq!(booked(&env).len(), 0);
    assert_eq!(env.ratchet(["batch", "status"]).json().get("usage"), None);
}

#[test]
fn an_outcome_that_is_recorded_again_after_a_crash_is_booked_once() {
    let env = with_claude();
    claude(&env, &["batch", "apply"], &honest()).embedded().var(CRASH_VAR, "record").run();
    assert_eq!(booked(&env).len(), 1);
    let step = claude(&env, &["batch", "apply"], &honest()).json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!(booked(&env).len(), 1, "{:#?}", booked(&env));
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn a_budget_that_is_used_up_starts_no_agent_and_says_how_to_go_on() {
    let env = with_claude();
    env.ratchet(["batch", "config", "--set", "budgetUsd=0.05"]).ok();
    assert_eq!(env.ratchet(["batch", "config"]).json()["settings"]["budgetUsd"], 0.05);
    assert_eq!(claude(&env, &["batch", "apply"], &honest()).json()["state"], "advanced");
    let held = claude(&env, &["batch", "apply"], &honest()).json();
    assert_eq!(held["state"], "nothing-ready", "{held:#}");
    let message = held["message"].as_str().unwrap_or_default();
    assert!(message.contains("$0.0500 of budgetUsd $0.0500"), "{message}");
    assert!(held["hint"].as_str().unwrap_or_default().contains("--set budgetUsd="), "{held:#}");
    claude(&env, &["batch", "apply"], &honest()).ok().says("--set budgetUsd=");
    let ran = claude(&env, &["batch", "run"], &honest()).json();
    assert_eq!(ran["halted"]["reason"], "over-budget", "{ran:#}");
    assert_eq!(env.agent_runs(), 1);

    env.ratchet(["batch", "config", "--set", "budgetUsd=5"]).ok();
    let more = Script::always([Action::ran("more"), Action::complete("done"), Action::say(ENDED)]);
    claude(&env, &["batch", "apply"], &more).json();
    assert_eq!(env.agent_runs(), 2);
    assert_eq!(env.ratchet(["batch", "status"]).json()["usage"]["spawns"], 2);
}
