//! The only place that asks the time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time.
pub(crate) fn now() -> SystemTime {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    SystemTime::now()
}

/// Tells the time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
