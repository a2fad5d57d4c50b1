//! Pull requests, whole-batch and stacked: one agent run each, in order, on the right base.

use ratchet_tests::asked::Kind;
use ratchet_tests::script::SCRIPT_VAR;
use ratchet_tests::{Action, Manifest, Phase, Script, TestEnv};
use serde_json::{Value, json};

use crate::{apply, status, with};

/// Two phases, both done and proven.
fn finished(grouping: &str) -> TestEnv {
    let env = with(
        &Manifest::new("shop")
            .setting(&format!("prGrouping: {grouping}"))
            .phase(Phase::new("p1").change("one"))
            .phase(Phase::new("p2").change("two")),
    );
    env.add_done("shop", "one");
    env.add_done("shop", "two");
    for _proof in 0..2 {
        assert_eq!(apply(&env, &opener())["state"], "proof-of-work");
    }
    env
}

/// Notes the two branch lines of every prompt it gets.
fn opener() -> Script {
    Script::default().on(
        Kind::Pr,
        [
            Action::ran("pr"),
            Action::SavePrompt { path: "prompt".to_owned() },
            Action::run("grep -E '^(Work|Base) branch: ' prompt >> branches"),
            Action::complete("opened it"),
        ],
    )
}

fn keys(env: &TestEnv) -> Value {
    let opened = env.journal("shop").into_iter().filter(|entry| entry["transition"] == "pr");
    json!(opened.map(|entry| entry["change"].clone()).collect::<Vec<_>>())
}

// B-U09 B-I18 B-V12
#[test]
fn a_finished_batch_is_put_up_in_one_pull_request_once() {
    let env = finished("whole-batch");
    let step = apply(&env, &opener());
    assert_eq!(
        (&step["state"], &step["transition"], &step["change"]),
        (&"advanced".into(), &"pr".into(), &"pr:shop".into())
    );
    assert!(env.read("branches").contains("Base branch: main"));
    assert_eq!(apply(&env, &opener())["state"], "nothing-ready");
    assert_eq!(keys(&env), json!(["pr:shop"]));
    assert_eq!(env.agent_runs(), 1);
}

// B-U17 B-U15 B-U16 B-U18 B-I21 B-I22
#[test]
fn per_phase_opens_one_pull_request_after_the_other_each_on_the_one_before() {
    let env = finished("per-phase");
    for _group in 0..2 {
        assert_eq!(apply(&env, &opener())["state"], "advanced");
    }
    let last = env.ratchet(["batch", "apply"]).agent(&env.agent(&opener())).ok();
    last.says("Nothing to do");
    assert_eq!(keys(&env), json!(["pr:shop:p1", "pr:shop:p2"]));
    assert_eq!(
        env.read("branches"),
        "Work branch: p1\nBase branch: main\nWork branch: p2\nBase branch: p1\n"
    );
}

// B-I23 B-I24
#[test]
fn per_change_opens_one_for_each_change() {
    let env = finished("per-change");
    for _group in 0..2 {
        apply(&env, &opener());
    }
    assert_eq!(keys(&env), json!(["pr:shop:one", "pr:shop:two"]));
}

// B-U11 B-I19
#[test]
fn without_grouping_no_pull_request_is_opened() {
    let env = finished("off");
    assert_eq!(apply(&env, &opener())["state"], "nothing-ready");
    assert_eq!(env.agent_runs(), 0);
}

// B-U13
#[test]
fn a_pull_request_that_failed_can_be_tried_again() {
    let env = finished("whole-batch");
    assert_eq!(apply(&env, &Script::always([Action::exit(1)]))["state"], "blocked");
    env.ratchet(["batch", "report", "--change", "pr:shop", "--answer", "the network is back"]).ok();
    assert_eq!(apply(&env, &opener())["state"], "advanced");
    assert!(env.read("prompt").contains("the network is back"));
}

// B-I25 B-I20
#[test]
fn open_work_comes_before_a_pull_request() {
    let env = with(&Manifest::of_changes("shop", &["one"]).setting("prGrouping: whole-batch"));
    env.add_done("shop", "one");
    assert_eq!(status(&env)["next"]["proof"], true);
    assert_eq!(apply(&env, &opener())["state"], "proof-of-work");
    assert_eq!(env.agent_runs(), 0);
}

// B-U10
#[test]
fn the_pull_request_stage_has_an_agent_of_its_own() {
    for (setting, expected) in [
        ("agent: {pr: \"codex:some/model\"}", ["exec", "some/model"]),
        ("agent: codex", ["exec", "-"]),
        ("agent: {apply: codex}", ["-p", "stream-json"]),
    ] {
        let env = with(
            &Manifest::of_changes("shop", &["one"])
                .setting("prGrouping: whole-batch")
                .setting(setting),
        );
        env.install_agent("claude");
        env.install_agent("codex");
        env.add_done("shop", "one");
        assert_eq!(apply(&env, &opener())["state"], "proof-of-work");
        let script = Script::always([Action::SaveArguments { path: "arguments".to_owned() }]);
        let step = env.ratchet(["batch", "apply"]).var(SCRIPT_VAR, env.script(&script)).json();
        assert_eq!(step["transition"], "pr", "{step:#}");
        let arguments = env.read("arguments");
        assert!(expected.iter().all(|word| arguments.contains(word)), "{setting}: {arguments}");
    }
}
