//! Where a command can run. This file has the only match on the locus; nothing above it can tell the places apart.
//!
//! It knows neither batches nor agents: a command comes in, a spawn to watch goes out.

mod local;
mod shim;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use ratchet_engine::settings::{Locus, Word as _};
use ratchet_spawn::{AttachError, Attachment, DirectoryError, Request, SpawnDir};
use thiserror::Error;
use tokio::sync::OwnedSemaphorePermit;

pub(crate) use self::shim::{Shim, ShimHandle};

/// One command to run.
#[derive(Debug)]
pub(crate) struct Command {
    /// Where.
    pub(crate) locus: Locus,
    /// What the shim is asked.
    pub(crate) request: Request,
    /// The environment of the command.
    pub(crate) variables: Variables,
    /// Files it reads, written into the spawn's own directory: name and content.
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

/// Variables whose values are never shown: they may be secret.
pub(crate) struct Variables(pub(crate) BTreeMap<OsString, OsString>);

/// What a runtime needs to know of this machine and process.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// The folder of all spawns.
    pub(crate) spawns: PathBuf,
    /// The command that runs the shim.
    pub(crate) shim: Vec<OsString>,
}

/// A command whose directory is there and whose shim is not started yet.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) locus: Locus,
    pub(crate) dir: SpawnDir,
    variables: Variables,
}

/// A command that was started: where it is, and how to watch it.
pub(crate) struct Placed {
    pub(crate) dir: SpawnDir,
    pub(crate) attachment: Attachment,
    /// The room it takes; given back when the step is over. A command that was found running has none.
    pub(crate) slot: Option<OwnedSemaphorePermit>,
    /// The shim, if it is a child of this process and has to be waited for.
    pub(crate) shim: Option<Shim>,
}

/// Why a command was not started, and will not be.
#[derive(Debug, Error)]
pub enum StartError {
    /// The setting `locus` names a place that this build cannot use.
    #[error("this ratchet cannot run commands at locus '{}' yet", .0.as_str())]
    NoSuchPlace(Locus),
    /// Its directory could not be made.
    #[error("the command cannot be started")]
    Directory(#[from] DirectoryError),
    /// Its output could not be watched.
    #[error("the command cannot be watched")]
    Attach(#[from] AttachError),
    /// A file it reads, or its shim, could not be brought into being.
    #[error("the command cannot be started")]
    System(#[from] io::Error),
}

/// Makes a command's directory. Nothing runs yet, and nothing will unless it is started: this comes before the intent, so
/// that an intent without a directory means that somebody removed it.
pub(crate) fn prepare(places: &Places, command: Command) -> Result<Prepared, StartError> {
    match command.locus {
        Locus::Local => local::prepare(places, command),
        locus @ (Locus::Docker | Locus::Remote) => Err(StartError::NoSuchPlace(locus)),
    }
}

/// Starts a prepared command at its locus.
pub(crate) fn start(
    places: &Places,
    prepared: Prepared,
    slot: OwnedSemaphorePermit,
) -> Result<Placed, StartError> {
    match prepared.locus {
        Locus::Local => local::start(places, prepared, slot),
        locus @ (Locus::Docker | Locus::Remote) => Err(StartError::NoSuchPlace(locus)),
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
