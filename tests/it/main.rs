//! End to end: the real binary in a sealed world. One file for each command or fault; each test is a sentence.
//!
//! A comment above a test names the rows of `docs/behaviours.md` that it holds (`// B-V33`); `house_rules` checks both
//! directions.

mod alone;
mod apply;
mod archive;
mod bad_agent;
mod bad_input;
mod changes;
mod chaos;
mod config;
mod crash;
mod daemon;
mod decompose;
mod docker;
mod doctor;
mod eval;
mod golden;
mod halts;
mod house_rules;
mod json;
mod life_cycle;
mod limits;
mod list;
mod manifest;
mod new;
mod outcome;
mod park;
mod planning;
mod prompt;
mod proof;
mod pull_request;
mod remote;
mod report;
mod runtime;
mod sample;
mod setup;
mod shell;
mod stop;
mod store;
mod supervisor;
mod telemetry;
mod terminal;
mod usage;
mod validate;
mod verbs;
mod watch;
mod worker;

use ratchet_tests::{Manifest, Programs, Script, TestEnv};
use serde_json::Value;

const PROGRAMS: Programs = Programs {
    ratchet: env!("CARGO_BIN_EXE_ratchet_under_test"),
    runtime_agent: env!("CARGO_BIN_EXE_runtime_agent_under_test"),
    fake_agent: env!("CARGO_BIN_EXE_fake_agent"),
    sample_agent: env!("CARGO_BIN_EXE_sample_agent"),
};

/// A world with an empty project.
fn empty() -> TestEnv {
    TestEnv::new(PROGRAMS)
}

/// A world with one batch.
fn with(manifest: &Manifest) -> TestEnv {
    TestEnv::with_batch(PROGRAMS, manifest)
}

/// The most usual world: the batch `shop` with one phase `p1` and one change `add-api`.
fn shop() -> TestEnv {
    with(&Manifest::of_changes("shop", &["add-api"]))
}

/// One `batch apply` of the only batch with an agent that obeys `script`; its JSON document.
#[track_caller]
fn apply(env: &TestEnv, script: &Script) -> Value {
    env.ratchet(["batch", "apply"]).agent(&env.agent(script)).json()
}

/// The status of the only batch.
#[track_caller]
fn status(env: &TestEnv) -> Value {
    env.ratchet(["batch", "status"]).json()
}

/// The status of one change, wherever it stands in the batch.
#[track_caller]
fn change_status(env: &TestEnv, name: &str) -> Value {
    let status = status(env);
    status["phases"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|phase| phase["changes"].as_array().into_iter().flatten())
        .find(|change| change["name"] == name)
        .unwrap_or_else(|| panic!("no change {name} in {status:#}"))
        .clone()
}
