//! The actors: who waits for whom, and nothing about what a step means.
//!
//! Work goes down, word of what is over goes up: root → project → batch → step, and beside them the runtime actor. No
//! handler awaits an agent; a step actor watches it and reports. Domain failures are data in messages: a told `Err` would
//! be a crash. Children are plain actors that are linked and forgotten when idle ([`brood`]).

pub(crate) mod batch;
pub(crate) mod board;
mod brood;
mod log;
pub(crate) mod message;
mod project;
pub(crate) mod root;
mod runtime;
mod step;
