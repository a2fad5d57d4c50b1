//! What ratchet does: gather, decide, intend, act, judge, record. One actor per run home.
//!
//! Two doors: [`project::Project`] for everything that starts no process, synchronous and without a thread, and
//! [`Supervisor`] for everything that does. What the facts mean is decided in [`ratchet_engine`]; what a person sees is made
//! by the callers.
//!
//! **Invariant:** `store`, `agent` and `runtime` never import each other or `actor`; only `perform` and `record` meet them.

pub mod containers;
pub mod error;
pub mod evaluation;
pub mod event;
pub mod follow;
pub mod project;
pub mod request;
pub mod workers;

pub mod client;
pub mod daemon;
pub mod doctor;

mod actor;
mod door;
pub mod grpc;
mod house;
mod lossy;
pub mod mirror;
pub mod news;
mod observe;
mod order;
mod perform;
mod record;
mod recover;
mod room;
mod runtime;
mod watch;

pub mod agent;
pub mod store;

pub mod clock;
pub mod environment;
mod fault;
mod git;

pub use actor::board::{Active, StepOf};
pub use door::Supervisor;
pub use error::Error;
pub use house::Options;
