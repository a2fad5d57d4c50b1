//! `kill -9` at every point of a step, then the same command again: the agent ran once, the outcome is recorded once.

use ratchet_tests::{Action, Manifest, Running, Script, TestEnv, process, wait};
use rustix::process::Signal;
use serde_json::Value;

use crate::{apply, shop, with};

/// Names the verb before whose end the process dies; heard only by builds with the feature `fault-injection`.
pub(crate) const CRASH_VAR: &str = "RATCHET_TEST_CRASH_AT";

/// The outcome entries of the change: those that name a transition.
fn outcomes(env: &TestEnv) -> Vec<Value> {
    env.journal("shop")
        .into_iter()
        .filter(|entry| entry["change"] == "add-api" && entry.get("transition").is_some())
        .collect()
}

fn crash_then_apply_again(verb: &str) {
    let env = shop();
    let agent = env.agent(&Script::honest());
    let died = env.ratchet(["batch", "apply"]).agent(&agent).embedded().var(CRASH_VAR, verb).run();
    assert_eq!(died.signal, Some(Signal::KILL.as_raw()), "it did not die at {verb}:\n{died}");

    let step = env.ratchet(["batch", "apply"]).agent(&agent).json();
    assert_eq!(
        (&step["state"], &step["transition"]),
        (&"advanced".into(), &"propose".into()),
        "{verb}: {step:#}"
    );
    assert_eq!(env.agent_runs(), 1, "{verb}: the agent ran once");
    let recorded = outcomes(&env);
    assert_eq!(recorded.len(), 1, "{verb}: the outcome is recorded once: {recorded:#?}");
    assert!(env.park("shop", "add-api").is_null());
    assert!(
        !env.path(".ratchet/batches/shop/run/inflight.json").exists(),
        "{verb}: the intent is settled"
    );
    assert!(!env.path(".ratchet/batches/shop/run/step.lock").exists(), "{verb}: the lock is free");
    env.wait_until_empty();

    assert_eq!(apply(&env, &Script::honest())["transition"], "apply", "{verb}: the batch goes on");
}

#[test]
fn death_while_gathering_loses_nothing() {
    crash_then_apply_again("gather");
}

#[test]
fn death_while_deciding_loses_nothing() {
    crash_then_apply_again("decide");
}

#[test]
fn death_after_the_intent_starts_the_agent_once() {
    crash_then_apply_again("intend");
}

#[test]
fn death_while_the_agent_works_is_taken_up_where_it_was() {
    crash_then_apply_again("act");
}

#[test]
fn death_while_judging_judges_again() {
    crash_then_apply_again("judge");
}

// The outcome may be on disk already: then the next call finds it settled and takes the next step.
#[test]
fn death_while_recording_records_once() {
    let env = shop();
    let agent = env.agent(&Script::honest());
    let died =
        env.ratchet(["batch", "apply"]).agent(&agent).embedded().var(CRASH_VAR, "record").run();
    assert_eq!(died.signal, Some(Signal::KILL.as_raw()), "{died}");
    env.ratchet(["batch", "apply"]).agent(&agent).ok();
    let proposed =
        outcomes(&env).into_iter().filter(|entry| entry["transition"] == "propose").count();
    assert_eq!(proposed, 1);
    assert_eq!(
        env.read(ratchet_tests::script::RUNS).lines().filter(|line| *line == "propose").count(),
        1
    );
    assert!(!env.path(".ratchet/batches/shop/run/inflight.json").exists());
}

// B-M20
#[test]
fn death_at_a_proof_runs_and_records_it_once() {
    for verb in ["gather", "decide", "intend", "act", "judge"] {
        let env = with(
            &Manifest::new("shop").phase(
                ratchet_tests::Phase::new("p1")
                    .proof("echo x >> proofs.log", "exit code 0")
                    .change("add-api"),
            ),
        );
        env.add_done("shop", "add-api");
        let died = env.ratchet(["batch", "apply"]).embedded().var(CRASH_VAR, verb).run();
        assert_eq!(died.signal, Some(Signal::KILL.as_raw()), "{verb}: {died}");
        let proof = env.ratchet(["batch", "apply"]).json();
        assert_eq!(proof["passed"], true, "{verb}: {proof:#}");
        assert_eq!(env.read("proofs.log").lines().count(), 1, "{verb}");
        assert_eq!(env.journaled("shop", "proof-of-work:p1", "proof-of-work").len(), 1, "{verb}");
    }
}

/// An apply whose agent works until `go-on` appears, then proposes.
fn held(env: &TestEnv) -> (Running, String) {
    let script = Script::always([
        Action::ran("held"),
        Action::ReadPrompt,
        Action::say("before the cut"),
        Action::write("agent-is-here", ""),
        Action::wait_for("go-on"),
        Action::say("after the cut"),
        Action::Plan { change: None, tasks: 1 },
        Action::complete("planned"),
    ]);
    let agent = env.agent(&script);
    let running = env.ratchet(["batch", "apply"]).embedded().agent(&agent).start();
    wait::until_exists(&env.path("agent-is-here"));
    (running, agent)
}

