//! The supervisor as systemd runs it: a socket that is handed over, and what it tells about itself.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::Duration;

use ratchet_tests::{Script, TestEnv, wait};
use rustix::process::Signal;

use super::{listening, supervise_with};
use crate::shop;

/// The socket as the unit makes it.
fn made_by_systemd(env: &TestEnv) -> UnixListener {
    let folder = env.base().join("run/ratchet");
    fs::create_dir(&folder).expect("a free name");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("a folder of ours");
    UnixListener::bind(env.socket()).expect("a free name")
}

/// What it tells systemd.
struct Told(UnixDatagram);

impl Told {
    fn listen(env: &TestEnv) -> Self {
        let heard = UnixDatagram::bind(env.base().join("notify")).expect("a free name");
        heard.set_read_timeout(Some(wait::DEADLINE)).expect("a socket takes a timeout");
        Self(heard)
    }

    fn next(&self) -> String {
        let mut text = [0; 64];
        let length = self.0.recv(&mut text).expect("a word in good time");
        String::from_utf8_lossy(&text[..length]).into_owned()
    }
}

#[test]
fn a_socket_that_systemd_hands_over_is_listened_at_and_left_in_place() {
    let env = shop();
    let handed = made_by_systemd(&env);
    let supervisor = listening(env.ratchet(["supervisor", "run"]).handed(&handed).start());
    let status = env.ratchet(["supervisor", "status"]).json();
    assert_eq!(status["pid"], supervisor.pid());
    assert_eq!(status["listeners"][0], "unix:handed over by systemd");
    let agent = env.agent(&Script::honest());
    let applied = env.ratchet(["batch", "apply"]).agent(&agent).json();
    assert_eq!(applied["state"], "advanced");

    let mut supervisor = supervisor;
    env.ratchet(["supervisor", "stop"]).ok();
    assert!(
        supervisor.has_ended(),
        "it is the process that is waited for, not whoever made the socket"
    );
    supervisor.wait().assert_code(0);
    assert!(env.socket().exists(), "it is systemd's");
}

#[test]
fn a_caller_that_came_before_the_supervisor_is_answered() {
    let env = shop();
    let handed = made_by_systemd(&env);
    let early = env.ratchet(["supervisor", "status", "--json"]).start();
    let supervisor = listening(env.ratchet(["supervisor", "run"]).handed(&handed).start());
    assert_eq!(early.wait().assert_code(0).json()["pid"], supervisor.pid());
}

#[test]
fn nothing_between_systemd_and_the_supervisor_reaches_an_agent() {
    let env = shop();
    let told = Told::listen(&env);
    let handed = made_by_systemd(&env);
    let call = env.ratchet(["supervisor", "run"]).var("NOTIFY_SOCKET", env.base().join("notify"));
    let _supervisor = listening(call.handed(&handed).start());
    assert_eq!(told.next(), "READY=1");
    let agent = "readlink /proc/self/fd/* > fds; env > variables; true";
    env.ratchet(["batch", "apply"]).agent(agent).run();
    let (fds, variables) = (env.read("fds"), env.read("variables"));
    assert!(!fds.contains("socket:"), "{fds}");
    for name in ["NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID"] {
        assert!(!variables.contains(name), "{variables}");
    }
}

#[test]
fn systemd_is_told_when_calls_are_answered_that_all_is_well_and_of_the_end() {
    let env = shop();
    let told = Told::listen(&env);
    let call = env
        .ratchet(["supervisor", "run"])
        .var("NOTIFY_SOCKET", env.base().join("notify"))
        .var("WATCHDOG_USEC", "20000");
    let supervisor = supervise_with(call);
    assert_eq!(told.next(), "READY=1");
    env.ratchet(["supervisor", "status"]).ok();
    for _beat in 0..3 {
        assert_eq!(told.next(), "WATCHDOG=1");
    }
    supervisor.signal(Signal::TERM);
    let last = std::iter::repeat_with(|| told.next()).find(|word| word != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"));
    supervisor.wait().assert_code(0);
}

#[test]
fn without_a_watchdog_nothing_but_the_start_and_the_end_is_told() {
    let env = shop();
    let told = Told::listen(&env);
    let call = env.ratchet(["supervisor", "run"]).var("NOTIFY_SOCKET", env.base().join("notify"));
    let supervisor = supervise_with(call);
    env.ratchet(["supervisor", "stop"]).ok();
    supervisor.wait().assert_code(0);
    assert_eq!([told.next(), told.next()], ["READY=1", "STOPPING=1"]);
    told.0.set_read_timeout(Some(Duration::from_millis(1))).expect("a socket takes a timeout");
    assert!(told.0.recv(&mut [0; 8]).is_err());
}

/// A file of `deploy/systemd`.
fn unit(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/systemd");
    fs::read_to_string(format!("{folder}/{name}")).expect("the unit is there")
}

#[test]
fn the_units_start_what_is_there_and_listen_where_commands_look() {
    let env = shop();
    let service = unit("ratchet-supervisor.service");
    let command = service.lines().find_map(|line| line.strip_prefix("ExecStart="));
    let words = command.expect("a command").split(' ').skip(1);
    let _supervisor = supervise_with(env.ratchet(words));
    let status = env.ratchet(["supervisor", "status"]).json();
    let listener = status["listeners"][0].as_str().expect("a listener");
    let runtime_folder = env.base().join("run").display().to_string();
    let stream = listener.strip_prefix("unix:").expect("a socket").replace(&runtime_folder, "%t");
    let listen = format!("\nListenStream={stream}\n");
    assert!(unit("ratchet-supervisor.socket").contains(&listen), "no {listen}");
    assert!(service.contains("\nType=notify\n") && service.contains("\nKillMode=process\n"));
}
