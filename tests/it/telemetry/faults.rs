//! A collector that is dead, slow or full changes nothing about a step; what a supervisor could not send it sends later.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use ratchet_tests::{Action, Script, TestEnv, wait};
use serde_json::Value;

use super::collector::{Collector, Mood, Way};
use super::traced;
use crate::shop;

/// An address at which nobody listens.
fn nowhere() -> String {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", free.local_addr().expect("an address"))
}

/// What a step came to, without what differs from run to run.
fn result(env: &TestEnv, variables: &[(&str, &str)]) -> (Value, Vec<Value>) {
    let mut call = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest()));
    for (name, value) in variables {
        call = call.var(name, value);
    }
    let mut step = call.json();
    step["spawnId"].take();
    let mut journal = env.journal("shop");
    for entry in &mut journal {
        entry["at"].take();
        entry["spawn"].take();
    }
    (step, journal)
}

#[test]
fn a_step_comes_out_the_same_whatever_the_collector_does() {
    let plain = result(&shop(), &[]);
    let (slow, full) = (Collector::in_mood(Mood::Slow), Collector::in_mood(Mood::Full));
    let dead = nowhere();
    for way in ["grpc", "http/protobuf"] {
        let of = |collector: &Collector| match way {
            "grpc" => collector.endpoint(Way::Grpc),
            _ => collector.endpoint(Way::Http),
        };
        for endpoint in [dead.clone(), of(&slow), of(&full)] {
            let variables = [
                ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", way),
            ];
            assert_eq!(result(&shop(), &variables), plain, "{endpoint} {way}");
        }
    }
}

#[test]
fn a_setting_that_means_nothing_is_told_and_stops_nothing() {
    let env = shop();
    let call = env
        .ratchet(["batch", "apply", "--json"])
        .agent(&env.agent(&Script::honest()))
        .var("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
        .var("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon");
    let done = call.run();
    assert_eq!(done.code, Some(0), "{done}");
    assert!(
        done.stderr().contains("telemetry is off: OTEL_EXPORTER_OTLP_PROTOCOL is 'pigeon'"),
        "{done}"
    );
    assert_eq!(done.json()["state"], "advanced");
}

#[test]
fn without_an_endpoint_an_agent_hears_of_no_trace() {
    let env = shop();
    let script = Script::always([Action::SaveEnvironment { path: "environment".to_owned() }]);
    env.ratchet(["batch", "apply"]).agent(&env.agent(&script)).run();
    assert!(!env.read("environment").contains("TRACEPARENT"));
}

#[test]
fn what_a_supervisor_could_not_send_waits_on_disk_and_comes_first() {
    let env = shop();
    let gone = Collector::start();
    let address = gone.http();
    drop(gone);
    let supervise = || {
        let call = env.ratchet(["supervisor", "run"]);
        call.var("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}")).start()
    };
    let step = || env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).json();
    let supervisor = supervise();
    wait::until("the supervisor to listen", || env.socket().exists());
    let first = step();
    env.ratchet(["supervisor", "stop"]).ok();
    supervisor.wait();

    let queue = env.base().join("state/ratchet/telemetry");
    let kept: Vec<_> = fs::read_dir(&queue).expect("a queue").flatten().map(|e| e.path()).collect();
    assert!(kept.iter().any(|path| path.display().to_string().contains("traces")), "{kept:?}");
    for path in &kept {
        assert_eq!(path.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    }

    let collector = Collector::at(Mood::Well, address);
    let supervisor = supervise();
    wait::until("the supervisor to listen", || env.socket().exists());
    let second = step();
    env.ratchet(["supervisor", "stop"]).ok();
    supervisor.wait();
    let spawns = collector.look(|got| {
        let steps = got.spans.iter().filter(|span| span.name.starts_with("ratchet step "));
        steps
            .filter_map(|span| super::story::fact(span, "cicd.pipeline.task.run.id"))
            .collect::<Vec<_>>()
    });
    assert_eq!(
        spawns,
        [first["spawnId"].as_str(), second["spawnId"].as_str()].map(|id| id.expect("an id"))
    );
    let left = fs::read_dir(&queue).expect("a queue").flatten();
    let left: Vec<_> = left.filter(|entry| entry.file_name() != "lock").map(|e| e.path()).collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_command_keeps_nothing_on_disk() {
    let env = shop();
    let call = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).embedded();
    call.var("OTEL_EXPORTER_OTLP_ENDPOINT", nowhere()).ok();
    assert!(!env.base().join("state/ratchet/telemetry").exists());
}

#[test]
fn a_signal_that_goes_nowhere_is_not_made() {
    let (env, collector) = (shop(), Collector::start());
    let call = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).embedded();
    traced(call, &collector, Way::Http)
        .var("OTEL_METRICS_EXPORTER", "none")
        .var("OTEL_LOGS_EXPORTER", "none")
        .ok();
    collector.look(|got| {
        assert!(!got.spans.is_empty());
        assert!(got.metrics.is_empty() && got.records.is_empty());
    });
}
