//! Sets telemetry up for this process, and takes it down in time.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::logs::AnyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{LogProcessor, SdkLogRecord, SdkLoggerProvider};
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use opentelemetry_sdk::trace::{
    Sampler, SdkTracerProvider, ShouldSample, Span, SpanData, SpanProcessor,
};
use thiserror::Error;

use crate::SCOPE;
use crate::config::{Config, Counting, Sampling, Signal};
use crate::export::{DiskQueue, Dropped, Exporter, Piece, Queue};
use crate::metric;
use crate::span;

/// How long a process waits at most, at its end, for what it has to tell.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// How much waits on disk at most, in bytes.
const MOST_ON_DISK: u64 = 64 << 20;

/// Who tells.
#[derive(Debug, Clone)]
pub struct Service {
    /// The name of the service, unless `OTEL_SERVICE_NAME` has another.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// How long it lives.
    pub life: Life,
}

/// How long a process lives.
#[derive(Debug, Clone)]
pub enum Life {
    /// For one command. Its counts are told as what it adds: nobody could put together the totals of a thousand processes.
    /// What it cannot send is given up.
    Command,
    /// Until it is ended. Its counts are totals.
    Service {
        /// Where what cannot be sent waits; without a folder it is given up.
        waits_in: Option<PathBuf>,
    },
}

/// Why telemetry is off although somebody wants it. No reason to stop.
#[derive(Debug, Error)]
pub enum SetupError {
    /// A variable says something that means nothing.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// Its thread cannot be started.
    #[error("no thread can be started")]
    Thread(#[from] std::io::Error),
}

/// Telemetry that runs. Whoever holds it ends it with [`Telemetry::finish`].
#[derive(Debug)]
pub struct Telemetry {
    exporter: Exporter,
    metrics: Option<SdkMeterProvider>,
    logs: Option<SdkLoggerProvider>,
    /// Spans hold it weakly.
    _traces: Option<SdkTracerProvider>,
}

/// Sets telemetry up; `None` if nobody wants it, and then nothing is made, no thread either.
///
/// # Errors
/// [`SetupError`]; the process goes on without.
pub fn start<'a>(
    variable: impl Fn(&str) -> Option<&'a str>,
    service: &Service,
) -> Result<Option<Telemetry>, SetupError> {
    match Config::read(variable)? {
        Some(config) => Ok(Some(Telemetry::start(&config, service)?)),
        None => Ok(None),
    }
}

impl Telemetry {
    fn start(config: &Config, service: &Service) -> std::io::Result<Self> {
        let resource = resource(config, service);
        let (waits_in, usual) = match &service.life {
            Life::Command => (None, Counting::Delta),
            Life::Service { waits_in } => (waits_in.as_ref(), Counting::Cumulative),
        };
        let disk = waits_in.and_then(|folder| {
            let opened = DiskQueue::open(folder, MOST_ON_DISK);
            opened.inspect_err(|error| tracing::warn!(%error, "no telemetry waits on disk")).ok()?
        });
        let exporter = Exporter::start(config, &resource, disk)?;
        let takes = |signal: Signal| config.targets.contains_key(&signal);
        let traces = takes(Signal::Traces).then(|| {
            let provider = SdkTracerProvider::builder()
                .with_sampler(sampler(config))
                .with_resource(resource.clone())
                .with_span_processor(Spans(exporter.queue.clone()))
                .build();
            span::trace_with(provider.tracer_with_scope(scope()));
            provider
        });
        let logs = takes(Signal::Logs).then(|| {
            SdkLoggerProvider::builder()
                .with_resource(resource.clone())
                .with_log_processor(Records(exporter.queue.clone()))
                .build()
        });
        let metrics = takes(Signal::Metrics).then(|| {
            let temporality = match config.counting.unwrap_or(usual) {
                Counting::Cumulative => Temporality::Cumulative,
                Counting::Delta => Temporality::Delta,
                Counting::LowMemory => Temporality::LowMemory,
            };
            let numbers = Numbers { queue: exporter.queue.clone(), temporality };
            let reader = PeriodicReader::builder(numbers).with_interval(config.metric_interval);
            let provider = SdkMeterProvider::builder()
                .with_resource(resource)
                .with_reader(reader.build())
                .build();
            let meter = provider.meter_with_scope(scope());
            tell_drops(&meter, &exporter.dropped);
            metric::count_with(meter);
            provider
        });
        Ok(Self { exporter, metrics, logs, _traces: traces })
    }

