//! Numbers, counted where they arise and sent once in a while. Without telemetry a count costs one look.

use std::sync::OnceLock;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, ObservableGauge};

use crate::name::{Attribute, MetricName};
use crate::span::Fact;

static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();

struct Instruments {
    meter: Meter,
    each: Vec<Instrument>,
    /// Its callback lives as long as it does.
    workers: OnceLock<ObservableGauge<u64>>,
}

enum Instrument {
    Count(Counter<u64>),
    Sum(Counter<f64>),
    Spread(Histogram<f64>),
    /// It is asked for, and never told.
    Asked,
}

/// Has numbers counted from now on.
pub(crate) fn count_with(meter: Meter) {
    let each = MetricName::ALL.iter().map(|name| name.make(&meter)).collect();
    // The first one stays: telemetry is set up once a process.
    drop(INSTRUMENTS.set(Instruments { meter, each, workers: OnceLock::new() }));
}

/// Adds to a count.
pub fn add(name: MetricName, more: u64, facts: impl IntoIterator<Item = Fact>) {
    if let Some(Instrument::Count(counter)) = instrument(name) {
        counter.add(more, &key_values(facts));
    }
}

/// Adds to a sum.
pub fn sum(name: MetricName, more: f64, facts: impl IntoIterator<Item = Fact>) {
    if let Some(Instrument::Sum(counter)) = instrument(name) {
        counter.add(more, &key_values(facts));
    }
}

/// Notes one value of many.
pub fn note(name: MetricName, value: f64, facts: impl IntoIterator<Item = Fact>) {
    if let Some(Instrument::Spread(histogram)) = instrument(name) {
        histogram.record(value, &key_values(facts));
    }
}

/// Notes how long something took, in seconds.
pub fn took(name: MetricName, time: Duration, facts: impl IntoIterator<Item = Fact>) {
    note(name, time.as_secs_f64(), facts);
}

/// Says who is asked how much room is in use, and how much is free.
pub fn workers(look: impl Fn() -> (u64, u64) + Send + Sync + 'static) {
    let Some(instruments) = INSTRUMENTS.get() else { return };
    let state = |word: &'static str| [KeyValue::new(Attribute::WorkerState.as_str(), word)];
    let gauge = instruments
        .meter
        .u64_observable_gauge(MetricName::Workers.as_str())
        .with_description(MetricName::Workers.about())
        .with_callback(move |gauge| {
            let (busy, available) = look();
            gauge.observe(busy, &state("busy"));
            gauge.observe(available, &state("available"));
        })
        .build();
    // The first supervisor of a process is the one that is told of.
    drop(instruments.workers.set(gauge));
}

fn instrument(name: MetricName) -> Option<&'static Instrument> {
    INSTRUMENTS.get()?.each.get(name as usize)
}

fn key_values(facts: impl IntoIterator<Item = Fact>) -> Vec<KeyValue> {
    facts.into_iter().map(|(name, value)| KeyValue::new(name.as_str(), value)).collect()
}

/// Where the buckets of a time in seconds begin: from a sync to a night's work.
const SECONDS: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 120.0, 600.0, 1800.0,
    7200.0, 28800.0,
];

/// Where the buckets of tokens begin.
const TOKENS: [f64; 10] = [1e2, 1e3, 4e3, 16e3, 64e3, 256e3, 1e6, 4e6, 16e6, 64e6];

impl MetricName {
    fn make(self, meter: &Meter) -> Instrument {
        let (name, about) = (self.as_str(), self.about());
        let count = |unit| {
            let counter = meter.u64_counter(name).with_description(about).with_unit(unit);
            Instrument::Count(counter.build())
        };
        let spread = |unit, bounds: &[f64]| {
            let histogram = meter.f64_histogram(name).with_description(about).with_unit(unit);
            Instrument::Spread(histogram.with_boundaries(bounds.to_vec()).build())
        };
        match self {
            Self::Steps => count("{step}"),
            Self::Kills | Self::CostUnknown => count("{spawn}"),
            Self::Reattaches | Self::Fenced => count("{step}"),
            Self::Strays => count("{process}"),
            Self::Dropped => count("{item}"),
            Self::StepDuration
            | Self::SpawnLatency
            | Self::QueueWait
            | Self::Idle
            | Self::JournalSync => spread("s", &SECONDS),
            Self::Tokens => spread("{token}", &TOKENS),
            Self::Cost => {
                let counter = meter.f64_counter(name).with_description(about).with_unit("{USD}");
                Instrument::Sum(counter.build())
            }
            Self::Workers => Instrument::Asked,
        }
    }
}
