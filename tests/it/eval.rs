//! `ratchet eval …` from the outside: the known answers of the mutation harness, bad agents, bad oracles and bad trees, and
//! runs of cases.

mod bad_agents;
mod bad_oracles;
mod bad_trees;
mod in_place;
mod killed;
mod known_answers;
mod runs;
mod verbs;

use std::fs;
use std::path::{Path, PathBuf};

use ratchet_tests::{Call, TestEnv, schema};
use serde_json::Value;

use crate::empty;

/// The number of the attempt, out of what an agent is asked.
const NUMBER: &str = "n=$(grep -o 'attempt [0-9]*' | head -1 | cut -d' ' -f2); n=$((n - 1))";

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/mutants")
}

/// A world with the project of known answers, committed, whose invariant has this test command.
fn shop_with(test: &str, budget: u32, threshold: u32) -> TestEnv {
    let env = empty();
    copy(&fixture().join("project"), &env.root());
    declare(&env, test, budget, threshold);
    commit(&env);
    env
}

fn declare(env: &TestEnv, test: &str, budget: u32, threshold: u32) {
    env.write(
        ".ratchet/evals/invariants.yaml",
        format!(
            "invariants:\n  - id: no-bugs\n    kind: mutation\n    active: true\n    test: {}\n    budget: {budget}\n    threshold: {threshold}\n",
            serde_json::to_string(test).expect("a text is JSON")
        ),
    );
    env.write(".ratchet/.gitignore", "evals/runs/\n");
}

fn commit(env: &TestEnv) {
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "--message=x"]);
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a fixture is there") {
        let entry = entry.expect("a fixture can be read");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&to).expect("a folder is made");
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a file is copied");
        }
    }
}

/// An agent that plants the faults of the fixture, one after the other.
fn seeder() -> String {
    format!("{NUMBER}; sh {}/faults/$n.sh", fixture().display())
}

/// A call of `eval mutate` with something that stands in for the agent.
fn mutate(env: &TestEnv, agent: &str, more: &[&str]) -> Call {
    let arguments = ["eval", "mutate"].iter().chain(more).copied();
    env.ratchet(arguments).var("RATCHET_EVAL_AGENT_CMD", agent)
}

/// The outcome of the only invariant of such a call.
#[track_caller]
fn outcome(env: &TestEnv, agent: &str, more: &[&str]) -> Value {
    mutate(env, agent, more).json()["results"][0].clone()
}

/// What the attempts of a result came to, in order.
fn verdicts(result: &Value) -> Vec<String> {
    let attempts = result["outcomes"]["attempts"].as_array().cloned().unwrap_or_default();
    let words = attempts.iter().map(|one| one["verdict"].as_str().unwrap_or_default().to_owned());
    words.collect()
}

/// Everything in the project but what evaluations keep, with content, mode and time; objects of git without their time.
fn tree(env: &TestEnv) -> Vec<String> {
    use std::os::unix::fs::MetadataExt as _;
    let root = env.root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be read") {
            let path = entry.expect("an entry can be read").path();
            let metadata = path.symlink_metadata().expect("a file is there");
            let name = path.strip_prefix(&root).expect("it is below").display().to_string();
            if name.starts_with(".ratchet/evals/runs") {
                continue;
            }
            let content = if metadata.is_dir() {
                folders.push(path);
                String::new()
            } else {
                let object = name.starts_with(".git/objects/");
                let time = if object { 0 } else { metadata.mtime_nsec() };
                let link = fs::read_link(&path).map(|to| to.into_os_string().into_encoded_bytes());
                let bytes = link.or_else(|_| fs::read(&path)).expect("a file can be read");
                format!("{time} {}", String::from_utf8_lossy(&bytes))
            };
            found.push(format!("{name} {:o} {content}", metadata.mode()));
        }
    }
    found.sort();
    found
}

/// Fails if anything is left of an evaluation outside of the project.
#[track_caller]
fn assert_nothing_left(env: &TestEnv) {
    env.wait_until_empty();
    let copies = env.base().join("cache/ratchet/copies");
    let left: Vec<PathBuf> =
        fs::read_dir(&copies).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Has every verb answer a program, and names the schemas that the answers were held against.
pub(crate) fn every_answer() -> Vec<String> {
    let env = shop_with("sh tests/weak.sh", 2, 1);
    env.write(".ratchet/features/a.feature", "Feature: F\n  Scenario: one\n    Then x\n");
    commit(&env);
    let mut seen = Vec::new();
    let mut ask = |line: &str| {
        let call = env.ratchet(line.split(' ')).args(["--json"]);
        let finished = call.var("RATCHET_EVAL_AGENT_CMD", seeder()).ok();
        seen.extend(schema::name_for(finished.arguments()).map(str::to_owned));
        finished.json()
    };
    ask("eval set");
    let run = ask("eval run");
    let id = run["runId"].as_str().expect("a run has an id");
    ask(&format!("eval record --run {id} --case features/a#one --verdict pass"));
    ask(&format!("eval baseline {id} --force"));
    ask("eval report");
    commit(&env);
    let mutated = ask("eval mutate");
    let id = mutated["runId"].as_str().expect("a run has an id");
    ask(&format!("eval replay {id} 1"));
    seen
}
