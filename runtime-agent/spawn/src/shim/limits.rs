//! When the agent's time is up. Pure: it is told the time.

use std::time::{Duration, Instant};

use crate::record::TimeLimit;
use crate::request::Limits;

/// A limit that will be, or was, reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    pub(super) limit: TimeLimit,
    pub(super) after_ms: u64,
}

/// Finds the limit that is reached first, given when the agent started and when it last printed something.
pub(super) fn next_deadline(
    limits: &Limits,
    started: Instant,
    last_output: Option<Instant>,
) -> Option<Deadline> {
    let deadline = |limit, from: Instant, after_ms: Option<u64>| {
        let after_ms = after_ms?;
        // A limit beyond what the clock can hold is never reached.
        let at = from.checked_add(Duration::from_millis(after_ms))?;
        Some(Deadline { at, limit, after_ms })
    };
    let start = match last_output {
        None => deadline(TimeLimit::Start, started, limits.start_ms),
        Some(_) => None,
    };
    let idle = deadline(TimeLimit::Idle, last_output.unwrap_or(started), limits.idle_ms);
    let wall = deadline(TimeLimit::Wall, started, limits.wall_ms);
    [start, idle, wall].into_iter().flatten().min_by_key(|deadline| deadline.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(start: u64, idle: u64, wall: u64) -> Limits {
        Limits {
            start_ms: Some(start),
            idle_ms: Some(idle),
            wall_ms: Some(wall),
            ..Limits::default()
        }
    }

    fn first(limits: &Limits, last_output_ms: Option<u64>) -> Option<(TimeLimit, u64)> {
        let started = Instant::now();
        let last_output = last_output_ms.map(|ms| started + Duration::from_millis(ms));
        let deadline = next_deadline(limits, started, last_output)?;
        let after = (deadline.at - started).as_millis();
        Some((deadline.limit, u64::try_from(after).unwrap()))
    }

    #[test]
    fn without_limits_there_is_no_deadline() {
        assert_eq!(first(&Limits::default(), None), None);
        assert_eq!(first(&Limits::default(), Some(5)), None);
    }

    #[test]
    fn the_start_limit_ends_with_the_first_byte() {
        assert_eq!(first(&limits(10, 500, 900), None), Some((TimeLimit::Start, 10)));
        assert_eq!(first(&limits(10, 500, 900), Some(5)), Some((TimeLimit::Idle, 505)));
    }

    #[test]
    fn silence_from_the_beginning_counts_as_idle() {
        assert_eq!(first(&limits(700, 500, 900), None), Some((TimeLimit::Idle, 500)));
    }

    #[test]
    fn output_moves_the_idle_limit_but_not_the_wall_limit() {
        assert_eq!(first(&limits(10, 500, 900), Some(300)), Some((TimeLimit::Idle, 800)));
        assert_eq!(first(&limits(10, 500, 900), Some(500)), Some((TimeLimit::Wall, 900)));
    }

    #[test]
    fn a_limit_of_any_size_can_be_told() {
        assert_eq!(first(&limits(u64::MAX, u64::MAX, 9), Some(5)), Some((TimeLimit::Wall, 9)));
    }
}
