//! What every part of the worker needs to know of the machine and of how it was set up. Read only.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::environment::{Environment, OperatorVariables};
use crate::layout::Layout;
use crate::name::Label;
use crate::projects::Projects;

/// The worker's world.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) layout: Layout,
    pub(crate) projects: Projects,
    pub(crate) environment: Environment,
    pub(crate) operator: OperatorVariables,
    /// What commands find as `ratchet`; absent if there is none.
    pub(crate) ratchet: Option<PathBuf>,
    /// The command that runs the shim.
    pub(crate) shim: Vec<OsString>,
    pub(crate) max_sessions: usize,
    pub(crate) labels: Vec<Label>,
    /// How long a session that has ended is kept for somebody to release it.
    pub(crate) retention: Duration,
}
