//! Usage limits: told as such and apart from other failures, and a pause for that agent until they reset.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ratchet_tests::script::SCRIPT_VAR;
use ratchet_tests::{Action, Call, Manifest, Script, TestEnv, wait};
use rustix::process::Signal;
use serde_json::Value;

use crate::with;

/// A batch of two changes that do not wait for each other.
fn two() -> TestEnv {
    with(&Manifest::of_changes("shop", &["add-api", "add-web"]))
}

fn limit_lines(resets_at: &str) -> String {
    let event = format!(
        r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":{resets_at},"rateLimitType":"five_hour"}}}}"#
    );
    let result = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"api_error_type":"rate_limit_error","result":"You have hit your session limit"}"#;
    format!("{event}\n{result}\n")
}

fn now() -> i64 {
    rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec
}

/// A `claude` that has reached its limit.
fn limited(resets_at: i64) -> Script {
    let text = limit_lines(&resets_at.to_string());
    Script::always([Action::ran("claude"), Action::Print { text }, Action::exit(1)])
}

fn claude(env: &TestEnv, arguments: &[&str], script: &Script) -> Call {
    env.ratchet(arguments).var(SCRIPT_VAR, env.script(script))
}

/// A `claude` whose limit resets in two seconds, and that works after its first call.
fn install_recovering_claude(env: &TestEnv) {
    let script = format!(
        "#!/bin/bash\n\
         if [ -e ../limit-was-hit ]; then exec env {SCRIPT_VAR}='{}' fake_agent; fi\n\
         : > ../limit-was-hit\n\
         cat <<EOF\n{}EOF\nexit 1\n",
        env.script(&Script::honest()).display(),
        limit_lines("$(( $(date +%s) + 2 ))"),
    );
    let path = env.base().join("bin/claude");
    fs::write(&path, script).expect("a program is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program is executable");
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

#[test]
fn a_limit_is_told_everywhere_and_keeps_the_agent_from_being_started_again() {
    let env = two();
    env.install_agent("claude");
    let limited = limited(now() + 3600);
    let step = claude(&env, &["batch", "apply"], &limited).json();
    assert_eq!((&step["state"], &step["cause"]), (&"blocked".into(), &"quota".into()), "{step:#}");
    let said = format!("limit reached, resets at {}", text(&step, "retryAt"));
    assert!(text(&step, "blocker").contains(&said), "{step:#}");
    let [outcome] = &env.journaled("shop", "add-api", "blocker")[..] else { panic!("no outcome") };
    assert!(text(outcome, "message").contains(&said), "{outcome:#}");
    let status = env.ratchet(["batch", "status"]).json();
    let park = &status["phases"][0]["changes"][0]["parked"];
    assert_eq!((&park["cause"], &park["retryAt"]), (&"quota".into(), &step["retryAt"]));
    env.ratchet(["batch", "status"]).ok().says(&said).says("--ignore-limit");
    let kept = env.base().join("state/ratchet/limits.json");
    assert_eq!(fs::metadata(&kept).expect("it is kept").permissions().mode() & 0o777, 0o600);

    // The other change could run; its agent could not.
    let refused = claude(&env, &["batch", "apply"], &limited).json();
    assert_eq!((text(&refused, "change"), text(&refused, "cause")), ("add-web", "quota"));
    assert_eq!(refused["retryAt"], step["retryAt"]);
    assert_eq!(refused.get("spawnId"), None);
    assert!(text(&refused, "message").contains("--ignore-limit"), "{refused:#}");
    assert!(env.park("shop", "add-web").is_null(), "nobody has to answer for it");
    assert_eq!(env.journaled("shop", "add-web", "blocker").len(), 0);
    assert_eq!(env.agent_runs(), 1);

    let ran = claude(&env, &["batch", "run", "--no-wait"], &limited).json();
    assert_eq!(ran["halted"]["reason"], "limit-reached", "{ran:#}");
    assert_eq!((ran["steps"].as_array().map(Vec::len), env.agent_runs()), (Some(0), 1));

    // A person who knows better can try, and an agent that answers is back.
    let honest = Script {
        always: vec![Action::say(
            r#"{"type":"result","is_error":false,"subtype":"success","result":"ok"}"#,
        )],
        ..Script::honest()
    };
    let tried = claude(&env, &["batch", "apply", "--ignore-limit"], &honest).json();
    assert_eq!((text(&tried, "state"), text(&tried, "change")), ("advanced", "add-api"));
    let next = claude(&env, &["batch", "apply"], &honest).json();
    assert_eq!(next["state"], "advanced", "{next:#}");
}

#[test]
fn other_agents_go_on_while_one_is_out_of_use() {
    let env = two();
    env.install_agent("claude");
    env.install_agent("codex");
    claude(&env, &["batch", "apply"], &limited(now() + 3600)).json();
    env.ratchet(["batch", "config", "--set", "agent=codex"]).ok();
    let step = claude(&env, &["batch", "apply"], &Script::honest()).json();
    assert_eq!((text(&step, "state"), text(&step, "change")), ("advanced", "add-web"), "{step:#}");
}

#[test]
fn a_run_waits_until_the_limit_resets_and_goes_on() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]));
    install_recovering_claude(&env);
    let finished = env.ratchet(["batch", "run", "--json"]).ok();
    assert!(finished.stderr().contains("waiting until"), "{finished}");
    let ran = finished.json();
    assert_eq!(ran["halted"]["reason"], "done", "{ran:#}");
    let states: Vec<_> =
        ran["steps"].as_array().into_iter().flatten().map(|s| text(s, "state")).collect();
    assert_eq!(states, ["blocked", "advanced", "advanced", "advanced", "proof-of-work"]);
    assert!(env.park("shop", "add-api").is_null());
}

#[test]
fn a_signal_ends_the_wait() {
    let env = two();
    env.install_agent("claude");
    let running = claude(&env, &["batch", "run"], &limited(now() + 3600)).start();
    let state = env.path(".ratchet/batches/shop/run/state.json");
    wait::until_exists(&state);
    running.signal(Signal::INT);
    let finished = running.wait();
    assert_eq!(finished.signal, Some(Signal::INT.as_raw()), "{finished}");
    env.wait_until_empty();
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn failures_are_told_apart_in_the_result_the_journal_and_the_park() {
    let login = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":401,"api_error_type":"authentication_error","result":"Invalid API key"}"#;
    let logged_out = Script::always([Action::say(login), Action::exit(1)]);
    let crashing = Script::always([Action::exit(3)]);
    let hanging = Script::always([Action::Hang]);
    for (script, cause, words) in [
        (&limited(now() + 3600), "quota", "limit reached, resets at"),
        (&logged_out, "login", "the key was refused"),
        (&crashing, "crash", "Agent failed during propose."),
        (&hanging, "timeout", "timed out after 500ms"),
    ] {
        let env = with(&Manifest::of_changes("shop", &["add-api"]).setting("agentTimeoutMs: 500"));
        env.install_agent("claude");
        let step = claude(&env, &["batch", "apply"], script).json();
        assert_eq!(step["cause"], cause, "{step:#}");
        let [outcome] = &env.journaled("shop", "add-api", "blocker")[..] else { panic!("{cause}") };
        assert!(text(outcome, "message").contains(words), "{outcome:#}");
        assert_eq!(env.park("shop", "add-api")["cause"], cause);
        let status = env.ratchet(["batch", "status"]).json();
        assert_eq!(status["phases"][0]["changes"][0]["parked"]["cause"], cause);
    }
}
