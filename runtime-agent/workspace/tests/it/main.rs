//! Workspaces as their users have them: folders, stores, and what travels between.

mod applying;
mod chance;
mod hostile;
mod laying_out;
mod place;
mod taking;
mod travelling;
