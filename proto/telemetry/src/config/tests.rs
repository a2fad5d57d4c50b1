//! What the `OTEL_*` variables come to.

use super::*;

fn read(pairs: &[(&str, &'static str)]) -> Result<Option<Config>, ConfigError> {
    let all: BTreeMap<&str, &'static str> = pairs.iter().copied().collect();
    Config::read(|name| all.get(name).copied())
}

fn target(pairs: &[(&str, &'static str)], signal: Signal) -> Target {
    read(pairs).unwrap().unwrap().targets[&signal].clone()
}

#[test]
fn without_an_endpoint_or_when_disabled_there_is_nothing() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    assert_eq!(read(&[]).unwrap(), None);
    assert_eq!(read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]).unwrap(), None);
    assert_eq!(read(&[("OTEL_SERVICE_NAME", "x"), ("OTEL_TRACES_SAMPLER", "odd")]).unwrap(), None);
    assert_eq!(read(&[endpoint, ("OTEL_SDK_DISABLED", "TRUE")]).unwrap(), None);
    assert!(read(&[endpoint, ("OTEL_SDK_DISABLED", "1")]).unwrap().is_some());
}

#[test]
fn the_base_gets_the_signals_path_over_http_and_none_over_grpc() {
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/x/");
    assert_eq!(target(&[base], Signal::Traces).endpoint, "http://c:4318/x/v1/traces");
    assert_eq!(target(&[base], Signal::Logs).endpoint, "http://c:4318/x/v1/logs");
    let grpc = [base, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    assert_eq!(target(&grpc, Signal::Metrics).endpoint, "http://c:4318/x/");
    let own = [base, ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/in")];
    assert_eq!(target(&own, Signal::Traces).endpoint, "https://t/in");
    assert_eq!(target(&own, Signal::Metrics).endpoint, "http://c:4318/x/v1/metrics");
}

#[test]
fn a_signal_may_go_elsewhere_otherwise_or_nowhere() {
    let config = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,b=two%20words"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "c=3"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "250"),
        ("OTEL_METRICS_EXPORTER", "none"),
    ]);
    let targets = config.unwrap().unwrap().targets;
    let traces = &targets[&Signal::Traces];
    assert_eq!((traces.protocol, traces.timeout), (Protocol::Grpc, Duration::from_millis(250)));
    assert_eq!(traces.headers, [("c".to_owned(), "3".to_owned())]);
    assert_eq!(targets[&Signal::Logs].headers[1], ("b".to_owned(), "two words".to_owned()));
    assert!(!targets.contains_key(&Signal::Metrics));
    let only = [("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://l/v1/logs")];
    assert_eq!(read(&only).unwrap().unwrap().targets.len(), 1);
}

#[test]
fn a_value_that_means_nothing_is_named_with_what_would() {
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
    for (name, value, hint) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "grpc or http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "c:4318", "http:// or https://"),
        ("OTEL_TRACES_SAMPLER", "sometimes", "always_on"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "milliseconds"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "from 1"),
        ("OTEL_LOGS_EXPORTER", "console", "otlp or none"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "both", "delta"),
    ] {
        let error = read(&[base, (name, value)]).unwrap_err();
        assert_eq!(error.variable, name);
        assert!(error.to_string().contains(hint), "{error}");
    }
    let ratio = [base, ("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")];
    assert_eq!(read(&ratio).unwrap_err().variable, "OTEL_TRACES_SAMPLER_ARG");
}

#[test]
fn a_headers_value_is_in_no_text() {
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
    let headers = [base, ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2hunter2")];
    let shown = format!("{:?}", read(&headers).unwrap());
    assert!(shown.contains("authorization") && !shown.contains("hunter2"), "{shown}");
    for bad in ["hunter2hunter2", "authorization=hunter2%zz"] {
        let error = read(&[base, ("OTEL_EXPORTER_OTLP_HEADERS", bad)]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}

#[test]
fn the_sampler_follows_the_caller_unless_it_is_told_not_to() {
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
    let sampler = |said| read(&[base, ("OTEL_TRACES_SAMPLER", said)]).unwrap().unwrap().sampler;
    assert_eq!(sampler(""), Sampler { root: Sampling::AlwaysOn, parent_based: true });
    assert_eq!(sampler("always_off"), Sampler { root: Sampling::AlwaysOff, parent_based: false });
    assert_eq!(
        sampler("parentbased_traceidratio"),
        Sampler { root: Sampling::Ratio(1.0), parent_based: true }
    );
}
