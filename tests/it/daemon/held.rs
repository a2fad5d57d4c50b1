//! Steps whose agents wait for the file `go`, begun at a supervisor, and what is recorded of them.

#![expect(clippy::unwrap_used, reason = "all of this is a test's")]

use ratchet_proto::supervisor::v1 as wire;
use ratchet_tests::{Action, Script, TestEnv, wait};
use serde_json::Value;
use tokio::task::JoinHandle;
use tonic::{Status, Streaming};

use super::hosted::{Client, Told, apply, hear, marked, project};

/// An agent that says something, waits, and then does its step.
pub(super) fn held(env: &TestEnv) -> String {
    env.agent(&Script::always([
        Action::ran("held"),
        Action::say("before"),
        Action::write("here", ""),
        Action::wait_for("go"),
        Action::say("after"),
        Action::Plan { change: Some("add-api".to_owned()), tasks: 1 },
        Action::complete("planned"),
    ]))
}

/// An agent that waits, does its step, and reports nothing.
pub(super) fn held_silent(env: &TestEnv) -> String {
    env.agent(&Script::always([
        Action::ran("held"),
        Action::write("here", ""),
        Action::wait_for("go"),
        Action::Plan { change: Some("add-api".to_owned()), tasks: 1 },
    ]))
}

/// Begins a step, and returns once its agent waits.
pub(super) async fn began(
    env: &TestEnv,
    client: &mut Client,
    request: wire::ApplyRequest,
) -> Streaming<wire::ApplyResponse> {
    let answers = client.apply(marked(request)).await.unwrap().into_inner();
    tokio::task::block_in_place(|| wait::until_exists(&env.path("here")));
    answers
}

/// Begins the step of the batch `shop` and goes on listening: gives what its caller will hear.
pub(super) async fn begin(
    env: &TestEnv,
    client: &mut Client,
    agent: &str,
) -> JoinHandle<Result<Told, Status>> {
    tokio::spawn(hear(began(env, client, apply(project(env, agent), "shop")).await))
}

/// Begins the step of the batch `shop` and goes away.
pub(super) async fn begin_and_leave(env: &TestEnv, client: &mut Client, agent: &str) {
    drop(began(env, client, apply(project(env, agent), "shop")).await);
}

/// The outcome entries of a batch: those that name a transition.
pub(super) fn outcomes(env: &TestEnv, batch: &str) -> Vec<Value> {
    let entries = env.journal(batch).into_iter();
    entries.filter(|entry| entry.get("transition").is_some()).collect()
}

pub(super) fn until_recorded(env: &TestEnv, batch: &str) {
    wait::until("the outcome to be recorded", || {
        !env.path(&format!(".ratchet/batches/{batch}/run/inflight.json")).exists()
            && !outcomes(env, batch).is_empty()
    });
}
