//! `ratchet worker`: looks after the machines on which steps run.

use ratchet_tests::{TestEnv, Worker};
use serde_json::Value;

use crate::empty;

/// Names workers in the project's configuration.
fn name(env: &TestEnv, workers: &[(String, &str)]) {
    let entries: String = workers
        .iter()
        .map(|(address, token)| {
            let (host, port) = address.rsplit_once(':').expect("an address has a port");
            format!("    - host: {host}\n      port: {port}\n      authTokenFile: {token}\n")
        })
        .collect();
    env.write(".ratchet/config.yaml", format!("batch:\n  workers:\n{entries}"));
}

fn token(worker: &Worker) -> &str {
    worker.token_file().to_str().expect("a path of ours is text")
}

#[test]
fn workers_are_listed_checked_and_drained() {
    let env = empty();
    env.install_agent("claude");
    let worker = Worker::start(&env, "one", "127.0.0.1:0", &["--label", "gpu=none"]);
    let address = worker.address().to_string();
    name(&env, &[(address.clone(), token(&worker))]);

    let listed = env.ratchet(["worker", "list"]).json();
    let about = &listed["workers"][0]["about"];
    assert_eq!(listed["workers"][0]["name"], address.as_str());
    assert_eq!(about["labels"]["gpu"], "none");
    assert_eq!(about["agents"], serde_json::json!(["claude"]));
    assert_eq!((&about["running"], &about["draining"]), (&0.into(), &Value::Bool(false)));
    env.ratchet(["worker", "list"]).run().assert_code(0).says(&format!("✓ {address}"));

    let checked = env.ratchet(["worker", "check"]).json();
    assert_eq!(checked["ok"], true, "{checked:#}");
    let drained = env.ratchet(["worker", "drain"]).json();
    assert_eq!(drained["draining"], true);
    let checked = env.ratchet(["worker", "check", "--json"]).run().assert_code(1).json();
    assert!(checked.to_string().contains("--resume"), "{checked:#}");
    env.ratchet(["worker", "drain", &address, "--resume"]).run().assert_code(0);
    assert_eq!(env.ratchet(["worker", "check"]).json()["ok"], true);
}

#[test]
fn a_worker_that_is_silent_or_refuses_hides_no_other() {
    let env = empty();
    let (good, strange) = (
        Worker::start(&env, "good", "127.0.0.1:0", &[]),
        Worker::start(&env, "strange", "127.0.0.1:0", &[]),
    );
    let gone = Worker::start(&env, "gone", "127.0.0.1:0", &[]);
    let (nobody, token_of_nobody) = (gone.address().to_string(), token(&gone).to_owned());
    gone.kill();
    let wrong = env.base().join("wrong");
    std::fs::copy(strange.token_file(), &wrong).expect("a token is copied");
    std::fs::write(&wrong, "another-token-that-nobody-knows").expect("a token is written");
    name(
        &env,
        &[
            (nobody.clone(), &token_of_nobody),
            (strange.address().to_string(), wrong.to_str().expect("text")),
            (good.address().to_string(), token(&good)),
        ],
    );
    let listed = env.ratchet(["worker", "list"]).json();
    let workers = listed["workers"].as_array().expect("a list");
    let codes: Vec<&Value> = workers.iter().map(|worker| &worker["error"]["code"]).collect();
    assert_eq!(codes, [&"worker-unreachable".into(), &"worker-token".into(), &Value::Null]);
    assert!(!listed.to_string().contains("another-token"), "{listed:#}");
    let refused = env.ratchet(["worker", "drain"]).run().assert_code(1).stderr();
    assert!(refused.contains("code: worker-not-named") && refused.contains(&nobody), "{refused}");
    let refused = env.ratchet(["worker", "drain", "attic:1"]).run().assert_code(1).stderr();
    assert!(refused.contains("there is no worker attic:1"), "{refused}");
    let drained = env.ratchet(["worker", "drain", &good.address().to_string()]).json();
    assert_eq!(drained["name"], good.address().to_string().as_str());
}

#[test]
fn without_a_worker_it_is_said_how_to_name_one() {
    let env = empty();
    env.write(".ratchet/config.yaml", "batch: {}\n");
    let refused = env.ratchet(["worker", "list"]).run().assert_code(1).stderr();
    assert!(refused.contains("code: worker-settings"), "{refused}");
    assert!(refused.contains("help: "), "{refused}");
}
