//! Points in time. The engine is told the time; it never asks.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment in UTC with a precision of one millisecond, printed as `2026-07-02T09:00:00.000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Takes milliseconds since 1970; moments outside of jiff's range (years -9999 to 9999) are clamped.
    #[must_use]
    pub fn from_unix_ms(ms: i64) -> Self {
        let clamp = if ms < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        Self(jiff::Timestamp::from_millisecond(ms).unwrap_or(clamp))
    }

    /// Returns milliseconds since 1970.
    #[must_use]
    pub fn unix_ms(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Parses an ISO-8601 text with an offset or `Z`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// Gives the UTC date as `YYYY-MM-DD`.
    #[must_use]
    pub fn date(self) -> String {
        self.0.strftime("%Y-%m-%d").to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.strftime("%Y-%m-%dT%H:%M:%S.%3fZ"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let refused = || serde::de::Error::custom(format_args!("'{text}' is no moment"));
        Self::parse(&text).ok_or_else(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_has_milliseconds_and_a_z() {
        let text = "2026-07-02T09:05:01.007Z";
        assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        assert_eq!(Timestamp::parse(text).unwrap().date(), "2026-07-02");
        assert_eq!(Timestamp::from_unix_ms(0).to_string(), "1970-01-01T00:00:00.000Z");
        let json = format!("\"{text}\"");
        let read: Timestamp = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        assert!(serde_json::from_str::<Timestamp>("\"soon\"").is_err());
    }
}
