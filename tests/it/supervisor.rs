//! `ratchet supervisor run`, `status` and `stop`: the real daemon, asked by the real commands.

mod door;
mod log;
mod systemd;

use ratchet_tests::{Action, Call, Finished, Manifest, Running, Script, TestEnv, wait};
use rustix::process::Signal;
use serde_json::Value;

use crate::{empty, shop};

/// Starts a supervisor and waits until it listens.
fn supervise(env: &TestEnv, arguments: &[&str]) -> Running {
    supervise_with(env.ratchet(["supervisor", "run"]).args(arguments))
}

fn supervise_with(call: Call) -> Running {
    listening(call.start())
}

fn listening(mut supervisor: Running) -> Running {
    wait::until("the supervisor to listen", || {
        supervisor.stderr_so_far().contains("listening at ") || supervisor.has_ended()
    });
    supervisor
}

/// An agent that is there, waits for the file `go`, and then does its step.
fn held(env: &TestEnv) -> String {
    env.agent(&Script::always([
        Action::ran("held"),
        Action::write("here", ""),
        Action::WaitFor { path: "go".to_owned() },
        Action::Plan { change: Some("add-api".to_owned()), tasks: 1 },
        Action::complete("planned"),
    ]))
}

/// Has the supervisor begin a step that waits for the file `go`.
fn begin_a_step(env: &TestEnv) -> Running {
    let apply = env.ratchet(["batch", "apply", "shop", "--json"]).agent(&held(env)).start();
    wait::until_exists(&env.path("here"));
    apply
}

fn until_recorded(env: &TestEnv) {
    wait::until("the outcome to be recorded", || {
        !env.path(".ratchet/batches/shop/run/inflight.json").exists() && outcomes(env) > 0
    });
}

fn outcomes(env: &TestEnv) -> usize {
    env.journal("shop").iter().filter(|entry| entry.get("transition").is_some()).count()
}

fn steps(document: &Value, of: &str) -> Vec<String> {
    let steps = document[of].as_array().into_iter().flatten();
    steps.map(|step| step["batch"].as_str().expect("a batch's step").to_owned()).collect()
}

#[test]
fn a_supervisor_says_who_it_is_until_it_is_stopped_and_gone() {
    let env = shop();
    let supervisor = supervise(&env, &["--capacity", "3"]);
    let status = env.ratchet(["supervisor", "status"]).json();
    assert_eq!(status["pid"], supervisor.pid());
    assert_eq!(status["capacity"], 3);
    assert_eq!(status["draining"], false);
    assert_eq!(status["listeners"][0], format!("unix:{}", env.socket().display()));
    assert_eq!(status["projects"], Value::Array(Vec::new()));
    env.ratchet(["supervisor", "status"]).ok().says("capacity   3 commands at a time");

    let mut supervisor = supervisor;
    let stopped = env.ratchet(["supervisor", "stop"]).json();
    assert!(supervisor.has_ended(), "stop returns only when the process is gone");
    assert_eq!(stopped["state"], "stopped");
    assert_eq!(stopped["pid"], supervisor.pid());
    assert!(!env.socket().exists());
    supervisor.wait().assert_code(0);
}

#[test]
fn where_none_answers_status_says_how_to_start_one_and_stop_has_nothing_to_do() {
    let env = shop();
    let refused = env.ratchet(["supervisor", "status"]).refused();
    assert!(refused.contains("ratchet supervisor run"), "{refused}");
    assert!(refused.contains("code: supervisor-not-running"), "{refused}");
    assert_eq!(env.ratchet(["supervisor", "stop"]).json()["state"], "not-running");
    env.ratchet(["supervisor", "stop"]).ok().says("No supervisor is running at unix:");

    // One that was killed leaves its socket behind, which answers nobody.
    let supervisor = supervise(&env, &[]);
    supervisor.signal(Signal::KILL);
    supervisor.wait();
    assert!(env.socket().exists());
    env.ratchet(["supervisor", "status"]).refused();
    let next = supervise(&env, &[]);
    assert_eq!(env.ratchet(["supervisor", "status"]).json()["pid"], next.pid());
}

#[test]
fn a_second_supervisor_at_the_same_socket_is_refused_and_harms_nothing() {
    let env = empty();
    let first = supervise(&env, &[]);
    let refused = env.ratchet(["supervisor", "run"]).refused();
    assert!(refused.contains("a supervisor is already running at"), "{refused}");
    assert!(refused.contains("code: supervisor-running"), "{refused}");
    assert_eq!(env.ratchet(["supervisor", "status"]).json()["pid"], first.pid());
}

#[test]
fn a_supervisor_at_another_socket_is_found_by_a_flag_or_by_the_environment() {
    let env = empty();
    let path = env.base().join("elsewhere/s.sock");
    let text = path.to_str().expect("a path that is text");
    let supervisor = supervise(&env, &["--socket", text]);
    let by_flag = env.ratchet(["supervisor", "status", "--socket", text]).json();
    let named = format!("unix:{text}");
    let by_name = env.ratchet(["supervisor", "status"]).var("RATCHET_SUPERVISOR", &named).json();
    assert_eq!(by_flag["pid"], supervisor.pid());
    assert_eq!(by_name, by_flag);
    env.ratchet(["supervisor", "status"]).refused();
    let embedded = env.ratchet(["supervisor", "status"]).var("RATCHET_SUPERVISOR", "embedded");
    assert!(embedded.refused().contains("--socket"));
}

