//! How often a run of several steps waits for an agent's usage limit to be over. What is waited for is the engine's rule.

use ratchet_engine::outcome::Cause;
use ratchet_engine::report::ApplyReport;

/// How often in a row a limit may be reached again right after it was to be over, before a person has to look.
const MOST_IN_A_ROW: u32 = 3;

/// How patient a run is.
#[derive(Debug)]
pub(super) struct Patience {
    /// Limits that were reached since the last step that got on.
    in_a_row: u32,
    most: u32,
}

impl Patience {
    /// Waits, but not for ever.
    pub(super) fn some() -> Self {
        Self { in_a_row: 0, most: MOST_IN_A_ROW }
    }

    /// `--no-wait`
    pub(super) fn none() -> Self {
        Self { in_a_row: 0, most: 0 }
    }

    /// Takes note of a report, and says whether what it asks to wait for is worth waiting for.
    pub(super) fn allows(&mut self, report: &ApplyReport) -> bool {
        match report {
            ApplyReport::Step(step) if step.cause != Some(Cause::Quota) => self.in_a_row = 0,
            // Only an agent that was started can have reached its limit again.
            ApplyReport::Step(step) if step.spawn_id.is_some() => self.in_a_row += 1,
            ApplyReport::Proof(_) => self.in_a_row = 0,
            ApplyReport::Step(_) | ApplyReport::Parked(_) | ApplyReport::NothingReady(_) => {}
        }
        self.in_a_row <= self.most && self.most > 0
    }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::name::{SpawnId, StepKey};
    use ratchet_engine::outcome::{StepResult, StepState};
    use ratchet_engine::time::Timestamp;
    use ratchet_engine::transition::StepKind;

    use super::*;

    fn step(state: StepState) -> StepResult {
        let spawn_id = SpawnId::parse("s1").ok();
        let result = StepResult::new(state, StepKey::from_text("add-cart"), StepKind::Apply);
        StepResult { spawn_id, ..result }
    }

    fn limited(at: Option<i64>) -> StepResult {
        StepResult {
            cause: Some(Cause::Quota),
            retry_at: at.map(Timestamp::from_unix_ms),
            ..step(StepState::Blocked)
        }
    }

    #[test]
    fn a_limit_that_comes_back_at_once_is_not_waited_for_for_ever() {
        let mut patience = Patience::some();
        let hit = ApplyReport::Step(limited(Some(5)));
        let refused = ApplyReport::Step(StepResult { spawn_id: None, ..limited(Some(5)) });
        for _time in 0..MOST_IN_A_ROW {
            assert!(patience.allows(&hit) && patience.allows(&refused));
        }
        assert!(!patience.allows(&hit));
        assert!(!patience.allows(&hit));
        patience.allows(&ApplyReport::Step(step(StepState::Advanced)));
        assert!(patience.allows(&hit));
        assert!(!Patience::none().allows(&hit));
    }
}
