//! Traces, metrics and logs for the operator's own backend, by OTLP, and what keeps secrets out of them.
//!
//! Knows no other crate of ours. Nothing is made unless an `OTEL_*` endpoint is set ([`setup`]); then one thread sends what
//! everybody else only puts into a bounded queue. Read [`name`] for what is told, [`span`] for how, and ADR 16 for why it
//! is not `tracing-opentelemetry`.
//!
//! **Invariant:** nothing here waits for a collector but that thread, and [`setup::Telemetry::finish`] for two seconds.

pub mod carrier;
pub mod config;
mod export;
pub mod log;
pub mod metric;
pub mod name;
pub mod redact;
pub mod setup;
pub mod span;

pub use carrier::TraceParent;
pub use opentelemetry::Value;
pub use setup::{Life, Service, Telemetry};
pub use span::TraceSpan;

/// The instrumentation scope of everything that is told.
pub(crate) const SCOPE: &str = "ratchet";
