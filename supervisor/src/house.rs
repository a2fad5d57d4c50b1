//! What all actors share: the project, and how this process was set up. Immutable.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::project::Project;

/// How a supervisor is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// The command that runs the shim; the spawn's directory is added to it.
    pub shim: Vec<OsString>,
    /// The `ratchet` binary, by the path that an agent can call it with when it is not on its `PATH`.
    pub ratchet: PathBuf,
    /// How many commands may run on this machine at a time; the rest wait in line.
    pub local_capacity: NonZeroUsize,
}

/// What all actors share.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) project: Project,
    pub(crate) options: Options,
}
