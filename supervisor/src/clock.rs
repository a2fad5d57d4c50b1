//! The only place that asks the time and the zone. Everybody else is handed a [`Clock`] or a [`Timestamp`].

use jiff::tz::TimeZone;
use ratchet_engine::time::Timestamp;

/// Tells the time.
#[derive(Debug, Clone, Copy, Default)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// A clock that stands still, for tests.
    Fixed(Timestamp),
}

impl Clock {
    /// Returns the current time in UTC, in whole milliseconds.
    #[must_use]
    pub fn now(self) -> Timestamp {
        match self {
            Self::System => system_now(),
            Self::Fixed(time) => time,
        }
    }
}

/// Returns the zone that programs of this user take for local time.
#[must_use]
pub fn local_zone() -> TimeZone {
    TimeZone::system()
}

fn system_now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    let now = std::time::SystemTime::now();
    let ms = match now.duration_since(std::time::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    };
    Timestamp::from_unix_ms(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_stands_still_and_the_system_clock_is_in_this_century() {
        let time = Timestamp::from_unix_ms(5);
        assert_eq!(Clock::Fixed(time).now(), time);
        assert!(Clock::System.now().to_string().starts_with("20"));
    }
}