#[test]
fn a_killed_apply_is_taken_up_by_the_next_with_all_that_was_printed() {
    let env = shop();
    let (first, agent) = held(&env);
    first.signal(Signal::KILL);
    first.wait();
    let second = env.ratchet(["batch", "apply"]).agent(&agent).start();
    env.write("go-on", "");
    let second = second.wait().assert_code(0).says("advanced").says("after the cut");
    assert_eq!(second.stdout().matches("after the cut").count(), 1, "{second}");
    assert_eq!((env.agent_runs(), outcomes(&env).len()), (1, 1));
    let log = env.ratchet(["batch", "log", "--last", "--raw"]).ok();
    assert_eq!(log.stdout(), "before the cut\nafter the cut\n");
}

#[test]
fn an_agent_that_ended_while_nobody_watched_is_judged_by_the_next_apply() {
    let env = shop();
    let (first, agent) = held(&env);
    first.signal(Signal::KILL);
    first.wait();
    env.write("go-on", "");
    env.wait_until_empty();
    assert!(outcomes(&env).is_empty());
    let step = env.ratchet(["batch", "apply"]).agent(&agent).json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!((env.agent_runs(), outcomes(&env).len()), (1, 1));
}

#[test]
fn a_step_whose_shim_was_killed_is_blocked_with_what_is_known_and_its_agent_is_ended() {
    let env = shop();
    let (first, agent) = held(&env);
    first.signal(Signal::KILL);
    first.wait();
    let shim = env.processes().into_iter().find(|process| process.name.starts_with("ratchet"));
    process::signal(shim.expect("the shim lives").pid, Signal::KILL);
    let step = env.ratchet(["batch", "apply"]).agent(&agent).json();
    assert_eq!(step["state"], "blocked", "{step:#}");
    env.wait_until_empty();
    assert_eq!((env.agent_runs(), outcomes(&env).len()), (1, 1));
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "again"]).ok();
    assert_eq!(apply(&env, &Script::honest())["state"], "advanced");
}

#[test]
fn a_second_apply_may_not_take_up_what_the_first_still_watches() {
    let env = shop();
    let (first, agent) = held(&env);
    let error = env.ratchet(["batch", "apply"]).agent(&agent).refused();
    assert!(error.contains("already running"), "{error}");
    env.write("go-on", "");
    first.wait().assert_code(0).says("advanced");
}

#[test]
fn a_killed_standalone_step_is_taken_up_by_its_next_verb() {
    let env = crate::empty();
    env.add_plan("cart", 1, 0);
    let script = Script::always([
        Action::ran("held"),
        Action::ReadPrompt,
        Action::write("agent-is-here", ""),
        Action::wait_for("go-on"),
        Action::Tick { change: None, tasks: None },
        Action::complete("did it"),
    ]);
    let agent = env.agent(&script);
    let first = env.ratchet(["apply", "cart"]).embedded().agent(&agent).start();
    wait::until_exists(&env.path("agent-is-here"));
    first.signal(Signal::KILL);
    first.wait();
    env.write("go-on", "");
    let step = env.ratchet(["apply", "cart"]).agent(&agent).json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn what_died_between_its_intent_and_its_start_keeps_nobody_waiting_and_never_starts() {
    let env = shop();
    let agent = env.agent(&Script::honest());
    env.ratchet(["batch", "apply"]).embedded().agent(&agent).var(CRASH_VAR, "intend").run();
    env.ratchet(["batch", "cancel"]).ok().says("No step");
    env.ratchet(["batch", "attach"]).refused();
    assert_eq!(crate::status(&env)["running"], Value::Null);
    assert_eq!(env.agent_runs(), 0);
    assert_eq!(env.ratchet(["batch", "apply"]).agent(&agent).json()["state"], "advanced");
    assert_eq!((env.agent_runs(), outcomes(&env).len()), (1, 1));
}

// A parent that takes no note of its children's ends, as the first process of many a container.
#[test]
fn whoever_died_holds_nothing_even_while_nobody_has_taken_note_of_it() {
    let env = shop();
    let (first, agent) = held(&env);
    first.signal(Signal::KILL);
    wait::until("the apply to be gone, its threads too", || {
        !process::is_alive(first.pid()) && process::threads(first.pid()) == 1
    });
    env.write("go-on", "");
    assert_eq!(env.ratchet(["batch", "apply"]).agent(&agent).json()["state"], "advanced");
    assert_eq!((env.agent_runs(), outcomes(&env).len()), (1, 1));
}
