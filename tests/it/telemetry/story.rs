//! Spans as a person reads them: trees of names, with what each says of itself. What differs from run to run is a blank.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;

/// Attributes whose values are times, sizes, ids or numbers of this run.
const BLANKS: [&str; 15] = [
    "cicd.pipeline.task.run.id",
    "container.id",
    "container.image.id",
    "ratchet.awake_ms",
    "ratchet.container.pull_ms",
    "ratchet.downtime_ms",
    "ratchet.idle.longest_ms",
    "ratchet.journal.sync_ms",
    "ratchet.park.reason_length",
    "ratchet.process.cpu_ms",
    "ratchet.process.output_bytes",
    "ratchet.process.peak_memory",
    "ratchet.queue_ms",
    "ratchet.strays",
    "ratchet.outcome.reports",
];

/// Tells every trace, the oldest first. Panics if a span's parent is missing.
#[track_caller]
pub(super) fn told(spans: &[Span]) -> String {
    let by_id: BTreeMap<&[u8], &Span> =
        spans.iter().map(|span| (span.span_id.as_slice(), span)).collect();
    assert_eq!(by_id.len(), spans.len(), "a span came twice");
    for span in spans {
        let parent = span.parent_span_id.as_slice();
        assert!(parent.is_empty() || by_id.contains_key(parent), "{} has no parent", span.name);
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "{}", span.name);
    }
    let mut text = String::new();
    for root in below(spans, &[]) {
        tell(root, spans, &by_id, 0, &mut text);
    }
    text
}

fn below<'a>(spans: &'a [Span], parent: &[u8]) -> Vec<&'a Span> {
    let mut found: Vec<_> = spans.iter().filter(|span| span.parent_span_id == parent).collect();
    found.sort_by_key(|span| (span.start_time_unix_nano, span.name.clone()));
    found
}

fn tell(
    span: &Span,
    spans: &[Span],
    by_id: &BTreeMap<&[u8], &Span>,
    depth: usize,
    text: &mut String,
) {
    let pad = "  ".repeat(depth);
    let kind = match span.kind() {
        SpanKind::Internal | SpanKind::Unspecified => "",
        SpanKind::Client => " (client)",
        SpanKind::Server => " (server)",
        SpanKind::Producer => " (producer)",
        SpanKind::Consumer => " (consumer)",
    };
    let failed = span.status.as_ref().filter(|status| status.code == 2);
    let failed = failed.map(|status| format!(" ✗ {}", status.message)).unwrap_or_default();
    writeln!(text, "{pad}{}{kind}{failed}", span.name).expect("a string takes text");
    for link in &span.links {
        let to = by_id.get(link.span_id.as_slice()).map_or("a span that never came", |to| &to.name);
        writeln!(text, "{pad}  ~ {to}").expect("a string takes text");
    }
    for (name, value) in facts(&span.attributes) {
        writeln!(text, "{pad}  . {name}={value}").expect("a string takes text");
    }
    for event in &span.events {
        let facts: Vec<_> = facts(&event.attributes)
            .iter()
            .map(|(name, value)| format!(" {name}={value}"))
            .collect();
        writeln!(text, "{pad}  ! {}{}", event.name, facts.concat()).expect("a string takes text");
    }
    for child in below(spans, &span.span_id) {
        assert_eq!(child.trace_id, span.trace_id, "{} is in another trace", child.name);
        tell(child, spans, by_id, depth + 1, text);
    }
}

fn facts(attributes: &[KeyValue]) -> BTreeMap<&str, String> {
    let shown = |attribute: &KeyValue| {
        if BLANKS.contains(&attribute.key.as_str()) {
            return "…".to_owned();
        }
        attribute.value.as_ref().map(value).unwrap_or_default()
    };
    attributes.iter().map(|attribute| (attribute.key.as_str(), shown(attribute))).collect()
}

fn value(value: &AnyValue) -> String {
    match &value.value {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::BoolValue(yes)) => yes.to_string(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

/// The value of an attribute of a span.
pub(super) fn fact(span: &Span, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == name)?;
    found.value.as_ref().map(value)
}

/// The only span of a name.
#[track_caller]
pub(super) fn only<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    match found.as_slice() {
        [span] => span,
        several => panic!("{} spans are called {name}:\n{}", several.len(), told(spans)),
    }
}

/// An id as `traceparent` writes it.
pub(super) fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
