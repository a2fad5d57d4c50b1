//! Waiting for a state. The only place in the tests that pauses: it looks again every few milliseconds until the
//! state is there, and fails loudly with the state's name when the deadline passes.

use std::path::Path;
use std::time::{Duration, Instant};

/// How long a state may take to come. Long, for a busy machine; a passing test never waits it out.
pub const DEADLINE: Duration = Duration::from_secs(30);

const LOOK_AGAIN: Duration = Duration::from_millis(3);

/// Waits until `holds` says yes; `false` when `deadline` passes first.
pub fn within(deadline: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + deadline;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the one pause: every other wait is built on it"
        )]
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Waits until `holds` says yes.
///
/// # Panics
/// When the state has not come within [`DEADLINE`]; the message says which state.
#[track_caller]
pub fn until(state: &str, holds: impl FnMut() -> bool) {
    assert!(within(DEADLINE, holds), "waited {} s in vain for: {state}", DEADLINE.as_secs());
}

/// Lets a moment pass, where the instant itself is what is tried out: nothing may be concluded from its length.
pub fn moment(length: Duration) {
    #[expect(clippy::disallowed_methods, reason = "the length is an input of the test")]
    std::thread::sleep(length);
}

/// Waits until the file is there.
///
/// # Panics
/// Like [`until`].
#[track_caller]
pub fn until_exists(path: &Path) {
    until(&format!("{} to appear", path.display()), || path.exists());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_never_comes_ends_the_wait_at_its_deadline() {
        assert!(!within(Duration::from_millis(10), || false));
    }

    #[test]
    fn a_state_that_is_there_is_not_waited_for() {
        let started = Instant::now();
        assert!(within(DEADLINE, || true));
        assert!(started.elapsed() < DEADLINE);
    }
}