#[test]
fn a_step_that_waits_for_room_is_told_as_such_by_whoever_is_asked() {
    let env = shop();
    env.add_batch(&Manifest::of_changes("web", &["add-page"]));
    let _supervisor = supervise(&env, &["--capacity", "1"]);
    let first = begin_a_step(&env);
    let second = env.ratchet(["batch", "apply", "web", "--json"]).agent(&held(&env)).start();
    let status = || env.ratchet(["supervisor", "status"]).json();
    wait::until("the second to wait", || steps(&status(), "active") == ["shop", "web"]);
    let active = &status()["active"];
    assert_eq!((&active[0]["state"], active[0].get("before")), (&"running".into(), None));
    assert_eq!((&active[1]["state"], &active[1]["before"]), (&"waiting".into(), &0.into()));
    env.ratchet(["supervisor", "status"]).ok().says("waits for room, 0 before it");
    let of = |batch: &str| env.ratchet(["batch", "status", batch]);
    assert_eq!(of("shop").json()["running"]["state"], "running");
    assert_eq!(of("web").json()["running"]["state"], "waiting");
    of("web").ok().says("Waiting to start: propose of add-page");

    let called_off = env.ratchet(["batch", "cancel", "web"]).json();
    assert_eq!(called_off["state"], "called-off");
    second.wait().assert_code(1);
    env.write("go", "");
    first.wait().assert_code(0);
    assert_eq!(env.agent_runs(), 1);
}

#[test]
fn a_step_that_is_left_goes_on_and_is_recorded_by_the_next_supervisor() {
    let env = shop();
    let supervisor = supervise(&env, &[]);
    let apply = begin_a_step(&env);
    let status = env.ratchet(["supervisor", "status"]).json();
    assert_eq!(steps(&status, "active"), ["shop"]);
    assert_eq!(status["projects"][0], env.root().to_str().expect("a path that is text"));

    let stopped = env.ratchet(["supervisor", "stop"]).json();
    assert_eq!(steps(&stopped, "active"), ["shop"]);
    assert_eq!(steps(&stopped, "unfinished"), ["shop"]);
    supervisor.wait().assert_code(0);
    apply.wait().assert_code(1);
    env.write("go", "");
    let mut next = supervise(&env, &[]);
    until_recorded(&env);
    assert_eq!((env.agent_runs(), outcomes(&env)), (1, 1));
    wait::until("the log to have it", || next.stderr_so_far().contains("a step is over"));
    assert!(next.stderr_so_far().contains("a step is found running"), "{}", next.wait());
}

#[test]
fn a_supervisor_that_stood_still_while_its_step_ended_goes_on_and_answers() {
    let env = shop();
    let supervisor = supervise(&env, &[]);
    let apply = begin_a_step(&env);
    supervisor.signal(Signal::STOP);
    env.write("go", "");
    wait::until("the agent and its shim to end", || {
        let others = [supervisor.pid(), apply.pid()];
        env.processes().iter().all(|process| others.contains(&process.pid))
    });
    assert_eq!(outcomes(&env), 0, "nobody was awake to record it");
    supervisor.signal(Signal::CONT);
    assert_eq!(apply.wait().assert_code(0).json()["state"], "advanced");
    assert_eq!((env.agent_runs(), outcomes(&env)), (1, 1));
}

#[test]
fn a_stop_that_drains_waits_for_the_step_and_begins_none() {
    let env = shop();
    let supervisor = supervise(&env, &[]);
    let apply = begin_a_step(&env);
    let mut stop = env.ratchet(["supervisor", "stop", "--drain", "--json"]).start();
    wait::until("the supervisor to drain", || {
        env.ratchet(["supervisor", "status"]).json()["draining"] == true
    });
    assert!(!stop.has_ended());
    let refused = env.ratchet(["batch", "apply"]).agent(&held(&env)).refused();
    assert!(refused.contains("supervisor-stopping"), "{refused}");
    env.write("go", "");
    let stopped = stop.wait().assert_code(0).json();
    assert_eq!(steps(&stopped, "active"), ["shop"]);
    assert_eq!(steps(&stopped, "unfinished"), [""; 0]);
    assert_eq!(apply.wait().assert_code(0).json()["state"], "advanced");
    supervisor.wait().assert_code(0);
    assert_eq!(outcomes(&env), 1);
}

