//! The actors: who waits for whom, and nothing about what a step means.
//!
//! Asks go down the tree, tells go up: root → batch → step, and beside them the runtime actor. No handler awaits an agent;
//! a step actor watches it and reports. Domain failures are data in messages: a told `Err` would be a crash.

pub(crate) mod batch;
pub(crate) mod message;
pub(crate) mod root;
pub(crate) mod runtime;
pub(crate) mod step;
