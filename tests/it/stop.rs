//! Stopping a running step, following it, and looking back at it: signals, `cancel`, `attach`, `log`.

use ratchet_tests::{Action, Call, Running, Script, TestEnv, wait};
use rustix::process::Signal;

use crate::{apply, shop};

/// An apply whose agent does `actions` and then hangs.
fn hanging(env: &TestEnv, actions: impl IntoIterator<Item = Action>) -> Running {
    hanging_in(env, actions, |call| call)
}

fn hanging_in(
    env: &TestEnv,
    actions: impl IntoIterator<Item = Action>,
    call: impl FnOnce(Call) -> Call,
) -> Running {
    let all = [Action::ran("hangs"), Action::say("here I am")]
        .into_iter()
        .chain(actions)
        .chain([Action::write("agent-is-here", ""), Action::Hang]);
    let agent = env.agent(&Script::always(all));
    let running = call(env.ratchet(["batch", "apply"])).agent(&agent).start();
    wait::until_exists(&env.path("agent-is-here"));
    running
}

fn assert_stopped_and_resumable(env: &TestEnv) {
    env.wait_until_empty();
    assert!(!env.path(".ratchet/batches/shop/run/step.lock").exists(), "the lock is free");
    assert!(!env.path(".ratchet/batches/shop/run/inflight.json").exists(), "the intent is settled");
    let entries = env.journal("shop");
    assert_eq!(entries.len(), 1, "the stop is recorded once: {entries:#?}");
    if !env.park("shop", "add-api").is_null() {
        env.ratchet(["batch", "report", "--change", "add-api", "--answer", "go on"]).ok();
    }
    assert_eq!(apply(env, &Script::honest())["state"], "advanced");
}

#[test]
fn a_signal_ends_the_agent_frees_the_lock_and_ends_ratchet_by_the_same_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let env = shop();
        let running = hanging(&env, []);
        running.signal(signal);
        let finished = running.wait();
        assert_eq!(finished.signal, Some(signal.as_raw()), "{finished}");
        assert_stopped_and_resumable(&env);
    }
}

#[test]
fn what_the_agent_started_is_ended_with_it() {
    let env = shop();
    let daemon = |ready: &str| vec![Action::NewSession, Action::write(ready, ""), Action::Hang];
    let running = hanging(
        &env,
        [
            Action::Background { actions: daemon("daemon-1") },
            Action::Background {
                actions: vec![
                    Action::NewSession,
                    Action::Background { actions: daemon("daemon-2") },
                ],
            },
            Action::wait_for("daemon-1"),
            Action::wait_for("daemon-2"),
        ],
    );
    running.signal(Signal::TERM);
    running.wait();
    assert_stopped_and_resumable(&env);
}

#[test]
fn an_agent_that_ignores_the_request_is_killed_after_the_grace() {
    let env = shop();
    let deaf =
        Action::IgnoreTerm { actions: vec![Action::write("agent-is-here", ""), Action::Hang] };
    let script = Script::always([Action::ran("deaf"), deaf]);
    let running = env.ratchet(["batch", "apply"]).agent(&env.agent(&script)).start();
    wait::until_exists(&env.path("agent-is-here"));
    running.signal(Signal::TERM);
    running.wait();
    assert_stopped_and_resumable(&env);
}

#[test]
fn a_second_signal_ends_ratchet_at_once_and_the_shim_goes_on_stopping() {
    let env = shop();
    let deaf =
        Action::IgnoreTerm { actions: vec![Action::write("agent-is-here", ""), Action::Hang] };
    let running =
        env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::always([deaf]))).start();
    wait::until_exists(&env.path("agent-is-here"));
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    let finished = running.wait();
    assert_eq!(finished.signal, Some(Signal::INT.as_raw()), "{finished}");
    env.wait_until_empty();
}

#[test]
fn a_proof_that_runs_is_stopped_too() {
    let env = ratchet_tests::TestEnv::with_batch(
        crate::PROGRAMS,
        &ratchet_tests::Manifest::new("shop").phase(
            ratchet_tests::Phase::new("p1")
                .proof(": > proof-runs; exec sleep 600", "exit code 0")
                .change("a"),
        ),
    );
    env.add_done("shop", "a");
    let running = env.ratchet(["batch", "apply"]).start();
    wait::until_exists(&env.path("proof-runs"));
    running.signal(Signal::TERM);
    running.wait();
    env.wait_until_empty();
    assert_ne!(crate::status(&env)["status"], "done");
}

#[test]
fn cancel_stops_the_step_from_another_terminal() {
    let env = shop();
    let running = hanging(&env, []);
    env.ratchet(["batch", "cancel"]).ok();
    let finished = running.wait();
    assert_eq!(finished.code, Some(0), "a recorded outcome exits 0:\n{finished}");
    assert_stopped_and_resumable(&env);
}

#[test]
fn cancel_stops_a_step_whose_apply_has_died() {
    let env = shop();
    let running = hanging_in(&env, [], Call::embedded);
    running.signal(Signal::KILL);
    running.wait();
    env.ratchet(["batch", "cancel"]).ok();
    env.wait_until_empty();
    let step = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).json();
    assert_eq!(step["state"], "blocked", "the stopped step is judged first: {step:#}");
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn there_is_nothing_to_cancel_when_nothing_runs() {
    let finished = shop().ratchet(["batch", "cancel"]).run();
    assert!(matches!(finished.code, Some(0 | 1)), "{finished}");
    assert!(!(finished.stdout() + &finished.stderr()).is_empty());
}

#[test]
fn attach_follows_a_running_step_from_its_first_byte_and_ends_with_it() {
    let env = shop();
    let running = hanging(&env, []);
    let mut follower = env.ratchet(["batch", "attach", "--from", "0"]).start();
    wait::until("the agent's line", || follower.stdout_so_far().contains("here I am"));
    running.signal(Signal::TERM);
    running.wait();
    follower.wait().assert_code(0);
}

#[test]
fn ending_a_follower_leaves_the_step_alone() {
    let env = shop();
    let script = Script::always([
        Action::say("here I am"),
        Action::write("agent-is-here", ""),
        Action::wait_for("go-on"),
    ]);
    let mut running = env.ratchet(["batch", "apply"]).agent(&env.agent(&script)).start();
    wait::until_exists(&env.path("agent-is-here"));
    let mut follower = env.ratchet(["batch", "attach", "--from", "0"]).start();
    wait::until("the agent's line", || follower.stdout_so_far().contains("here I am"));
    follower.signal(Signal::INT);
    follower.wait();
    assert!(!running.has_ended());
    env.write("go-on", "");
    running.wait().assert_code(0);
}

#[test]
fn the_log_lists_the_steps_and_shows_what_each_printed() {
    let env = shop();
    apply(&env, &Script::always([Action::say("first words"), Action::exit(1)]));
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "again"]).ok();
    apply(&env, &Script::always([Action::say("second words"), Action::exit(1)]));
    let list = env.ratchet(["batch", "log"]).ok().says("add-api");
    assert!(list.stdout().lines().filter(|line| line.contains("add-api")).count() >= 2, "{list}");
    env.ratchet(["batch", "log", "--last"]).ok().says("second words");
    assert_eq!(env.ratchet(["batch", "log", "--last", "--raw"]).ok().stdout(), "second words\n");
    let _document = env.ratchet(["batch", "log"]).json();
}
