//! The decisions of ratchet, and nothing else.
//!
//! Facts come in as values ([`Snapshot`](snapshot::Snapshot), [`Session`](outcome::Session)), one decision goes out
//! ([`Plan`](decide::Plan), [`Verdict`](outcome::Verdict)). What the outside does with it lives in `ratchet-supervisor`.
//!
//! **Invariant:** nothing here touches disk, network, clock, environment or randomness. Time and ids arrive as values.
//!
//! **Invariant:** one rule has one home. Done is in [`change`], the order of work in [`selection`], a gate in [`gate`],
//! an approval in [`approval`], a proof's verdict in [`proof`]. Status, selection and decide ask; they never re-derive.
//!
//! **Invariant:** iteration order is fixed (`BTreeMap`, `Vec`), so that the same facts always give the same decision.
#![deny(missing_docs)]
#![deny(clippy::wildcard_enum_match_arm)]

pub mod approval;
pub mod change;
pub mod dag;
pub mod decide;
pub mod feature;
pub mod fold;
pub mod gate;
pub mod halt;
pub mod instructions;
pub mod journal;
pub mod level;
pub mod links;
pub mod manifest;
pub mod markdown;
pub mod metadata;
pub mod name;
pub mod nearest;
pub mod outcome;
pub mod park;
pub mod permission;
pub mod plan;
pub mod proof;
pub mod pull_request;
pub mod report;
pub mod schema;
pub mod selection;
pub mod settings;
pub mod shell;
#[cfg(test)]
mod sketch;
pub mod snapshot;
pub mod stall;
pub mod standard;
pub mod status;
pub mod time;
pub mod transition;
pub mod usage;
pub mod yaml;
