//! Whoever is killed, and whenever: nothing is run twice, nothing acknowledged is lost, no batch is stuck and no process
//! left. See `ratchet_tests::chaos`.
//!
//! `RATCHET_CHAOS_ROUNDS` and `RATCHET_CHAOS_SEED` say how many rounds, and the seed of the first; the others follow it by
//! number. By hand, for as long as it takes:
//!
//! ```text
//! RATCHET_CHAOS_ROUNDS=10000 cargo test -p ratchet-tests --test it chaos -- --nocapture
//! ```

use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use ratchet_tests::chaos::{Door, Failed, Figures, round};

use crate::PROGRAMS;

/// How many rounds, if nobody says.
const ROUNDS: u64 = 120;

/// Rounds wait more than they work, so there are more at once than processors.
const AT_ONCE: usize = 4;

/// After so many failures there is enough to look into.
const MOST_FAILURES: usize = 3;

#[test]
fn whoever_is_killed_and_whenever_nothing_is_lost_run_twice_or_stuck() {
    storms(Door::Embedded);
}

#[test]
fn a_supervisor_that_is_killed_again_and_again_changes_nothing_of_that() {
    storms(Door::Supervisor);
}

fn storms(door: Door) {
    let (rounds, first) = (number("RATCHET_CHAOS_ROUNDS", ROUNDS), number("RATCHET_CHAOS_SEED", 1));
    let next = AtomicU64::new(0);
    let outcome: Mutex<(Figures, Vec<Failed>)> = Mutex::default();
    let seen = || outcome.lock().expect("no round panics while it tells");
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= rounds || seen().1.len() >= MOST_FAILURES {
                return;
            }
            match round(PROGRAMS, door, first.wrapping_add(number)) {
                Ok(figures) => seen().0.add(&figures),
                Err(failed) => seen().1.push(failed),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let (figures, failed) = outcome.into_inner().expect("no round panics while it tells");
    let mut out = std::io::stdout().lock();
    writeln!(out, "chaos, {door:?}: {figures}").expect("there is somebody to be told");
    let told: Vec<String> = failed.iter().map(ToString::to_string).collect();
    assert!(failed.is_empty(), "{}", told.join("\n\n"));
}

fn number(variable: &str, otherwise: u64) -> u64 {
    let Ok(text) = std::env::var(variable) else { return otherwise };
    text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, and is {text}"))
}
