//! Waiting for a moment of the wall clock. A signal ends the wait.

use std::time::Duration;

use ratchet_engine::time::Timestamp;

use super::Stage;
use crate::render::step;

/// How long the clock is not looked at: it may be set, and a machine that slept finds the moment past when it wakes.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The moment has come.
    Over,
    /// A signal came first.
    Interrupted,
}

impl Stage {
    /// Waits for a moment, and tells a person so.
    pub(crate) async fn wait_until(&mut self, moment: Timestamp) -> Waited {
        let now = self.clock.now();
        self.ui.tell(|page| step::waiting(page, now, moment));
        while let Some(sleep) = next_look(self.clock.now(), moment) {
            tokio::select! {
                () = tokio::time::sleep(sleep) => {}
                signal = self.signals.next() => {
                    self.asked = Some(signal);
                    return Waited::Interrupted;
                }
            }
        }
        Waited::Over
    }
}

/// Says when to look at the clock next; `None` once the moment has come.
fn next_look(now: Timestamp, moment: Timestamp) -> Option<Duration> {
    let left = u64::try_from(moment.unix_ms().saturating_sub(now.unix_ms())).unwrap_or(0);
    (left > 0).then(|| Duration::from_millis(left).min(LONGEST_SLEEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_looked_at_again_and_again() {
        let at = Timestamp::from_unix_ms;
        let look = |now| next_look(at(now), at(100_000));
        assert_eq!(look(0), Some(LONGEST_SLEEP));
        assert_eq!(look(99_990), Some(Duration::from_millis(10)));
        assert_eq!(look(100_000), None);
        assert_eq!(look(5_000_000), None);
        assert_eq!(next_look(at(i64::MIN), at(i64::MAX)), Some(LONGEST_SLEEP));
    }
}
