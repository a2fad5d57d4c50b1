//! What an operator wants of telemetry, read from the `OTEL_*` variables of the OpenTelemetry specification.
//!
//! Nothing is set up here. Without an endpoint there is no [`Config`] at all.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use thiserror::Error;

/// The endpoint for all signals, and what the others are derived from.
const ALL: &str = "OTEL_EXPORTER_OTLP_";

/// One of the three kinds of telemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Numbers.
    Metrics,
    /// Log records.
    Logs,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Traces, Self::Metrics, Self::Logs];

    /// Returns its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
            Self::Logs => "logs",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
            Self::Logs => "LOGS",
        }
    }
}

/// How a signal travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `grpc`.
    Grpc,
    /// `http/protobuf`, the default.
    Http,
}

/// Where one signal goes, and how.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// The address; for HTTP with the signal's path.
    pub endpoint: http::Uri,
    /// How it travels.
    pub protocol: Protocol,
    /// Headers of each request. Their values may be secret.
    pub headers: Vec<(String, String)>,
    /// How long one request may take.
    pub timeout: Duration,
    /// A file with the certificates that are trusted instead of the system's.
    pub certificate: Option<String>,
}

/// Which traces are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// All.
    AlwaysOn,
    /// None.
    AlwaysOff,
    /// A share of them.
    Ratio(f64),
}

/// Which traces are kept, and whether the caller's choice comes first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// For traces that begin here.
    pub root: Sampling,
    /// A caller that has chosen is followed.
    pub parent_based: bool,
}

/// How counts are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// As totals of the process.
    Cumulative,
    /// As what was added.
    Delta,
    /// As whatever needs the least memory.
    LowMemory,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where each signal goes; one that is missing is not made.
    pub targets: BTreeMap<Signal, Target>,
    /// What is told of this process, beside the name of the service.
    pub resource: Vec<(String, String)>,
    /// The name of the service, if somebody gave one.
    pub service: Option<String>,
    /// Which traces are kept.
    pub sampler: Sampler,
    /// How counts are told, if somebody says so.
    pub counting: Option<Counting>,
    /// How often metrics are sent.
    pub metric_interval: Duration,
    /// How long spans and records wait for company.
    pub batch_delay: Duration,
    /// How many wait at most.
    pub queue: usize,
    /// How many travel together at most.
    pub batch: usize,
}

/// A variable that cannot be used. Values of headers are in none of the texts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{variable} {why}")]
pub struct ConfigError {
    /// The variable.
    pub variable: String,
    /// What is wrong with its value.
    pub why: String,
}

impl Config {
    /// Reads the variables; `None` if nobody wants telemetry.
    ///
    /// # Errors
    /// [`ConfigError`] for the first value that means nothing.
    pub fn read<'a>(
        variable: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Option<Self>, ConfigError> {
        let read = Reader { variable };
        // The cheap answer first: most runs of ratchet have no endpoint.
        let asked = |signal: Signal| {
            read.text(&format!("{ALL}{}_ENDPOINT", signal.word()))
                .or_else(|| read.text(&format!("{ALL}ENDPOINT")))
                .is_some()
        };
        if !Signal::ALL.into_iter().any(asked) || read.is_true("OTEL_SDK_DISABLED") {
            return Ok(None);
        }
        let mut targets = BTreeMap::new();
        for signal in Signal::ALL.into_iter().filter(|signal| asked(*signal)) {
            if let Some(target) = read.target(signal)? {
                targets.insert(signal, target);
            }
        }
        if targets.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            targets,
            resource: read.pairs("OTEL_RESOURCE_ATTRIBUTES")?,
            service: read.text("OTEL_SERVICE_NAME").map(str::to_owned),
            sampler: read.sampler()?,
            counting: read.counting()?,
            metric_interval: read.ms("OTEL_METRIC_EXPORT_INTERVAL", 60_000)?,
            batch_delay: read.ms("OTEL_BSP_SCHEDULE_DELAY", 1_000)?,
            queue: read.count("OTEL_BSP_MAX_QUEUE_SIZE", 4_096)?,
            batch: read.count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?,
        }))
    }
}

struct Reader<F> {
    variable: F,
}

