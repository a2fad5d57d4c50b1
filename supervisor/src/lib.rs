//! What ratchet does.

pub mod agent;
pub mod clock;
pub mod environment;
pub mod error;
pub mod project;
pub mod store;
