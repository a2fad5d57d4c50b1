//! Pieces become requests. Whatever text they carry passes the redactor here, on the exporter's thread, before it is bytes.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogramDataPoint, HistogramDataPoint, NumberDataPoint, metric,
};
use opentelemetry_proto::tonic::resource::v1::Resource as WireResource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use opentelemetry_sdk::Resource;
use prost::Message as _;

use super::send::Senders;
use super::{Parcel, Piece};
use crate::config::Signal;
use crate::redact::{self, Redactor};

/// Makes requests of pieces.
pub(super) struct Encoder {
    resource: WireResource,
}

impl Encoder {
    pub(super) fn new(resource: &Resource) -> Self {
        let attributes = resource.iter().map(|(key, value)| KeyValue {
            key: key.to_string(),
            value: Some(value.clone().into()),
            ..KeyValue::default()
        });
        Self {
            resource: WireResource { attributes: attributes.collect(), ..WireResource::default() },
        }
    }

    /// Makes one request of each signal that somebody takes.
    pub(super) fn encode(&self, pieces: Vec<Piece>, senders: &Senders) -> Vec<Parcel> {
        let (mut spans, mut records, mut metrics) = (Vec::new(), Vec::new(), Vec::new());
        for piece in pieces.into_iter().filter(|piece| senders.take(piece.signal())) {
            match piece {
                Piece::Span(span) => spans.push(Span::from(*span)),
                Piece::Log(record) => records.push(*record),
                Piece::Metrics(request) => metrics.push(*request),
            }
        }
        let redactor = redact::current();
        let mut parcels = Vec::new();
        if !spans.is_empty() {
            parcels.push(self.spans(spans, &redactor));
        }
        if !records.is_empty() {
            parcels.push(self.records(records, &redactor));
        }
        parcels.extend(metrics.into_iter().map(|request| self.metrics(request, &redactor)));
        parcels
    }

    fn spans(&self, mut spans: Vec<Span>, redactor: &Redactor) -> Parcel {
        for span in &mut spans {
            redactor.clean(&mut span.name);
            clean_all(&mut span.attributes, redactor);
            for event in &mut span.events {
                clean_all(&mut event.attributes, redactor);
            }
            if let Some(status) = &mut span.status {
                redactor.clean(&mut status.message);
            }
        }
        let pieces = spans.len();
        let scope_spans = ScopeSpans { scope: scope(), spans, ..ScopeSpans::default() };
        let resource_spans = ResourceSpans {
            resource: Some(self.resource.clone()),
            scope_spans: vec![scope_spans],
            ..ResourceSpans::default()
        };
        let request = ExportTraceServiceRequest { resource_spans: vec![resource_spans] };
        parcel(Signal::Traces, pieces, request.encode_to_vec())
    }

    fn records(&self, mut log_records: Vec<LogRecord>, redactor: &Redactor) -> Parcel {
        for record in &mut log_records {
            if let Some(body) = &mut record.body {
                clean(body, redactor);
            }
            clean_all(&mut record.attributes, redactor);
        }
        let pieces = log_records.len();
        let scope_logs = ScopeLogs { scope: scope(), log_records, ..ScopeLogs::default() };
        let resource_logs = ResourceLogs {
            resource: Some(self.resource.clone()),
            scope_logs: vec![scope_logs],
            ..ResourceLogs::default()
        };
        let request = ExportLogsServiceRequest { resource_logs: vec![resource_logs] };
        parcel(Signal::Logs, pieces, request.encode_to_vec())
    }

    fn metrics(&self, mut request: ExportMetricsServiceRequest, redactor: &Redactor) -> Parcel {
        for resource in &mut request.resource_metrics {
            let metrics = resource.scope_metrics.iter_mut().flat_map(|scope| &mut scope.metrics);
            for metric in metrics.filter_map(|metric| metric.data.as_mut()) {
                clean_points(metric, redactor);
            }
        }
        parcel(Signal::Metrics, 1, request.encode_to_vec())
    }
}

fn parcel(signal: Signal, pieces: usize, bytes: Vec<u8>) -> Parcel {
    Parcel { signal, pieces: u64::try_from(pieces).unwrap_or(u64::MAX), bytes: bytes.into() }
}

fn scope() -> Option<InstrumentationScope> {
    Some(InstrumentationScope {
        name: crate::SCOPE.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    })
}

fn clean_points(data: &mut metric::Data, redactor: &Redactor) {
    let number = |point: &mut NumberDataPoint| clean_all(&mut point.attributes, redactor);
    let spread = |point: &mut HistogramDataPoint| clean_all(&mut point.attributes, redactor);
    let exponential =
        |point: &mut ExponentialHistogramDataPoint| clean_all(&mut point.attributes, redactor);
    match data {
        metric::Data::Gauge(gauge) => gauge.data_points.iter_mut().for_each(number),
        metric::Data::Sum(sum) => sum.data_points.iter_mut().for_each(number),
        metric::Data::Histogram(histogram) => histogram.data_points.iter_mut().for_each(spread),
        metric::Data::ExponentialHistogram(histogram) => {
            histogram.data_points.iter_mut().for_each(exponential);
        }
        metric::Data::Summary(_) => {}
    }
}

fn clean_all(attributes: &mut [KeyValue], redactor: &Redactor) {
    for value in attributes.iter_mut().filter_map(|attribute| attribute.value.as_mut()) {
        clean(value, redactor);
    }
}

fn clean(value: &mut AnyValue, redactor: &Redactor) {
    match &mut value.value {
        Some(Value::StringValue(text)) => redactor.clean(text),
        Some(Value::BytesValue(bytes)) => *bytes = redactor.bytes(bytes),
        Some(Value::ArrayValue(list)) => {
            list.values.iter_mut().for_each(|value| clean(value, redactor));
        }
        Some(Value::KvlistValue(list)) => clean_all(&mut list.values, redactor),
        _ => {}
    }
}
