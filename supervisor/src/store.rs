//! Every file under `.ratchet/`: read into the engine's values, written so that a cut never leaves half of one.
//!
//! Nothing is decided here. Reading order: [`layout`] (where), [`mod@file`] (how), [`journal`], [`run_state`] and
//! [`inflight`] (what has happened), [`lock`] (one step at a time), then the readers that `snapshot` calls once each.
//! [`limits`] is the one file of a user's own, not of a project.

pub mod approved;
pub mod change;
pub mod check;
pub mod command_file;
pub mod due;
pub mod edit;
pub mod features;
pub mod file;
pub mod generated_file;
pub mod inflight;
pub mod journal;
pub mod layout;
pub mod limits;
pub(crate) mod links;
pub mod lock;
pub mod manifest;
pub mod metadata;
pub mod os_lock;
pub mod outputs;
mod process;
pub mod profile;
pub mod run_state;
pub mod settings;
pub mod snapshot;
pub mod standards;
pub(crate) mod swap;
pub(crate) mod trace;
pub mod usage;
pub mod workflow;

#[cfg(test)]
mod testing;
