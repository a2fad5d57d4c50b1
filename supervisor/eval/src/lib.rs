//! Evaluation: do a project's tests notice faults, do its invariants hold, and do its cases pass?
//!
//! Deciding is pure and has files of its own; what touches the disk or starts something is at the end of this list. Agents
//! and commands are reached through two seams ([`call`]), so that everything can be tried without either.
//!
//! **Invariant:** nothing here writes to the user's work tree but below `.ratchet/evals/runs`, unless faults are asked for
//! in place ([`in_place`]).

pub mod binding;
pub mod call;
pub mod case;
pub mod config;
pub mod contributor;
pub mod invariant;
pub mod judge;
pub mod jury;
pub mod mutation;
pub mod record;
pub mod report;
pub mod run_id;
pub mod skip;

pub mod evaluate;
pub mod harness;
pub mod mutate;

pub mod evidence;
pub mod fixture;
pub mod git;
pub mod ground;
pub mod in_place;
mod judging;
pub mod load;
pub mod place;
pub mod scratch;
pub mod shim;
mod web;

#[cfg(test)]
mod testing;