impl<'a, F: Fn(&str) -> Option<&'a str>> Reader<F> {
    /// An empty value counts as none.
    fn text(&self, name: &str) -> Option<&'a str> {
        (self.variable)(name).map(str::trim).filter(|text| !text.is_empty())
    }

    fn is_true(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    /// Reads the variable of a signal, else the one for all.
    fn of(&self, signal: Signal, what: &str) -> Option<(String, &'a str)> {
        [format!("{ALL}{}_{what}", signal.word()), format!("{ALL}{what}")]
            .into_iter()
            .find_map(|name| self.text(&name).map(|text| (name, text)))
    }

    fn target(&self, signal: Signal) -> Result<Option<Target>, ConfigError> {
        let exporter = format!("OTEL_{}_EXPORTER", signal.word());
        match self.text(&exporter) {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(other) => return Err(bad(exporter, format!("is '{other}': use otlp or none"))),
        }
        let protocol = match self.of(signal, "PROTOCOL") {
            None | Some((_, "http/protobuf")) => Protocol::Http,
            Some((_, "grpc")) => Protocol::Grpc,
            Some((name, other)) => {
                return Err(bad(name, format!("is '{other}': use grpc or http/protobuf")));
            }
        };
        let Some(endpoint) = self.endpoint(signal, protocol)? else { return Ok(None) };
        let headers = match self.of(signal, "HEADERS") {
            Some((name, text)) => pairs(&name, text)?,
            None => Vec::new(),
        };
        let timeout = match self.of(signal, "TIMEOUT") {
            Some((name, text)) => ms(&name, text)?,
            None => Duration::from_secs(10),
        };
        let certificate = self.of(signal, "CERTIFICATE").map(|(_, path)| path.to_owned());
        Ok(Some(Target { endpoint, protocol, headers, timeout, certificate }))
    }

    /// The endpoint for all signals is a base to which HTTP adds the signal's path; one for a signal is taken as it is.
    fn endpoint(
        &self,
        signal: Signal,
        protocol: Protocol,
    ) -> Result<Option<http::Uri>, ConfigError> {
        let own = format!("{ALL}{}_ENDPOINT", signal.word());
        let base = format!("{ALL}ENDPOINT");
        let (name, text) = match (self.text(&own), self.text(&base)) {
            (Some(text), _) => (own, text.to_owned()),
            (None, Some(text)) => match protocol {
                Protocol::Grpc => (base, text.to_owned()),
                Protocol::Http => {
                    let text = format!("{}/v1/{}", text.trim_end_matches('/'), signal.as_str());
                    (base, text)
                }
            },
            (None, None) => return Ok(None),
        };
        let uri: http::Uri =
            text.parse().map_err(|error| bad(&name, format!("is no address: {error}")))?;
        match uri.scheme_str() {
            Some("http" | "https") if uri.host().is_some() => Ok(Some(uri)),
            _ => Err(bad(name, "must begin with http:// or https:// and name a host".to_owned())),
        }
    }

    fn counting(&self) -> Result<Option<Counting>, ConfigError> {
        let name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
        match self.text(name).map(str::to_ascii_lowercase).as_deref() {
            None => Ok(None),
            Some("cumulative") => Ok(Some(Counting::Cumulative)),
            Some("delta") => Ok(Some(Counting::Delta)),
            Some("lowmemory") => Ok(Some(Counting::LowMemory)),
            Some(other) => {
                Err(bad(name, format!("is '{other}': use cumulative, delta or lowmemory")))
            }
        }
    }

    fn sampler(&self) -> Result<Sampler, ConfigError> {
        let name = "OTEL_TRACES_SAMPLER";
        let said = self.text(name).unwrap_or("parentbased_always_on");
        let (word, parent_based) = match said.strip_prefix("parentbased_") {
            Some(word) => (word, true),
            None => (said, false),
        };
        let root = match word {
            "always_on" => Sampling::AlwaysOn,
            "always_off" => Sampling::AlwaysOff,
            "traceidratio" => Sampling::Ratio(self.ratio()?),
            _ => {
                let known = "always_on, always_off, traceidratio, or these after parentbased_";
                return Err(bad(name, format!("is '{said}': use {known}")));
            }
        };
        Ok(Sampler { root, parent_based })
    }

    fn ratio(&self) -> Result<f64, ConfigError> {
        let name = "OTEL_TRACES_SAMPLER_ARG";
        let Some(text) = self.text(name) else { return Ok(1.0) };
        let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.ok_or_else(|| bad(name, format!("is '{text}': use a number from 0 to 1")))
    }

    fn pairs(&self, name: &str) -> Result<Vec<(String, String)>, ConfigError> {
        self.text(name).map_or(Ok(Vec::new()), |text| pairs(name, text))
    }

    fn ms(&self, name: &str, usual: u64) -> Result<Duration, ConfigError> {
        self.text(name).map_or(Ok(Duration::from_millis(usual)), |text| ms(name, text))
    }

    fn count(&self, name: &str, usual: usize) -> Result<usize, ConfigError> {
        let Some(text) = self.text(name) else { return Ok(usual) };
        let count = text.parse().ok().filter(|count| (1..=1_000_000).contains(count));
        count.ok_or_else(|| bad(name, format!("is '{text}': use a number from 1 to 1000000")))
    }
}

/// Reads `key=value,key=value`; values are percent-encoded.
fn pairs(name: &str, text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    text.split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| bad(name, "must be key=value, separated by commas".to_owned()))?;
            let value = decoded(value.trim()).ok_or_else(|| {
                bad(name, format!("has a value for '{}' that is badly encoded", key.trim()))
            })?;
            Ok((key.trim().to_owned(), value))
        })
        .collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                bytes.push(u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?);
                rest = after;
            }
            (b'%', _) => return None,
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn ms(name: &str, text: &str) -> Result<Duration, ConfigError> {
    let number = text.parse().map_err(|_| bad(name, format!("is '{text}': use milliseconds")))?;
    Ok(Duration::from_millis(number))
}

fn bad(variable: impl Into<String>, why: String) -> ConfigError {
    ConfigError { variable: variable.into(), why }
}

/// Values of headers are secret, and so may be what an address holds beside its host.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Target")
            .field("host", &self.endpoint.host())
            .field("protocol", &self.protocol)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
