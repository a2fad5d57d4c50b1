//! Whoever is killed, and whenever: nothing is run twice, nothing acknowledged is lost, no batch is stuck and no process
//! left. See `ratchet_tests::chaos`.
//!
//! `RATCHET_CHAOS_ROUNDS` and `RATCHET_CHAOS_SEED` say how many rounds, and the seed of the first; the others follow it by
//! number. By hand, for as long as it takes:
//!
//! ```text
//! RATCHET_CHAOS_ROUNDS=10000 cargo test -p ratchet-tests --test it chaos -- --nocapture
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use ratchet_tests::chaos::{Failed, Figures, round};

use crate::PROGRAMS;

/// How many rounds, if nobody says.
const ROUNDS: u64 = 120;

/// Rounds wait more than they work, so there are more at once than processors.
const AT_ONCE: usize = 4;

#[test]
fn whoever_is_killed_and_whenever_nothing_is_lost_run_twice_or_stuck() {
    storms();
}

fn storms() {
    let (rounds, first) = (number("RATCHET_CHAOS_ROUNDS", ROUNDS), number("RATCHET_CHAOS_SEED", 1));
    let next = AtomicU64::new(0);
    let figures = Mutex::new(Figures::default());
    let failed: Mutex<Vec<Failed>> = Mutex::default();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= rounds || !failed.lock().unwrap().is_empty() {
                return;
            }
            match round(PROGRAMS, first.wrapping_add(number)) {
                Ok(seen) => figures.lock().unwrap().add(&seen),
                Err(failure) => failed.lock().unwrap().push(failure),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    println!("chaos: {}", figures.into_inner().unwrap());
    let failed = failed.into_inner().unwrap();
    let told: Vec<String> = failed.iter().map(ToString::to_string).collect();
    assert!(failed.is_empty(), "{}", told.join("\n\n"));
}

fn number(variable: &str, otherwise: u64) -> u64 {
    let Ok(text) = std::env::var(variable) else { return otherwise };
    text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, and is {text}"))
}
