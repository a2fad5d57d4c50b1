//! What an operator sees of a step in their own backend: the real binary against a collector of the test's own.

mod collector;
mod faults;
mod golden;
mod names;
mod secrets;
mod signals;
mod story;

use ratchet_tests::{Call, TestEnv};

use self::collector::{Collector, Way};

/// A call whose telemetry goes to a collector.
fn traced(call: Call, collector: &Collector, way: Way) -> Call {
    let protocol = match way {
        Way::Grpc => "grpc",
        Way::Http => "http/protobuf",
    };
    call.var("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint(way))
        .var("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
}

/// `ratchet` with these words in a world, whose step this process hosts and whose telemetry goes to a collector.
fn here(env: &TestEnv, collector: &Collector, words: &[&str]) -> Call {
    traced(env.ratchet(words).embedded(), collector, Way::Http)
}
