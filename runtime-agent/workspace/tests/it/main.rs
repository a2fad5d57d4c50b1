//! Workspaces as their users have them: folders, stores, and what travels between.

#![expect(clippy::unwrap_used, reason = "tests fail loudly")]

mod applying;
mod chance;
mod hostile;
mod laying_out;
mod place;
mod taking;
mod travelling;
