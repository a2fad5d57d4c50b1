//! Where a supervisor listens: what is in its way is left as it is, what it shows is held against its caller's trust, and a
//! door that somebody took away is told.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use ratchet_tests::{Call, Script, TestEnv};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustix::process::Signal;

use super::{supervise, supervise_with};
use crate::{empty, shop};

/// Files that only this user can open, in a folder beside the project.
fn private(env: &TestEnv, name: &str, text: &str) -> PathBuf {
    let path = env.base().join(name);
    fs::write(&path, text).expect("a file of ours");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a mode");
    path
}

/// A certificate of one's own for `localhost`, and its key.
fn certificate(is_ca: IsCa) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    params.is_ca = is_ca;
    let issued = params.self_signed(&key).expect("a certificate");
    (issued.pem(), key.serialize_pem())
}

/// `supervisor run` over TLS with these files.
fn over_tls(env: &TestEnv, cert: &str, key: &str) -> Call {
    let [cert, key, token] =
        [("cert.pem", cert), ("key.pem", key), ("token", "s3cret-s3cret-s3cret")]
            .map(|(name, text)| private(env, name, text));
    env.ratchet(["supervisor", "run", "--listen", "127.0.0.1:0"])
        .args(["--tls-cert".as_ref(), cert.as_os_str(), "--tls-key".as_ref(), key.as_os_str()])
        .args(["--token-file".as_ref(), token.as_os_str()])
}

#[test]
fn what_is_no_socket_is_left_where_it_is() {
    let env = empty();
    let folder = env.base().join("run/ratchet");
    fs::create_dir(&folder).expect("a free name");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("a mode");
    let refused = || {
        let refused = env.ratchet(["supervisor", "run"]).refused();
        assert!(refused.contains("is there already, and is no socket"), "{refused}");
        assert!(refused.contains("code: cannot-listen"), "{refused}");
    };
    fs::write(env.socket(), "precious").expect("a file");
    refused();
    assert_eq!(fs::read_to_string(env.socket()).expect("it is there"), "precious");
    fs::remove_file(env.socket()).expect("it is there");

    let target = private(&env, "precious", "still here");
    std::os::unix::fs::symlink(&target, env.socket()).expect("a link");
    refused();
    assert_eq!(fs::read_link(env.socket()).expect("it is there"), target);
    fs::remove_file(env.socket()).expect("it is there");

    fs::create_dir(env.socket()).expect("a folder");
    refused();
    assert!(env.socket().is_dir());
}

#[test]
fn two_sockets_whose_names_differ_only_at_the_end_are_two() {
    let env = empty();
    let at = |name: &str| env.base().join("own").join(name).display().to_string();
    let (first, second, lock) = (at("s.one"), at("s.two"), at("s.lock"));
    let started = [&first, &second, &lock].map(|socket| supervise(&env, &["--socket", socket]));
    for (socket, supervisor) in [&first, &second, &lock].into_iter().zip(&started) {
        let status = env.ratchet(["supervisor", "status", "--socket", socket]).json();
        assert_eq!(status["pid"], supervisor.pid());
    }
    let lock = fs::metadata(format!("{first}.lock")).expect("the lock");
    assert_eq!(lock.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_refused_by_all_who_would_use_it() {
    let env = empty();
    let long = env.base().join("x".repeat(120)).display().to_string();
    for verb in ["run", "status", "stop"] {
        let refused = env.ratchet(["supervisor", verb, "--socket", &long]).refused();
        assert!(refused.contains("is too long for a socket"), "{refused}");
    }
}

#[test]
fn a_certificate_that_is_none_is_refused_before_anybody_could_call() {
    let env = empty();
    let (cert, key) = certificate(IsCa::ExplicitNoCa);
    let (_, another) = certificate(IsCa::ExplicitNoCa);
    for (cert, key) in
        [("rubbish", key.as_str()), (&cert, "rubbish"), (&cert, &another), ("", &key)]
    {
        let refused = over_tls(&env, cert, key).refused();
        assert!(refused.contains("code: cannot-listen"), "{refused}");
        assert!(!refused.contains("listening at"), "{refused}");
        assert!(!refused.contains("s3cret"), "{refused}");
        assert!(!env.socket().exists());
    }
}

#[test]
fn a_certificate_of_ones_own_does_and_an_authoritys_does_not() {
    for (is_ca, trusted) in
        [(IsCa::ExplicitNoCa, true), (IsCa::Ca(BasicConstraints::Unconstrained), false)]
    {
        let env = shop();
        let (cert, key) = certificate(is_ca);
        // Over the network no environment travels: the agent is the supervisor's.
        let agent = env.agent(&Script::honest());
        let _supervisor = supervise_with(over_tls(&env, &cert, &key).agent(&agent));
        let listeners = env.ratchet(["supervisor", "status"]).json()["listeners"].to_string();
        let port: String = listeners
            .rsplit("127.0.0.1:")
            .next()
            .expect("a last piece")
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        let place = format!("https://localhost:{port}");
        let apply = |ca: Option<&str>| {
            let call = env
                .ratchet(["batch", "apply", "--json"])
                .var("RATCHET_SUPERVISOR", &place)
                .var("RATCHET_SUPERVISOR_TOKEN_FILE", env.base().join("token"));
            match ca {
                Some(name) => call.var("RATCHET_SUPERVISOR_CA", env.base().join(name)),
                None => call,
            }
        };
        let stranger = apply(None).refused();
        assert!(stranger.contains("code: supervisor-untrusted"), "{stranger}");
        assert!(stranger.contains("RATCHET_SUPERVISOR_CA"), "{stranger}");
        if trusted {
            assert_eq!(apply(Some("cert.pem")).run().json()["state"], "advanced");
            let attach = env.ratchet(["batch", "attach"]).var("RATCHET_SUPERVISOR", &place);
            let attach = attach.var("RATCHET_SUPERVISOR_TOKEN_FILE", env.base().join("token"));
            let over = attach.var("RATCHET_SUPERVISOR_CA", env.base().join("cert.pem")).refused();
            assert!(over.contains("code: nothing-running"), "{over}");
        } else {
            let refused = apply(Some("cert.pem")).refused();
            assert!(refused.contains("code: supervisor-untrusted"), "{refused}");
            assert!(!refused.contains("no supervisor answers"), "{refused}");
        }
    }
}

#[test]
fn a_supervisor_whose_socket_was_taken_away_is_named_by_its_process() {
    let env = empty();
    let supervisor = supervise(&env, &[]);
    fs::remove_file(env.socket()).expect("it is there");
    let pid = supervisor.pid();
    for verb in ["run", "status", "stop"] {
        let refused = env.ratchet(["supervisor", verb]).refused();
        assert!(refused.contains(&format!("process {pid} (")), "{verb}: {refused}");
    }
    for verb in ["status", "stop"] {
        let refused = env.ratchet(["supervisor", verb]).refused();
        assert!(refused.contains(&format!("kill {pid}")), "{verb}: {refused}");
    }
    supervisor.signal(Signal::TERM);
    supervisor.wait().assert_code(0);
    assert_eq!(env.ratchet(["supervisor", "stop"]).json()["state"], "not-running");
}
