//! The supervisor's log: lines on standard error. Only ratchet's own words are in it; of what it is built on, only troubles.

use ratchet_supervisor::environment::Environment;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::diagnostic::Failure;
use crate::render::page::Ink;

/// The variable that says how much is told.
const LEVEL: &str = "RATCHET_LOG";

/// What the crates of ratchet have in common.
const OURS: &str = "ratchet";

/// Begins the log.
pub(super) fn begin(environment: &Environment, ink: Ink) -> Result<(), Failure> {
    let level = level(environment)?;
    // What others tell may hold what nobody should read, such as headers.
    let filter = Targets::new().with_target(OURS, level).with_default(level.min(LevelFilter::WARN));
    let colours = match ink {
        Ink::Plain => false,
        Ink::Colour => true,
    };
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(colours).with_target(false);
    // The journal knows the time better.
    let in_journal = environment.var_os("JOURNAL_STREAM").is_some();
    let subscriber = tracing_subscriber::registry().with(filter);
    let begun = if in_journal {
        subscriber.with(lines.without_time()).try_init()
    } else {
        subscriber.with(lines).try_init()
    };
    begun.map_err(|error| Failure::from_error(&error))
}

fn level(environment: &Environment) -> Result<LevelFilter, Failure> {
    let Some(said) = environment.var_os(LEVEL).filter(|said| !said.is_empty()) else {
        return Ok(LevelFilter::INFO);
    };
    let level = said.to_str().and_then(|text| text.trim().parse().ok());
    level.ok_or_else(|| {
        let said = said.to_string_lossy();
        Failure::new(format!("{LEVEL} is '{said}', which is no level"))
            .help("use off, error, warn, info, debug or trace")
            .code("bad-setting")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_a_word_and_info_without_one() {
        let level = |said: &str| level(&Environment::new("/", [(LEVEL, said)]));
        assert_eq!(level("").unwrap(), LevelFilter::INFO);
        assert_eq!(level("debug").unwrap(), LevelFilter::DEBUG);
        assert_eq!(level("OFF").unwrap(), LevelFilter::OFF);
        let refused = level("loud").unwrap_err();
        assert!(refused.sentence().contains("RATCHET_LOG is 'loud'"), "{refused:?}");
    }
}
