//! The supervisor's log: a line for each thing that a person would look for, and nothing that nobody should read.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use ratchet_tests::{Action, Script, TestEnv};

use super::{supervise, supervise_with};
use crate::shop;

const TOKEN: &str = "t0ken-t0ken-t0ken";
const VALUE: &str = "hunter2-hunter2";
const WORDS: &str = "what-the-agent-says";

/// A file that only this user can open.
fn secret(env: &TestEnv, name: &str, text: &str) -> String {
    let path = env.base().join(name);
    fs::write(&path, text).expect("a file is written");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a file of ours");
    path.to_str().expect("a path that is text").to_owned()
}

#[test]
fn a_start_a_project_a_step_a_refusal_and_the_end_have_a_line_each() {
    let env = shop();
    let supervisor = supervise(&env, &[]);
    env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).ok();
    env.ratchet(["batch", "apply"]).var("RATCHET_AGENT_TIMEOUT_MS", "x").agent("true").run();
    env.ratchet(["supervisor", "stop"]).ok();
    let log = supervisor.wait().assert_code(0).stderr();
    let root = env.root().display().to_string();
    for (line, more) in [
        ("listening at unix:", "end it with 'ratchet supervisor stop'"),
        ("a project is known from now on", root.as_str()),
        ("a step begins", "key=add-api step=\"propose\""),
        ("a step is over", "state=\"advanced\""),
        ("stopping", "steps=0"),
        ("stopped", ""),
    ] {
        let found: Vec<&str> = log.lines().filter(|told| told.contains(line)).collect();
        assert!(found.iter().any(|told| told.contains(more)), "{line} … {more}:\n{log}");
    }
    assert!(!log.contains('\u{1b}'), "no colours in a file:\n{log}");
}

#[test]
fn nothing_secret_is_in_the_log_however_much_is_told() {
    let env = shop();
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()])
        .expect("a certificate is made");
    let key = issued.signing_key.serialize_pem();
    let cert = secret(&env, "cert.pem", &issued.cert.pem());
    let (key_file, token) = (secret(&env, "key.pem", &key), secret(&env, "token", TOKEN));
    let files = ["--tls-cert", &cert, "--tls-key", &key_file, "--token-file", &token];
    let call = env
        .ratchet(["supervisor", "run", "--listen", "127.0.0.1:0"])
        .args(files)
        .var("RATCHET_LOG", "trace")
        .var("OWN_SECRET", VALUE);
    let supervisor = supervise_with(call);
    let status = env.ratchet(["supervisor", "status"]).json();
    let network = status["listeners"][1].as_str().expect("a second listener");
    let network = network.replace("127.0.0.1", "localhost");
    let remote = |token: &str| {
        env.ratchet(["supervisor", "status"])
            .var("RATCHET_SUPERVISOR", &network)
            .var("RATCHET_SUPERVISOR_TOKEN_FILE", token)
            .var("RATCHET_SUPERVISOR_CA", &cert)
    };
    assert_eq!(remote(&token).json(), status);
    let wrong = secret(&env, "wrong", "another-t0ken-of-theirs");
    assert!(remote(&wrong).refused().contains("code: bad-token"));
    let says = env.agent(&Script::always([
        Action::Print { text: WORDS.to_owned() },
        Action::PrintError { text: WORDS.to_owned() },
        Action::Plan { change: Some("add-api".to_owned()), tasks: 1 },
        Action::complete(WORDS),
    ]));
    let apply = env.ratchet(["batch", "apply", "--json"]).var("API_KEY", VALUE).agent(&says);
    assert!(apply.ok().stderr().contains(WORDS));
    env.ratchet(["supervisor", "stop"]).ok();
    let log = supervisor.wait().assert_code(0).stderr();
    assert!(log.contains("a step is over") && log.contains("somebody was turned away"), "{log}");
    let middle_of_key = &key[60..120];
    for nothing in [TOKEN, "another-t0ken", VALUE, WORDS, middle_of_key] {
        assert!(!log.contains(nothing), "{nothing} is in the log:\n{log}");
    }
}

#[test]
fn a_key_that_others_can_open_is_refused_by_its_name_alone() {
    let env = shop();
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()])
        .expect("a certificate is made");
    let cert = secret(&env, "cert.pem", &issued.cert.pem());
    let key = secret(&env, "key.pem", &issued.signing_key.serialize_pem());
    let token = secret(&env, "token", TOKEN);
    let run = || {
        let files = ["--tls-cert", &cert, "--tls-key", &key, "--token-file", &token];
        env.ratchet(["supervisor", "run", "--listen", "127.0.0.1:0"]).args(files).refused()
    };
    for open in [&key, &token] {
        fs::set_permissions(open, Permissions::from_mode(0o644)).expect("a file of ours");
        let refused = run();
        assert!(refused.contains(&format!("chmod 600 {open}")), "{refused}");
        assert!(!refused.contains(TOKEN), "{refused}");
        fs::set_permissions(open, Permissions::from_mode(0o600)).expect("a file of ours");
    }
    fs::write(&token, "short").expect("a file is written");
    assert!(run().contains("can be guessed"));
}
