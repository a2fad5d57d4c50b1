//! An order: everything one spawn needs, decided before anything is touched.

use std::collections::BTreeMap;
use std::ffi::OsString;

use ratchet_spawn::Request;

use crate::agent::ExtraFile;
use crate::event::Notice;
use crate::store::inflight::Inflight;

/// The variables a command is started with.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// One spawn to be.
#[derive(Debug)]
pub(crate) struct Order {
    /// What goes on disk first.
    pub(crate) inflight: Inflight,
    /// What the shim is asked.
    pub(crate) request: Request,
    /// The environment of the command; values may be secret.
    pub(crate) variables: Secretive,
    /// Files the command reads, written into the spawn's own directory.
    pub(crate) files: Vec<ExtraFile>,
    /// What a person should know beforehand.
    pub(crate) notices: Vec<Notice>,
}

/// Variables whose values are never shown.
pub(crate) struct Secretive(pub(crate) Variables);

impl std::fmt::Debug for Secretive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
