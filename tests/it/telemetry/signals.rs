//! Metrics and log records: both ways, with the trace that a record belongs to, and on standard error if somebody asks.

use std::collections::BTreeSet;

use ratchet_tests::{Script, wait};

use super::collector::{Collector, Way};
use super::story::only;
use super::{here, traced};
use crate::shop;

#[test]
fn a_step_is_counted_and_its_log_belongs_to_its_trace() {
    for way in [Way::Grpc, Way::Http] {
        let (env, collector) = (shop(), Collector::start());
        let call = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).embedded();
        traced(call, &collector, way).ok();
        collector.look(|got| {
            let names: BTreeSet<&str> =
                got.metrics.iter().map(|metric| metric.name.as_str()).collect();
            for name in [
                "ratchet.steps",
                "ratchet.step.duration",
                "ratchet.spawn.latency",
                "ratchet.queue.wait",
                "ratchet.journal.sync",
                "ratchet.agent.idle",
                "cicd.worker.count",
            ] {
                assert!(names.contains(name), "{name} is not in {names:?}");
            }
            let step = only(&got.spans, "ratchet step propose");
            let of_step: Vec<_> =
                got.records.iter().filter(|record| record.trace_id == step.trace_id).collect();
            assert_eq!(of_step.len(), 2, "it begins, and it is over: {:?}", got.records);
            assert!(of_step.iter().all(|record| record.span_id == step.span_id));
            let service =
                got.resources[0].attributes.iter().find(|found| found.key == "service.name");
            assert!(format!("{service:?}").contains("\"ratchet\""), "{service:?}");
        });
    }
}

#[test]
fn a_collector_behind_tls_is_trusted_by_its_certificate_and_otherwise_not() {
    for way in [Way::Grpc, Way::Http] {
        let (env, collector) = (shop(), Collector::with_tls());
        env.write("ca.pem", collector.certificate());
        let step = || {
            let call = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest()));
            traced(call.embedded(), &collector, way)
        };
        step().ok();
        collector.look(|got| assert!(got.spans.is_empty(), "nobody vouches for it"));
        step().var("OTEL_EXPORTER_OTLP_CERTIFICATE", env.path("ca.pem")).ok();
        collector.look(|got| only(&got.spans, "ratchet step apply").trace_id.len());
    }
}

#[test]
fn headers_come_along_and_are_shown_nowhere() {
    let (env, collector) = (shop(), Collector::start());
    let done = here(&env, &collector, &["--log-level", "trace", "batch", "apply"])
        .agent(&env.agent(&Script::honest()))
        .var("OTEL_EXPORTER_OTLP_HEADERS", "x-scope=hunter2%20hunter2")
        .ok();
    assert!(!format!("{}{}", done.stdout(), done.stderr()).contains("hunter2"), "{done}");
    collector.look(|got| assert!(got.headers.contains("x-scope: hunter2 hunter2")));
}

#[test]
fn the_resource_is_what_the_operator_says() {
    let (env, collector) = (shop(), Collector::start());
    here(&env, &collector, &["batch", "apply"])
        .agent(&env.agent(&Script::honest()))
        .var("OTEL_SERVICE_NAME", "shop-builds")
        .var("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=stage,team=a%20b")
        .ok();
    collector.look(|got| {
        let told = format!("{:?}", got.resources[0]);
        for text in ["shop-builds", "stage", "a b"] {
            assert!(told.contains(text), "{text} is not in {told}");
        }
    });
}

#[test]
fn the_sampler_keeps_what_it_is_told_to() {
    let (env, collector) = (shop(), Collector::start());
    here(&env, &collector, &["batch", "apply"])
        .agent(&env.agent(&Script::honest()))
        .var("OTEL_TRACES_SAMPLER", "always_off")
        .ok();
    collector.look(|got| assert!(got.spans.is_empty() && !got.metrics.is_empty()));
}

#[test]
fn a_command_tells_what_it_does_if_it_is_asked_to_and_nothing_else() {
    let env = shop();
    let agent = env.agent(&Script::honest());
    let silent = env.ratchet(["batch", "apply", "--json"]).agent(&agent).embedded().ok();
    assert!(!silent.stderr().contains("a step begins"), "{silent}");
    let words = ["--log-level", "info", "--log-format", "json", "batch", "apply", "--json"];
    let told = env.ratchet(words).agent(&agent).embedded().ok();
    let line = told.stderr().lines().find(|line| line.contains("a step begins")).map(str::to_owned);
    let line: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["fields"]["step"], "apply");
}

#[test]
fn a_level_that_is_none_is_refused_as_a_flag_and_told_as_a_variable() {
    let env = shop();
    let refused = env.ratchet(["--log-level", "loud", "batch", "status"]).run();
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr().contains("off, error, warn, info, debug or trace"), "{refused}");
    let told = env.ratchet(["batch", "status"]).var("RATCHET_LOG", "loud").run();
    assert_eq!(told.code, Some(0), "{told}");
    assert!(told.stderr().contains("RATCHET_LOG is 'loud'"), "{told}");
}

#[test]
fn a_supervisors_telemetry_is_its_own() {
    let (env, collector) = (shop(), Collector::start());
    let supervisor = traced(env.ratchet(["supervisor", "run"]), &collector, Way::Grpc).start();
    wait::until("the supervisor to listen", || env.socket().exists());
    env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).ok();
    collector.wait_for("the span of a step, while the supervisor lives", |got| {
        got.spans.iter().any(|span| span.name == "ratchet step propose")
    });
    env.ratchet(["supervisor", "stop"]).ok();
    supervisor.wait();
    collector.look(|got| {
        assert!(format!("{:?}", got.resources[0]).contains("ratchet-supervisor"));
        assert!(got.metrics.iter().any(|metric| metric.name == "cicd.worker.count"));
    });
}
