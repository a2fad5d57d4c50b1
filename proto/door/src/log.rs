//! The log of a server: lines on standard error. Only ratchet's own words are in it; of what it is built on, only troubles.

use std::ffi::OsStr;

use thiserror::Error;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

/// The variable that says how much is told.
pub const LEVEL: &str = "RATCHET_LOG";

/// The variable by which systemd says that its journal reads along.
pub const JOURNAL: &str = "JOURNAL_STREAM";

/// What the crates of ratchet have in common.
const OURS: &str = "ratchet";

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// For a person at a terminal.
    Coloured,
    /// For a file or a pipe.
    Plain,
    /// For a journal, which knows the time better.
    Timeless,
}

/// A log that could not begin.
#[derive(Debug, Error)]
pub enum LogError {
    /// The variable says something else than a level.
    #[error("{LEVEL} is '{said}', which is no level")]
    NoLevel {
        /// What it says.
        said: String,
    },
    /// There is one already.
    #[error("the log cannot begin")]
    Begun(#[from] TryInitError),
}

/// Begins the log. `level` is what [`LEVEL`] says, if it is set.
///
/// # Errors
/// [`LogError`].
pub fn begin(level: Option<&OsStr>, look: Look) -> Result<(), LogError> {
    let level = parse(level)?;
    // What others tell may hold what nobody should read, such as headers.
    let filter = Targets::new().with_target(OURS, level).with_default(level.min(LevelFilter::WARN));
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(look == Look::Coloured)
        .with_target(false);
    let subscriber = tracing_subscriber::registry().with(filter);
    match look {
        Look::Timeless => subscriber.with(lines.without_time()).try_init()?,
        Look::Coloured | Look::Plain => subscriber.with(lines).try_init()?,
    }
    Ok(())
}

fn parse(said: Option<&OsStr>) -> Result<LevelFilter, LogError> {
    let Some(said) = said.filter(|said| !said.is_empty()) else { return Ok(LevelFilter::INFO) };
    let level = said.to_str().and_then(|text| text.trim().parse().ok());
    level.ok_or_else(|| LogError::NoLevel { said: said.to_string_lossy().into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_a_word_and_info_without_one() {
        let level = |said: &str| parse(Some(OsStr::new(said)));
        assert_eq!(parse(None).unwrap(), LevelFilter::INFO);
        assert_eq!(level("").unwrap(), LevelFilter::INFO);
        assert_eq!(level("debug").unwrap(), LevelFilter::DEBUG);
        assert_eq!(level("OFF").unwrap(), LevelFilter::OFF);
        let refused = level("loud").unwrap_err();
        assert!(refused.to_string().contains("RATCHET_LOG is 'loud'"), "{refused:?}");
    }
}
