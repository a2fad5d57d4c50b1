//! The gRPC door. Both sides of the wire share `convert`; the rest is the server's.
//!
//! Behaviour does not belong here: a call becomes a question to [`crate::Supervisor`] or [`crate::project::Project`], and
//! the answer a message.

pub(crate) mod auth;
pub(crate) mod convert;
mod feed;
pub mod listen;
mod look;
mod refusal;
pub mod service;
mod steps;
