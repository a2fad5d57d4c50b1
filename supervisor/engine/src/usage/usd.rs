//! US dollars, exact: prices of single requests are far below a cent, and sums must not drift.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const NANOS: f64 = 1e9;

/// An amount of US dollars that is not negative, in whole billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Usd(u64);

impl Usd {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// Takes dollars, rounded to a billionth; `None` if that is no amount, or more than anybody has.
    #[must_use]
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        const MOST: f64 = 1e9;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and 1e18"
        )]
        let nanos = (dollars * NANOS).round() as u64;
        (0.0..=MOST).contains(&dollars).then_some(Self(nanos))
    }

    /// Returns dollars.
    #[must_use]
    pub fn dollars(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a figure for people and for JSON")]
        let nanos = self.0 as f64;
        nanos / NANOS
    }

    /// Adds an amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Shows cents from a dollar up, and below that hundredths of a cent.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        if dollars >= 1.0 { write!(f, "${dollars:.2}") } else { write!(f, "${dollars:.4}") }
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::from_dollars(dollars).ok_or_else(|| {
            serde::de::Error::custom(format_args!("{dollars} is no amount of money"))
        })
    }
}
