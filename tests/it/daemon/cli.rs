//! The command line at a supervisor: the same words, the same documents and the same exits as without one.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;

use ratchet_supervisor::grpc::service::Ending;
use ratchet_tests::{Action, Call, Finished, Manifest, Phase, Script, TestEnv, wait};
use rustix::process::Signal;
use serde_json::Value;

use super::held::{held, outcomes, until_recorded};
use super::hosted::Hosted;
use crate::{shop, with};

/// What must be the same in two worlds: everything but what is new in each run.
fn same(env: &TestEnv, finished: &Finished) -> (Option<i32>, String, String) {
    let told = |text: String| {
        let text = text.replace(&env.base().display().to_string(), "WORLD");
        let mut words = Vec::new();
        for word in text.split_inclusive(char::is_whitespace) {
            // A spawn's id and a moment are new each time.
            let is_new = word.matches('-').count() >= 4 || word.matches(':').count() >= 2;
            words.push(if is_new { "NEW " } else { word });
        }
        words.concat()
    };
    (finished.code, told(finished.stdout()), told(finished.stderr()))
}

/// Does the same here and at a supervisor, and demands the same answer.
fn alike(make: impl Fn() -> TestEnv, calls: impl Fn(&TestEnv) -> Vec<Call>) {
    let [here, there] = [make(), make()];
    let hosted = Hosted::start(&there, 1);
    for (alone, through) in calls(&here).into_iter().zip(calls(&there)) {
        let (alone, through) = (alone.run(), through.run());
        assert_eq!(same(&here, &alone), same(&there, &through), "{alone}\n{through}");
    }
    hosted.end(Ending::Leave);
}

#[test]
fn a_whole_batch_reads_the_same_with_and_without_a_supervisor() {
    let proven = || {
        let proof = Phase::new("p1").change("add-api").proof("echo proven", "proven");
        with(&Manifest::new("shop").phase(proof))
    };
    for words in [&["batch", "apply"][..], &["batch", "apply", "--json"]] {
        alike(proven, |env| {
            let agent = env.agent(&Script::honest());
            std::iter::repeat_with(|| env.ratchet(words).agent(&agent)).take(5).collect()
        });
    }
    for words in [&["batch", "run"][..], &["batch", "run", "--json", "--exit-code"]] {
        alike(proven, |env| vec![env.ratchet(words).agent(&env.agent(&Script::honest()))]);
    }
}

#[test]
fn questions_failures_and_refusals_read_the_same() {
    let asks = [Action::report("needs-input", "which colour?"), Action::say("waiting")];
    let script = Script::always(asks);
    alike(shop, |env| {
        let agent = env.agent(&script);
        vec![
            env.ratchet(["batch", "apply", "--json"]).agent(&agent),
            env.ratchet(["batch", "apply"]).agent(&agent),
            env.ratchet(["batch", "apply", "--exit-code"]).agent(&agent),
            env.ratchet(["batch", "run", "--exit-code"]).agent(&agent),
        ]
    });
    alike(shop, |env| {
        let agent = env.agent(&Script::always([Action::Exit { code: 7 }]));
        vec![
            env.ratchet(["batch", "apply"]).agent(&agent),
            env.ratchet(["propose", "stand alone", "--name", "alone"]).agent(&agent),
            env.ratchet(["apply", "nobody"]).agent(&agent),
            env.ratchet(["batch", "apply", "shoe"]).agent(&agent),
            env.ratchet(["batch", "apply", "--json"]).agent("no-such-program"),
        ]
    });
}

#[test]
fn a_signal_to_the_command_stops_its_step_at_the_supervisor() {
    for (signal, word) in [(Signal::INT, "interrupt"), (Signal::TERM, "SIGTERM")] {
        let env = shop();
        let hosted = Hosted::start(&env, 1);
        let running = env.ratchet(["batch", "apply"]).agent(&held(&env)).start();
        wait::until_exists(&env.path("here"));
        running.signal(signal);
        let finished = running.wait();
        assert_eq!(finished.signal, Some(signal.as_raw()), "{finished}");
        let entry = &outcomes(&env, "shop")[0];
        assert!(entry["message"].as_str().unwrap().contains(word), "{entry:#}");
        hosted.end(Ending::Leave);
        env.wait_until_empty();
    }
}

#[test]
fn a_change_of_its_own_is_stopped_the_same_way() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let running = env.ratchet(["propose", "x", "--name", "alone"]).agent(&held(&env)).start();
    wait::until_exists(&env.path("here"));
    running.signal(Signal::INT);
    assert_eq!(running.wait().signal, Some(Signal::INT.as_raw()));
    assert!(!env.change_journal("alone").is_empty());
    hosted.end(Ending::Leave);
    env.wait_until_empty();
}

#[test]
fn a_command_that_is_killed_leaves_its_step_to_the_supervisor() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let running = env.ratchet(["batch", "apply"]).agent(&held(&env)).start();
    wait::until_exists(&env.path("here"));
    running.signal(Signal::KILL);
    running.wait();
    env.write("go", "");
    until_recorded(&env, "shop");
    assert_eq!((env.agent_runs(), outcomes(&env, "shop").len()), (1, 1));
    hosted.end(Ending::Leave);
}