    /// Gives what turns log records into telemetry, if somebody takes them.
    pub(crate) fn logs(&self) -> Option<&SdkLoggerProvider> {
        self.logs.as_ref()
    }

    /// Tells what is left, for [`PATIENCE`] at most. Every span must have been ended before.
    pub fn finish(self) {
        if let Some(metrics) = self.metrics {
            // It hands its last numbers to the queue, which never waits.
            drop(metrics.shutdown_with_timeout(PATIENCE));
        }
        self.exporter.finish(PATIENCE);
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build()
}

fn resource(config: &Config, service: &Service) -> Resource {
    let own = [
        KeyValue::new("service.name", service.name),
        KeyValue::new("service.version", service.version),
        KeyValue::new("process.pid", i64::from(std::process::id())),
        KeyValue::new("telemetry.sdk.language", "rust"),
        KeyValue::new("telemetry.sdk.name", "opentelemetry"),
    ];
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy().into_owned();
    let given =
        config.resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    let name = config.service.clone().map(|name| KeyValue::new("service.name", name));
    // What comes later wins.
    Resource::builder_empty()
        .with_attributes(own)
        .with_attribute(KeyValue::new("host.name", host))
        .with_attributes(given)
        .with_attributes(name)
        .build()
}

fn sampler(config: &Config) -> Box<dyn ShouldSample> {
    let root = match config.sampler.root {
        Sampling::AlwaysOn => Sampler::AlwaysOn,
        Sampling::AlwaysOff => Sampler::AlwaysOff,
        Sampling::Ratio(ratio) => Sampler::TraceIdRatioBased(ratio),
    };
    if config.sampler.parent_based {
        Box::new(Sampler::ParentBased(Box::new(root)))
    } else {
        Box::new(root)
    }
}

/// What was given up is told as a metric, so that a full queue does not stay a secret.
fn tell_drops(meter: &opentelemetry::metrics::Meter, dropped: &Arc<Dropped>) {
    use crate::name::{Attribute, MetricName};
    let dropped = Arc::clone(dropped);
    // The provider keeps it.
    let _counter = meter
        .u64_observable_counter(MetricName::Dropped.as_str())
        .with_description(MetricName::Dropped.about())
        .with_callback(move |counter| {
            for signal in Signal::ALL {
                let which = KeyValue::new(Attribute::Telemetry.as_str(), signal.as_str());
                counter.observe(dropped.of(signal), &[which]);
            }
        })
        .build();
}

/// Puts spans that have ended into the queue.
#[derive(Debug)]
struct Spans(Queue);

impl SpanProcessor for Spans {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.0.put(Piece::Span(Box::new(span)));
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Puts log records into the queue.
#[derive(Debug)]
struct Records(Queue);

impl LogProcessor for Records {
    fn emit(&self, record: &mut SdkLogRecord, _scope: &InstrumentationScope) {
        use opentelemetry::logs::LogRecord as _;
        if let Some(target) = record.target().cloned() {
            let target = match target {
                Cow::Borrowed(text) => AnyValue::from(text),
                Cow::Owned(text) => AnyValue::from(text),
            };
            record.add_attribute("log.target", target);
        }
        self.0.put(Piece::Log(Box::new((&*record).into())));
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Puts what was counted into the queue.
struct Numbers {
    queue: Queue,
    temporality: Temporality,
}

impl PushMetricExporter for Numbers {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let request = ExportMetricsServiceRequest::from(metrics);
        self.queue.put(Piece::Metrics(Box::new(request)));
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        self.temporality
    }
}
