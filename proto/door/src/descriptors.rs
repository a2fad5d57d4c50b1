//! How many files this process may have open. A supervisor needs a handful for each step, and a session usually gives it
//! a thousand: it takes what it may have. What it starts gets what it would have had without that, because programs of old
//! break when they find more.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the process was started with, once that was changed.
static BEFORE: OnceLock<Option<u64>> = OnceLock::new();

/// Takes as many as this process may have.
pub fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => drop(BEFORE.set(current)),
        Err(error) => tracing::debug!(%error, "no more files may be open"),
    }
}

/// Returns what a command is to have, if that is not what it has anyway.
pub fn of_commands() -> Option<u64> {
    BEFORE.get().copied().flatten()
}
