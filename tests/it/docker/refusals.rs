//! Everything that can stand in the way: each is told in words, with what to type next, before anything is spent; the
//! step can simply be tried again.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};

use ratchet_tests::Call;

use super::world;
use crate::runtime::{HONEST, World};

/// Runs a call that is refused, maybe after it has told what it tries, and gives what it says.
#[track_caller]
pub(super) fn told(call: Call) -> String {
    let finished = call.run().assert_code(1);
    assert!(finished.stderr().contains("Error: "), "no error text:\n{finished}");
    finished.stderr()
}

/// Asserts that a call is refused for the reason of that code, that it says these words, and that nothing was left.
#[track_caller]
fn refused(world: &World, call: Call, code: &str, words: &[&str]) {
    let error = told(call.agent("touch ran"));
    assert!(error.contains(code), "{code} is not the reason:\n{error}");
    assert!(error.contains("help: "), "no help:\n{error}");
    for word in words {
        assert!(error.contains(word), "`{word}` is not said:\n{error}");
    }
    assert!(!world.env.path("ran").exists(), "an agent ran");
    world.assert_clean();
    assert!(world.env.park("shop", "add-api").is_null(), "nobody has to answer for that");
}

fn apply(world: &World) -> Call {
    world.env.ratchet(["batch", "apply"])
}

// B-R04
#[test]
fn no_engine() {
    let world = world(&[]);
    let call = apply(&world).var("DOCKER_HOST", "unix:///nowhere/docker.sock");
    refused(
        &world,
        call,
        "docker-not-available",
        &["Docker not available", "locus=docker", "/nowhere/docker.sock", "locus=local"],
    );
    assert_eq!(world.step(HONEST)["state"], "advanced", "the next try works");
}

#[test]
fn an_engine_that_does_not_answer() {
    let world = world(&[]);
    let socket = world.env.base().join("dead.sock");
    drop(UnixListener::bind(&socket).expect("a socket"));
    let call = apply(&world).var("DOCKER_HOST", format!("unix://{}", socket.display()));
    refused(&world, call, "docker-not-available", &["dead.sock", "systemctl"]);
}

#[test]
fn a_socket_that_may_not_be_used() {
    let world = world(&[]);
    for entry in ["home", "state", "cache", "project", "run", "tmp", "config", "data"] {
        let folder = world.env.base().join(entry);
        let owned =
            std::process::Command::new("chown").args(["-R", "4242:4242"]).arg(folder).status();
        assert!(owned.expect("chown").success());
    }
    std::os::unix::fs::chown(world.env.base(), Some(4242), Some(4242)).expect("root may give away");
    let call = apply(&world).behind([
        "setpriv",
        "--reuid",
        "4242",
        "--regid",
        "4242",
        "--clear-groups",
        "--",
    ]);
    refused(
        &world,
        call,
        "docker-denied",
        &["permission denied", "usermod", "/var/run/docker.sock"],
    );
}

#[test]
fn an_engine_on_another_machine() {
    let world = world(&[]);
    let call = apply(&world).var("DOCKER_HOST", "ssh://me@elsewhere");
    refused(&world, call, "docker-endpoint", &["ssh://me@elsewhere", "docker context ls"]);
}

#[test]
fn an_image_that_is_not_there_and_may_not_be_fetched() {
    let world = world(&["image: ratchet-test:no-such-tag", "dockerPull: never"]);
    refused(&world, apply(&world), "image-not-found", &["ratchet-test:no-such-tag", "docker pull"]);
}

#[test]
fn an_image_without_a_registry_that_answers() {
    let world = world(&["image: 127.0.0.1:9/x/y:1"]);
    refused(&world, apply(&world), "registry-unreachable", &["127.0.0.1:9/x/y:1", "docker save"]);
}

#[test]
fn a_text_that_is_no_image() {
    for image in ["UPPER/case", "a b", "x:y:z"] {
        let world = world(&[&format!("image: '{image}'")]);
        refused(&world, apply(&world), "bad-image-reference", &[image, "config --set image="]);
    }
}

#[test]
fn an_image_without_a_shell() {
    let world = world(&["image: ratchet-test:no-bash"]);
    refused(&world, apply(&world), "agent-not-in-image", &["bash", "no-bash", "deploy/images"]);
}

#[test]
fn an_image_without_the_agent_or_with_one_that_does_not_start() {
    let cases = [
        ("cursor", "agent-not-in-image", "agent"),
        ("codex", "agent-broken-in-image", "cannot find module x"),
        ("gemini", "agent-broken-in-image", "interpreter"),
    ];
    for (agent, code, words) in cases {
        let world = world(&[&format!("agent: {agent}")]);
        let error = told(apply(&world));
        assert!(error.contains(code) && error.contains(words), "{agent}: {error}");
        world.assert_clean();
    }
}

