//! Log lines on standard error, and the same as telemetry. The one home of both, for commands and for the supervisor.
//!
//! Only ratchet's own words are told; of what it is built on, only troubles: it may tell what nobody should read, such as
//! headers. Lines pass the redactor.

use std::ffi::OsStr;
use std::io::{self, Write};

use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use thiserror::Error;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

use crate::redact;
use crate::setup::Telemetry;

/// What the crates of ratchet have in common.
const OURS: &str = "ratchet";

/// What is told of telemetry itself goes to standard error alone.
const OF_TELEMETRY: &str = "ratchet_telemetry";

/// The variable that says how much is told.
pub const LEVEL: &str = "RATCHET_LOG";

/// The variable by which systemd says that its journal reads along.
pub const JOURNAL: &str = "JOURNAL_STREAM";

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(LevelFilter);

/// A word that is no level.
#[derive(Debug, Error)]
#[error("{LEVEL} is '{said}', which is no level")]
pub struct NoLevel {
    /// The word.
    pub said: String,
}

impl NoLevel {
    /// Which words are.
    pub const HELP: &str = "use off, error, warn, info, debug or trace";
}

impl Level {
    /// Nothing.
    pub const OFF: Self = Self(LevelFilter::OFF);
    /// What was asked for and happened.
    pub const INFO: Self = Self(LevelFilter::INFO);

    /// Reads what [`LEVEL`] says, if it says anything.
    ///
    /// # Errors
    /// [`NoLevel`].
    pub fn said(said: Option<&OsStr>) -> Result<Option<Self>, NoLevel> {
        let Some(said) = said.filter(|said| !said.is_empty()) else { return Ok(None) };
        let level = said.to_str().and_then(Self::parse);
        level.map(Some).ok_or_else(|| NoLevel { said: said.to_string_lossy().into_owned() })
    }

    /// Reads a word: off, error, warn, info, debug or trace.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        const WORDS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
        let word = word.trim().to_ascii_lowercase();
        WORDS.contains(&word.as_str()).then(|| word.parse().ok().map(Self))?
    }
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs: one object a line.
    Json,
}

/// What stands in a line for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dress {
    /// The time, without colours.
    Plain,
    /// The time, and colours.
    Colour,
    /// Neither: the journal knows the time better.
    Journal,
}

/// Log lines as somebody wants them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// How much.
    pub level: Level,
    /// How.
    pub format: Format,
    /// How, for people.
    pub dress: Dress,
}

/// Logging was begun before.
#[derive(Debug, Error)]
#[error("the log was begun twice")]
pub struct BegunTwice(#[from] TryInitError);

type Boxed = Box<dyn Layer<Registry> + Send + Sync>;

/// Begins the log: lines on standard error, and records for whoever takes them.
///
/// # Errors
/// Fails if this process has a log already.
pub fn begin(lines: Lines, telemetry: Option<&Telemetry>) -> Result<(), BegunTwice> {
    let mut layers: Vec<Boxed> = Vec::new();
    if lines.level != Level::OFF {
        layers.push(on_stderr(lines));
    }
    if let Some(provider) = telemetry.and_then(Telemetry::logs) {
        let level = LevelFilter::INFO.max(lines.level.0);
        // Nothing of what telemetry travels on, or a record would be sent for each that cannot be.
        let filter =
            Targets::new().with_target(OURS, level).with_target(OF_TELEMETRY, LevelFilter::OFF);
        layers.push(OpenTelemetryTracingBridge::new(provider).with_filter(filter).boxed());
    }
    if layers.is_empty() {
        return Ok(());
    }
    Ok(tracing_subscriber::registry().with(layers).try_init()?)
}

fn on_stderr(lines: Lines) -> Boxed {
    let filter = filter(lines.level.0);
    let plain = fmt::layer().with_writer(Cleaned).with_target(false);
    match (lines.format, lines.dress) {
        (Format::Json, _) => {
            fmt::layer().with_writer(Cleaned).with_ansi(false).json().with_filter(filter).boxed()
        }
        (Format::Text, Dress::Plain) => plain.with_ansi(false).with_filter(filter).boxed(),
        (Format::Text, Dress::Colour) => plain.with_ansi(true).with_filter(filter).boxed(),
        (Format::Text, Dress::Journal) => {
            plain.with_ansi(false).without_time().with_filter(filter).boxed()
        }
    }
}

fn filter(level: LevelFilter) -> Targets {
    Targets::new().with_target(OURS, level).with_default(level.min(LevelFilter::WARN))
}

/// Standard error behind the redactor. A line comes in one piece.
#[derive(Debug, Clone, Copy)]
struct Cleaned;

impl MakeWriter<'_> for Cleaned {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}

impl Write for Cleaned {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(&redact::current().bytes(line))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_word() {
        assert_eq!(Level::parse("OFF"), Some(Level::OFF));
        assert_eq!(Level::parse(" info "), Some(Level::INFO));
        assert_eq!(Level::parse("debug"), Some(Level(LevelFilter::DEBUG)));
        for bad in ["", "loud", "3", "info,h2=trace"] {
            assert_eq!(Level::parse(bad), None, "{bad}");
        }
        let said = |word: &str| Level::said(Some(OsStr::new(word)));
        assert!(matches!(said(""), Ok(None)));
        assert!(matches!(said("info"), Ok(Some(Level::INFO))));
        assert_eq!(
            said("loud").unwrap_err().to_string(),
            "RATCHET_LOG is 'loud', which is no level"
        );
    }
}
