//! Who is behind a process id that stands in a file: the same process, another one with its number, or nobody.
//!
//! A number alone proves nothing, for numbers are reused. Boot and start time tell two processes apart.

use std::fs;

use ratchet_engine::time::Timestamp;
use rustix::process::{Pid, test_kill_process};

/// The kernel counts process times in this unit on every architecture that Rust has a tier 1 or 2 target for.
const TICKS_PER_SECOND: u64 = 100;

/// Start times are whole seconds plus ticks; a process this much younger than a note about it did not write the note.
const SLACK_MS: i64 = 2_000;

/// What a file says about the process that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark<'a> {
    /// Its number.
    pub(crate) pid: i64,
    /// When it wrote, if that can be read.
    pub(crate) at: Option<Timestamp>,
    /// The boot it lived in, if the file says so.
    pub(crate) boot_id: Option<&'a str>,
    /// When it started, in ticks since boot, if the file says so.
    pub(crate) start_time: Option<u64>,
}

/// Tells whether the process that left this mark still runs. What cannot be told counts as running.
pub(crate) fn still_runs(mark: &Mark<'_>) -> bool {
    let number = i32::try_from(mark.pid).ok().filter(|pid| *pid > 0);
    let Some(pid) = number.and_then(Pid::from_raw) else {
        return false;
    };
    let gone = test_kill_process(pid).is_err_and(|error| error == rustix::io::Errno::SRCH)
        || is_zombie(mark.pid);
    let other_boot = mark.boot_id.is_some_and(|then| boot_id().is_some_and(|now| now != then));
    !gone && !other_boot && !number_was_reused(mark)
}

fn number_was_reused(mark: &Mark<'_>) -> bool {
    let Some(started) = start_time(mark.pid) else {
        return false;
    };
    match (mark.start_time, mark.at) {
        (Some(then), _) => then != started,
        (None, Some(at)) => boot_ms().is_some_and(|boot| {
            let started = boot.saturating_add_unsigned(started * 1_000 / TICKS_PER_SECOND);
            started > at.unix_ms().saturating_add(SLACK_MS)
        }),
        (None, None) => false,
    }
}

/// Tells whether nothing is left of a process but its number, which its parent has not taken note of: a parent may never do
/// so, as the first process of many a container.
fn is_zombie(pid: i64) -> bool {
    field(pid, STATE).is_some_and(|state| state == "Z" || state == "X")
}

/// Returns the id of this boot.
pub(crate) fn boot_id() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// Returns when a process started, in ticks since boot.
pub(crate) fn start_time(pid: i64) -> Option<u64> {
    field(pid, START_TIME)?.parse().ok()
}

/// Where things stand in `/proc/<pid>/stat`, counted from behind the program's name.
const STATE: usize = 0;
const START_TIME: usize = 19;

fn field(pid: i64, at: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets and may hold blanks and brackets itself.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(at).map(str::to_owned)
}

fn boot_ms() -> Option<i64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let seconds: i64 = stat.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
    Some(seconds * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    fn mark(at: Timestamp) -> Mark<'static> {
        Mark { pid: i64::from(std::process::id()), at: Some(at), boot_id: None, start_time: None }
    }

    #[test]
    fn a_live_process_that_was_there_when_the_note_was_written_runs() {
        assert!(still_runs(&mark(Clock::System.now())));
        assert!(still_runs(&Mark { at: None, ..mark(Clock::System.now()) }));
    }

    #[test]
    fn a_number_that_was_reused_is_not_the_writer() {
        assert!(!still_runs(&mark(Timestamp::from_unix_ms(0))));
        assert!(!still_runs(&Mark { start_time: Some(1), ..mark(Clock::System.now()) }));
        assert!(!still_runs(&Mark { boot_id: Some("another"), ..mark(Clock::System.now()) }));
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a child that nobody has waited for yet is needed"
    )]
    fn one_that_has_ended_and_was_not_waited_for_does_not_run() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = i64::from(child.id());
        let zombie = Mark { pid, ..mark(Clock::System.now()) };
        while !is_zombie(pid) {
            std::thread::yield_now();
        }
        assert!(!still_runs(&zombie));
        child.wait().unwrap();
    }

    #[test]
    fn a_number_that_no_process_can_have_is_nobody() {
        for pid in [0, -1, 99_999_999, i64::MAX] {
            assert!(!still_runs(&Mark { pid, ..mark(Clock::System.now()) }), "{pid}");
        }
    }
}
