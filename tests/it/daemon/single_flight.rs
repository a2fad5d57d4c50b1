//! One step at a time for one batch, whoever runs it: an embedded ratchet, the supervisor, the original tool; also when the
//! agent has cleaned the run folder away under its own step.

#![expect(clippy::unwrap_used, reason = "all of this is a test's")]

use std::process::{Child, Command, Stdio};

use ratchet_tests::{Action, Running, Script, TestEnv, wait};
use rustix::process::Signal;
use serde_json::Value;

use super::held::{begin_and_leave, outcomes, until_recorded};
use super::hosted::{Client, Hosted, applied, apply, cancel, code, connect, marked, project};
use crate::shop;

const LOCK: &str = ".ratchet/batches/shop/run/step.lock";

/// Does `first`, waits for the file `go`, then plans and says so.
fn held_after(env: &TestEnv, first: &str) -> String {
    env.agent(&Script::always([
        Action::ran("held"),
        Action::run(first),
        Action::write("here", ""),
        Action::wait_for("go"),
        Action::Plan { change: Some("add-api".to_owned()), tasks: 1 },
        Action::complete("planned"),
    ]))
}

fn held(env: &TestEnv) -> String {
    held_after(env, "true")
}

/// Cleans everything away that is not committed, but for its own log.
fn cleaning(env: &TestEnv) -> String {
    env.git(&["add", ".ratchet/batches/shop/batch.yaml"]);
    env.git(&["commit", "--quiet", "-m", "batch"]);
    held_after(env, "git clean -fdxq -e agent-runs.log")
}

/// An embedded apply whose agent waits.
fn embedded(env: &TestEnv, agent: &str) -> Running {
    let call = env.ratchet(["batch", "apply", "--json"]).embedded().agent(agent).start();
    wait::until_exists(&env.path("here"));
    call
}

#[track_caller]
fn refused_embedded(env: &TestEnv, agent: &str) {
    let text = env.ratchet(["batch", "apply"]).embedded().agent(agent).refused();
    assert!(text.contains("already running for batch 'shop'"), "{text}");
    assert!(text.contains("(pid "), "{text}");
}

async fn refused_hosted(env: &TestEnv, client: &mut Client, agent: &str) {
    let refused = applied(client, apply(project(env, agent), "shop")).await.unwrap_err();
    assert_eq!(code(&refused), "step-running", "{refused:?}");
    assert!(refused.message().contains("already running for batch 'shop'"), "{refused:?}");
}

/// A process that the original tool's note may name.
struct Original(Child);

impl Original {
    fn holding(env: &TestEnv) -> Self {
        let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let note = format!("{{\"pid\":{},\"at\":\"2999-01-01T00:00:00.000Z\"}}\n", child.id());
        env.write(LOCK, note);
        Self(child)
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// What the original tool would read: the process in the note lives.
fn assert_original_is_kept_out(env: &TestEnv) {
    let note: Value = serde_json::from_str(&env.read(LOCK)).unwrap();
    let pid = i32::try_from(note["pid"].as_i64().unwrap()).unwrap();
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists(), "{note}");
    assert!(note["at"].as_str().unwrap().ends_with('Z'), "{note}");
}

#[test]
fn the_original_tool_keeps_an_embedded_ratchet_and_the_supervisor_out() {
    let env = shop();
    let agent = env.agent(&Script::honest());
    let hosted = Hosted::start(&env, 1);
    let original = Original::holding(&env);
    refused_embedded(&env, &agent);
    hosted.call(async { refused_hosted(&env, &mut connect(&env).await, &agent).await });
    assert_eq!(env.agent_runs(), 0);
    drop(original);
    env.ratchet(["batch", "apply"]).embedded().agent(&agent).ok();
    assert_eq!(env.agent_runs(), 1, "a dead holder's note keeps nobody out");
}

#[test]
fn an_embedded_ratchet_keeps_the_supervisor_and_the_original_tool_out() {
    let env = shop();
    let agent = held(&env);
    let hosted = Hosted::start(&env, 1);
    let call = embedded(&env, &agent);
    hosted.call(async { refused_hosted(&env, &mut connect(&env).await, &agent).await });
    assert_original_is_kept_out(&env);
    env.write("go", "");
    assert_eq!(call.wait().json()["state"], "advanced");
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn the_supervisor_keeps_an_embedded_ratchet_and_the_original_tool_out() {
    let env = shop();
    let agent = held(&env);
    let hosted = Hosted::start(&env, 1);
    hosted.call(async { begin_and_leave(&env, &mut connect(&env).await, &agent).await });
    refused_embedded(&env, &agent);
    assert_original_is_kept_out(&env);
    env.write("go", "");
    until_recorded(&env, "shop");
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn an_agent_that_cleans_its_run_folder_away_is_neither_started_twice_nor_lost() {
    let env = shop();
    let agent = cleaning(&env);
    let hosted = Hosted::start(&env, 1);
    let call = embedded(&env, &agent);
    assert!(!env.path(LOCK).exists(), "it is cleaned away");
    refused_embedded(&env, &agent);
    hosted.call(async { refused_hosted(&env, &mut connect(&env).await, &agent).await });
    env.write("go", "");
    let step = call.wait().json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!((env.agent_runs(), outcomes(&env, "shop").len()), (1, 1));
    assert!(env.traces().is_empty(), "{:?}", env.traces());
}

#[test]
fn the_step_of_a_cleaned_run_folder_is_found_again_when_its_ratchet_is_dead() {
    let env = shop();
    let agent = cleaning(&env);
    let call = embedded(&env, &agent);
    call.signal(Signal::KILL);
    call.wait();
    let status = env.ratchet(["batch", "status"]).json();
    assert!(!env.path(".ratchet/batches/shop/run").exists(), "{status:#}");
    env.write("go", "");
    let step = env.ratchet(["batch", "apply"]).agent(&agent).json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!((env.agent_runs(), outcomes(&env, "shop").len()), (1, 1));
    assert!(env.traces().is_empty(), "{:?}", env.traces());
}

#[test]
fn the_supervisor_goes_on_with_a_step_whose_run_folder_was_cleaned_away_before_it_died() {
    let env = shop();
    let agent = cleaning(&env);
    let first = Hosted::start(&env, 1);
    first.call(async { begin_and_leave(&env, &mut connect(&env).await, &agent).await });
    refused_embedded(&env, &agent);
    first.kill();
    let second = Hosted::start(&env, 1);
    wait::until("the step to be gone on with", || env.path(LOCK).exists());
    second.call(async {
        let mut client = connect(&env).await;
        let stopped = client.cancel(marked(cancel(project(&env, &agent), "shop"))).await.unwrap();
        assert_eq!(stopped.into_inner().stopped.unwrap().key, "add-api");
    });
    until_recorded(&env, "shop");
    assert_eq!((env.agent_runs(), outcomes(&env, "shop").len()), (1, 1));
    env.wait_until_empty();
}