#[test]
fn cancel_and_attach_reach_the_step_of_a_supervisor() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let running = env.ratchet(["batch", "apply", "--json"]).agent(&held(&env)).start();
    wait::until_exists(&env.path("here"));
    let mut attached = env.ratchet(["batch", "attach", "--from", "0"]).start();
    wait::until("the output so far to be shown", || attached.stdout_so_far().contains("before"));
    let cancelled = env.ratchet(["batch", "cancel"]).json();
    assert_eq!((&cancelled["state"], &cancelled["change"]), (&"stopped".into(), &"add-api".into()));
    attached.wait().assert_code(0);
    let report: Value = running.wait().assert_code(0).json();
    assert_eq!((&report["state"], &report["cause"]), (&"blocked".into(), &"stopped".into()));
    let none = env.ratchet(["batch", "cancel"]).json();
    assert_eq!(none["state"], "nothing-running");
    hosted.end(Ending::Leave);
}

#[test]
fn a_supervisor_that_leaves_says_so_and_the_same_command_goes_on_without_it() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = held(&env);
    let running = env.ratchet(["batch", "apply", "--json"]).agent(&agent).start();
    wait::until_exists(&env.path("here"));
    hosted.end(Ending::Leave);
    let left = running.wait().assert_code(1);
    assert!(left.stderr().contains("code: supervisor-stopping"), "{left}");
    let again = env.ratchet(["batch", "apply", "--json"]).agent(&agent).start();
    env.write("go", "");
    assert_eq!(again.wait().assert_code(0).json()["state"], "advanced");
    assert_eq!((env.agent_runs(), outcomes(&env, "shop").len()), (1, 1));
}

#[test]
fn a_supervisor_that_dies_is_told_and_the_next_one_has_recorded_the_step() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let running = env.ratchet(["batch", "apply", "--json"]).agent(&held(&env)).start();
    wait::until_exists(&env.path("here"));
    hosted.kill();
    let cut = running.wait().assert_code(1);
    assert!(cut.stderr().contains("code: supervisor-lost"), "{cut}");
    let next = Hosted::start(&env, 1);
    env.write("go", "");
    until_recorded(&env, "shop");
    assert_eq!(env.agent_runs(), 1);
    next.end(Ending::Leave);
}

#[test]
fn a_socket_that_nobody_listens_at_is_no_supervisor() {
    let env = shop();
    Hosted::start(&env, 1).kill();
    drop(UnixListener::bind(env.socket()).unwrap());
    let report = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).json();
    assert_eq!(report["state"], "advanced");
}

#[test]
fn a_supervisor_that_says_nothing_is_not_waited_for() {
    let env = shop();
    std::fs::create_dir(env.base().join("run/ratchet")).unwrap();
    let _silent = UnixListener::bind(env.socket()).unwrap();
    let refused = env.ratchet(["batch", "apply"]).agent("true").refused();
    assert!(refused.contains("does not answer"), "{refused}");
    assert!(refused.contains("RATCHET_SUPERVISOR=embedded"), "{refused}");
}

#[test]
fn a_supervisor_that_is_named_and_not_there_is_an_error_that_says_what_to_type() {
    let env = shop();
    let named = |place: &str| {
        let call = env.ratchet(["batch", "apply"]).var("RATCHET_SUPERVISOR", place);
        call.agent(&env.agent(&Script::honest())).refused()
    };
    let gone = named("unix:/no/such/socket");
    assert!(gone.contains("no supervisor answers at unix:/no/such/socket"), "{gone}");
    assert!(gone.contains("ratchet supervisor run") && gone.contains("supervisor-unreachable"));
    for odd in ["tcp://x", "unix:relative", "http://localhost:1", "https://localhost:1"] {
        let refused = named(odd);
        assert!(refused.contains("code: bad-supervisor"), "{odd}: {refused}");
    }
    assert!(env.journal("shop").is_empty() && env.agent_runs() == 0);
}

#[test]
fn another_users_supervisor_is_told_as_such() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let folder = env.socket().parent().expect("a folder").to_owned();
    let mode = |mode| std::fs::set_permissions(&folder, Permissions::from_mode(mode));
    mode(0o000).expect("a folder of ours");
    let refused = env.ratchet(["supervisor", "status"]).without_privileges().refused();
    mode(0o700).expect("a folder of ours");
    assert!(refused.contains("another user's") && refused.contains("--group"), "{refused}");
    hosted.end(Ending::Leave);
}

#[test]
fn embedded_does_without_a_supervisor_that_is_there() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let call = env.ratchet(["batch", "apply", "--json"]).var("RATCHET_SUPERVISOR", "embedded");
    let running = call.agent(&held(&env)).start();
    wait::until_exists(&env.path("here"));
    hosted.kill();
    env.write("go", "");
    assert_eq!(running.wait().assert_code(0).json()["state"], "advanced");
}
