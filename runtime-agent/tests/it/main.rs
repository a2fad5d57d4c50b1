//! The worker from outside: the real binary, called over the wire. One file for each kind of trouble; each test is a sentence.

#![expect(clippy::unwrap_used, reason = "all of this is a test's")]

mod attaching;
mod disk;
mod door;
mod hostile;
mod network;
mod project;
mod relaying;
mod spawning;
mod survival;
mod told;
mod world;