#[test]
fn a_network_that_is_not_there() {
    let world = world(&["network: no-such-net"]);
    refused(&world, apply(&world), "no-such-network", &["no-such-net", "docker network ls"]);
}

#[test]
fn a_project_that_holds_the_engines_socket() {
    let world = world(&[]);
    let socket = world.env.path("docker.sock");
    let _engine = FakeEngine::at(&socket, "");
    let call = apply(&world).var("DOCKER_HOST", format!("unix://{}", socket.display()));
    refused(&world, call, "docker-socket-inside", &["docker.sock"]);
}

#[test]
fn no_ratchet_that_runs_in_any_image() {
    let world = world(&[]);
    // Alone in a folder, the tested binary has no static one beside it.
    let alone = world.env.base().join("alone");
    std::fs::create_dir(&alone).expect("a folder");
    std::fs::copy(crate::PROGRAMS.ratchet, alone.join("ratchet")).expect("a copy");
    let call = Call::new(&alone.join("ratchet"), &world.env.root(), world.env.variables())
        .args(["batch", "apply"]);
    refused(&world, call, "static-binary-missing", &["ratchet-static", "crt-static"]);
}

/// An engine that answers as it should up to one point.
struct FakeEngine;

impl FakeEngine {
    /// Listens; every image is missing, and fetching one is answered with this line.
    fn at(socket: &std::path::Path, pull: &str) -> Self {
        let listener = UnixListener::bind(socket).expect("a socket");
        let pull = pull.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let pull = pull.clone();
                std::thread::spawn(move || drop(answer(stream, &pull)));
            }
        });
        Self
    }
}

fn answer(stream: UnixStream, pull: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
    let (status, body) = match first.split(' ').nth(1).unwrap_or_default() {
        path if path.ends_with("/version") => (
            "200 OK",
            r#"{"Version":"28.0.0","ApiVersion":"1.48","MinAPIVersion":"1.24"}"#.to_owned(),
        ),
        path if path.ends_with("/info") => {
            ("200 OK", r#"{"SecurityOptions":["name=seccomp,profile=builtin"]}"#.to_owned())
        }
        path if path.contains("/images/create") => match pull.strip_prefix("404 ") {
            Some(message) => ("404 Not Found", format!(r#"{{"message":"{message}"}}"#)),
            None => {
                ("200 OK", format!(r#"{{"errorDetail":{{"message":"{pull}"}},"error":"{pull}"}}"#))
            }
        },
        _ => ("404 Not Found", r#"{"message":"No such image"}"#.to_owned()),
    };
    let mut stream = reader.into_inner();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn whatever_a_registry_answers_is_made_out() {
    let cases = [
        ("toomanyrequests: You have reached your pull rate limit", "registry-limit"),
        ("unauthorized: authentication required", "image-refused"),
        (
            "404 pull access denied for x/y, repository does not exist or may require 'docker login'",
            "image-not-found",
        ),
        ("manifest for x/y:1 not found: manifest unknown", "image-not-found"),
        ("write /var/lib/docker/tmp/x: no space left on device", "docker-disk-full"),
        (
            "Get https://r.example/v2/: dial tcp: lookup r.example: no such host",
            "registry-unreachable",
        ),
        ("net/http: TLS handshake timeout", "registry-unreachable"),
    ];
    for (at, (said, code)) in cases.into_iter().enumerate() {
        let world = world(&["image: r.example/x/y:1"]);
        let socket = world.env.base().join(format!("{at}.sock"));
        let _engine = FakeEngine::at(&socket, said);
        let call = apply(&world).var("DOCKER_HOST", format!("unix://{}", socket.display()));
        refused(
            &world,
            call,
            code,
            &["r.example"].map(|word| if code == "docker-disk-full" { "no space" } else { word }),
        );
    }
}

#[test]
fn an_engine_that_is_too_old() {
    let world = world(&[]);
    let socket = world.env.base().join("old.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let body = r#"{"Version":"18.09","ApiVersion":"1.39","MinAPIVersion":"1.12"}"#;
            let mut head = [0; 1024];
            let _read = stream.read(&mut head);
            let _written = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    let call = apply(&world).var("DOCKER_HOST", format!("unix://{}", socket.display()));
    refused(&world, call, "docker-too-old", &["18.09", "20.10"]);
}
