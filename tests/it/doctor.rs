//! `doctor`: what is missing is told with what to type, and the exit says whether work can begin.

use ratchet_tests::{Call, TestEnv};
use serde_json::{Value, json};

use crate::empty;

fn check<'a>(found: &'a Value, id: &str) -> &'a Value {
    let checks = found["checks"].as_array().expect("a test's own world holds");
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("{id}: {found:#}"))
}

/// A call that finds only the agents of the test.
fn call(env: &TestEnv, arguments: &[&str]) -> Call {
    let path = format!("{}:/usr/bin:/bin", env.base().join("bin").display());
    env.ratchet(arguments).var("DOCKER_HOST", "unix:///nowhere.sock").var("PATH", path)
}

fn doctor(env: &TestEnv) -> (Option<i32>, Value) {
    let finished = call(env, &["doctor", "--json"]).run();
    (finished.code, finished.json())
}

fn add_agent(env: &TestEnv, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = env.base().join("bin").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a test's own world holds");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .expect("a test's own world holds");
}

// C-M21
#[test]
fn without_an_agent_no_work_can_begin() {
    let env = empty();
    let (code, found) = doctor(&env);
    assert_eq!((code, &found["ok"]), (Some(1), &json!(false)));
    let agent = check(&found, "agent");
    assert_eq!((&agent["status"], &agent["severity"]), (&json!("fail"), &json!("required")));
    assert!(agent["detail"].as_str().unwrap().contains("claude, codex, cursor, gemini, opencode"));
    let text = call(&env, &["doctor"]).run().assert_code(1).stdout();
    assert!(
        text.contains("✗ Coding agent") && text.contains("    → install one of them"),
        "{text}"
    );
    assert!(text.ends_with("Not ready: 1 required check failed.\n"), "{text}");
}

// C-M21 C-M22
#[test]
fn any_agent_will_do_and_one_that_does_not_say_its_version_counts_too() {
    let env = empty();
    add_agent(&env, "cursor-agent", "echo 2026.1");
    add_agent(&env, "gemini", "exit 3");
    let (code, found) = doctor(&env);
    assert_eq!((code, &found["ok"]), (Some(0), &json!(true)), "{found:#}");
    assert_eq!(check(&found, "agent")["detail"], "cursor (2026.1), gemini (version unknown)");
    call(&env, &["doctor"]).ok().says("✓ Coding agent").says("Ready: everything");
}

// C-M21
#[test]
fn an_agent_that_the_settings_name_must_be_there() {
    let env = empty();
    add_agent(&env, "codex", "echo 1");
    env.ratchet(["batch", "config", "--set", "agent={propose: claude:opus, apply: codex}"]).ok();
    let (code, found) = doctor(&env);
    assert_eq!(code, Some(1));
    let agent = check(&found, "agent");
    assert!(agent["detail"].as_str().unwrap().ends_with(": claude"), "{agent:#}");
    assert!(agent["remedy"].as_str().unwrap().contains("ratchet batch config --set agent="));
    env.write(".ratchet/config.yaml", "batch: {agent: own, agents: {own: {command: codex}}}\n");
    assert_eq!(doctor(&env).0, Some(0));
}

// C-M21
#[test]
fn docker_is_only_required_where_work_goes_there() {
    let env = empty();
    add_agent(&env, "claude", "echo 1");
    let (code, found) = doctor(&env);
    let docker = check(&found, "docker");
    assert_eq!((code, &docker["status"]), (Some(0), &json!("info")));
    env.ratchet(["batch", "config", "--set", "locus=docker"]).ok();
    let (code, found) = doctor(&env);
    let docker = check(&found, "docker");
    assert_eq!((code, &docker["status"]), (Some(1), &json!("fail")));
    assert!(docker["detail"].as_str().unwrap().contains("/nowhere.sock"), "{docker:#}");
}

#[test]
fn what_only_some_settings_need_is_looked_at_only_then() {
    let env = empty();
    let (_, found) = doctor(&env);
    let ids = |found: &Value| found["checks"].to_string();
    assert!(!ids(&found).contains("pr-remote") && !ids(&found).contains("\"worker\""));
    assert_eq!(check(&found, "batch-isolation")["status"], "info");
    env.write(
        ".ratchet/config.yaml",
        "batch: {prGrouping: per-phase, permissions: {posture: curated-allowlist}}\n",
    );
    let (_, found) = doctor(&env);
    assert!(check(&found, "pr-remote")["remedy"].as_str().unwrap().starts_with("git remote add"));
    assert!(!ids(&found).contains("batch-isolation"));
    env.write(
        ".ratchet/config.yaml",
        "batch: {locus: remote, host: 127.0.0.1, port: 1, authToken: hush}\n",
    );
    let (code, found) = doctor(&env);
    assert_eq!((code, &check(&found, "worker")["status"]), (Some(1), &json!("fail")));
    assert!(!found.to_string().contains("hush"));
}