#[test]
fn a_drain_ends_with_its_timeout_and_says_what_goes_on() {
    let env = shop();
    let supervisor = supervise(&env, &[]);
    let _apply = begin_a_step(&env);
    let stop = env.ratchet(["supervisor", "stop", "--drain", "--timeout", "50ms"]).ok();
    assert!(stop.stdout().contains("1 step goes on without it"), "{stop}");
    assert!(stop.stdout().contains("batch shop"), "{stop}");
    supervisor.wait().assert_code(0);
    env.write("go", "");
    env.ratchet(["batch", "apply"]).agent("false").ok();
    assert_eq!((env.agent_runs(), outcomes(&env)), (1, 1));
}

#[test]
fn a_second_stop_ends_a_drain_at_once() {
    let env = shop();
    let supervisor = supervise(&env, &[]);
    let _apply = begin_a_step(&env);
    let first = env.ratchet(["supervisor", "stop", "--drain"]).start();
    wait::until("the supervisor to drain", || {
        env.ratchet(["supervisor", "status"]).json()["draining"] == true
    });
    env.ratchet(["supervisor", "stop"]).ok();
    first.wait().assert_code(0);
    supervisor.wait().assert_code(0);
    assert_eq!(outcomes(&env), 0);
}

#[test]
fn a_signal_ends_it_in_order_and_leaves_its_step() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let env = shop();
        let supervisor = supervise(&env, &[]);
        let _apply = begin_a_step(&env);
        supervisor.signal(signal);
        let ended = supervisor.wait().assert_code(0);
        assert!(ended.stderr().contains("stopping") && ended.stderr().contains("stopped"));
        assert!(!env.socket().exists());
        assert_eq!(outcomes(&env), 0);
        env.write("go", "");
        env.ratchet(["batch", "apply"]).agent("false").ok();
        assert_eq!((env.agent_runs(), outcomes(&env)), (1, 1));
    }
}

#[test]
fn a_signal_that_drains_waits_and_a_second_one_does_not() {
    let env = shop();
    let mut supervisor = supervise(&env, &["--on-signal", "drain"]);
    let _apply = begin_a_step(&env);
    supervisor.signal(Signal::TERM);
    wait::until("the drain", || supervisor.stderr_so_far().contains("stopping"));
    assert_eq!(env.ratchet(["supervisor", "status"]).json()["draining"], true);
    supervisor.signal(Signal::TERM);
    supervisor.wait().assert_code(0);
    assert_eq!(outcomes(&env), 0);

    let supervisor = supervise(&env, &["--on-signal", "drain", "--drain-timeout", "1h"]);
    wait::until("the step to be found", || {
        steps(&env.ratchet(["supervisor", "status"]).json(), "active") == ["shop"]
    });
    supervisor.signal(Signal::TERM);
    env.write("go", "");
    supervisor.wait().assert_code(0);
    assert_eq!(outcomes(&env), 1);
}

#[test]
fn a_supervisor_may_open_all_the_files_it_can_and_its_agents_what_a_shell_gives_them() {
    let env = shop();
    let limited = env.ratchet(["supervisor", "run"]).with_open_files(200);
    let supervisor = supervise_with(limited);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", supervisor.pid()));
    let limits = limits.expect("the kernel tells");
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let words: Vec<&str> = line.expect("a line").split_ascii_whitespace().collect();
    assert_eq!(words[3], words[4], "{limits}");
    assert_ne!(words[3], "200", "{limits}");
    env.ratchet(["batch", "apply"]).agent("ulimit -Sn > limit; ulimit -Hn >> limit").run();
    assert_eq!(env.read("limit"), format!("200\n{}\n", words[4]));
}

#[test]
fn what_cannot_be_set_up_is_refused_before_it_listens() {
    let env = empty();
    let refused = |arguments: &[&str]| -> String {
        let refused = env.ratchet(["supervisor", "run"]).args(arguments).refused();
        assert!(!env.socket().exists(), "{refused}");
        refused
    };
    assert!(refused(&["--group", "no-such-group"]).contains("code: bad-setup"));
    assert!(refused(&["--drain-timeout", "5s"]).contains("--on-signal drain"));
    assert!(refused(&["--drain-timeout", "soon"]).contains("a duration is a number"));
    for capacity in ["0", "10001", "99999999999", "-1", "many"] {
        let refused = refused(&[&format!("--capacity={capacity}")]);
        assert!(refused.contains("a number from 1 to 10000"), "{refused}");
    }
    assert!(refused(&["--listen", "127.0.0.1:0"]).contains("--token-file"));
    let loud = env.ratchet(["supervisor", "run"]).var("RATCHET_LOG", "loud").refused();
    assert!(loud.contains("RATCHET_LOG is 'loud'"), "{loud}");
    std::fs::create_dir(env.base().join("run/ratchet")).expect("a free name");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(env.base().join("run/ratchet"), open).expect("a folder of ours");
    assert!(refused(&[]).contains("chmod 700"));
}

#[test]
fn help_of_each_verb_has_examples() {
    let env = empty();
    for verb in ["run", "status", "stop"] {
        let help: Finished = env.ratchet(["supervisor", verb, "--help"]).ok();
        assert!(help.stdout().contains(&format!("\n  ratchet supervisor {verb}")), "{help}");
    }
}
