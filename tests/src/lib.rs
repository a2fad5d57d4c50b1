//! What the end-to-end tests stand on: a sealed world ([`TestEnv`]), the binary run in it ([`Call`], [`Finished`]),
//! and coding agents that obey a script ([`script`]).
//!
//! Nothing here knows the insides of another crate: the tests see what a user sees, files and processes.
//! Read next: `env.rs`, then any file in `tests/it`.

pub mod asked;
pub mod call;
pub mod chaos;
pub mod engine;
pub mod env;
pub mod process;
pub mod project;
pub mod schema;
pub mod script;
pub mod seat;
pub mod supervisor;
pub mod wait;
pub mod worker;

pub use call::{Call, Finished, Running};
pub use env::{Programs, TestEnv};
pub use project::{Manifest, Phase};
pub use script::{Action, Script};
pub use seat::Seat;
pub use supervisor::Supervisor;
pub use worker::Worker;
