//! The spawn protocol against real processes. One file per question; see [`harness`] for how a test waits.

#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

mod attaching;
mod damage;
mod endings;
mod harness;
mod limits;
mod output;
mod starting;
mod stopping;
mod strays;
mod sweeping;
