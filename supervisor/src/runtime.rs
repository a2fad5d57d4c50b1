//! Where a command can run. This file has the only match on the place; nothing above it can tell the places apart.
//!
//! It knows neither batches nor agents: a command comes in, a spawn to watch goes out.

pub(crate) mod docker;
mod local;
pub(crate) mod remote;
mod shim;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ratchet_door::descriptors;
use ratchet_engine::settings::{Locus, Worker};
use ratchet_spawn::{AttachError, Attachment, DirectoryError, Request, SpawnDir};
use thiserror::Error;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

pub(crate) use self::docker::DockerError;
use self::docker::container::{self, Container};
pub(crate) use self::docker::{Death, Ending};
pub(crate) use self::remote::RemoteError;
use self::remote::{Asked, Remote};
pub(crate) use self::shim::{Shim, ShimHandle};
use crate::environment::Environment;
use crate::event::{EventSink, Notice, NoticeLevel, StepEvent};

/// One command to run.
#[derive(Debug)]
pub(crate) struct Command {
    /// Where.
    pub(crate) site: Site,
    /// What the shim is asked.
    pub(crate) request: Request,
    /// The environment of the command.
    pub(crate) variables: Variables,
    /// Files it reads, written into the spawn's own directory: name and content.
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

/// A place to run, with all that it needs to know of itself.
#[derive(Debug, Clone)]
pub(crate) enum Site {
    /// This machine.
    Local,
    /// A container on it.
    Container(Box<Container>),
    /// Another machine.
    Remote(Box<Remote>),
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
    /// The `ratchet` binary.
    pub(crate) ratchet: PathBuf,
    /// The caller's environment: it names the engine.
    pub(crate) environment: Environment,
}

/// Who waits for a command to start.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// Hears what takes time.
    pub(crate) events: &'a EventSink,
    /// Nobody wants it any more.
    pub(crate) withdrawn: &'a CancellationToken,
}

/// A command whose directory is there and whose shim is not started yet.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) dir: SpawnDir,
    place: Ready,
    variables: Variables,
}

/// What starting at a place still needs.
#[derive(Debug)]
enum Ready {
    Local,
    Container(Box<Container>),
    Remote(Box<Asked>),
}

/// A command that was started: where it is, and how to watch it.
pub(crate) struct Placed {
    pub(crate) dir: SpawnDir,
    pub(crate) attachment: Attachment,
    /// The room it takes; given back when the step is over. A command that was found running has none.
    pub(crate) slot: Option<OwnedSemaphorePermit>,
    /// The shim, if this process can tell whether it is there.
    pub(crate) shim: Option<Shim>,
    /// The very image it runs in, if it runs in one: its digest, else the engine's number for it.
    pub(crate) image: Option<String>,
    /// The worker it runs on, if it runs on one.
    pub(crate) reach: Option<String>,
}

/// Why a command was not started, and will not be.
#[derive(Debug, Error)]
pub enum StartError {
    /// It cannot run on a worker.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// It cannot run in a container.
    #[error(transparent)]
    Docker(#[from] DockerError),
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
    let Command { site, mut request, variables, files } = command;
    if matches!(site, Site::Local) {
        request.limits.open_files = descriptors::of_commands();
    }
    let dir = SpawnDir::create(&places.spawns, &request)?;
    for (name, content) in &files {
        write_file(&dir, name, content)?;
    }
    let place = match site {
        Site::Local => Ready::Local,
        Site::Container(container) => Ready::Container(container),
        Site::Remote(remote) => Ready::Remote(Box::new(Asked { remote, request, files })),
    };
    Ok(Prepared { dir, place, variables })
}

/// Starts a prepared command at its place.
pub(crate) async fn start(
    places: &Places,
    prepared: Prepared,
    slot: OwnedSemaphorePermit,
    line: Line<'_>,
) -> Result<Placed, StartError> {
    let Prepared { dir, place, variables } = prepared;
    match place {
        Ready::Local => local::start(places, dir, variables, slot),
        Ready::Container(container) => {
            docker::start(places, dir, &container, variables, slot, &line).await
        }
        Ready::Remote(asked) => remote::start(places, dir, *asked, variables, slot, &line).await,
    }
}

/// Gives what can be known of the shim of a spawn that an earlier process has started. `workers` are those of the settings.
/// Blocks.
pub(crate) fn found(
    places: &Places,
    locus: Locus,
    workers: &[Worker],
    dir: &SpawnDir,
) -> Result<Option<Shim>, StartError> {
    match locus {
        Locus::Docker => Ok(Some(docker::found(places, dir))),
        Locus::Local => Ok(None),
        Locus::Remote => remote::found(places, workers, dir).map(Some),
    }
}

/// Makes sure that nothing is left of a spawn that never started, or whose directory is gone, beyond what the spawn
/// protocol can end by itself. `workers` are those of the settings. Blocks.
pub(crate) fn end(places: &Places, locus: Locus, workers: &[Worker], spawn: &str) {
    match locus {
        Locus::Docker => docker::end(places, spawn),
        Locus::Remote => remote::end(workers, spawn),
        Locus::Local => {}
    }
}

impl Site {
    /// Names the setting that chose it.
    pub(crate) fn locus(&self) -> Locus {
        match self {
            Self::Local => Locus::Local,
            Self::Container(_) => Locus::Docker,
            Self::Remote(_) => Locus::Remote,
        }
    }

    /// Maps a path of the project to where the command sees it.
    pub(crate) fn seen(&self, path: &Path, project: &Path) -> PathBuf {
        match self {
            Self::Local => path.to_owned(),
            Self::Container(_) => container::seen(path, project),
            Self::Remote(_) => remote::seen(path, project),
        }
    }

    /// Says where the command sees the directory of its spawn.
    pub(crate) fn spawn_dir(&self, spawns: &Path, spawn: &str) -> PathBuf {
        match self {
            Self::Local => spawns.join(spawn),
            Self::Remote(_) => PathBuf::from(remote::FILES),
            Self::Container(_) => Path::new(container::SPAWNS).join(spawn),
        }
    }
}

impl Prepared {
    pub(crate) fn locus(&self) -> Locus {
        match self.place {
            Ready::Local => Locus::Local,
            Ready::Container(_) => Locus::Docker,
            Ready::Remote(_) => Locus::Remote,
        }
    }
}

impl Line<'_> {
    /// Tells what is waited for. A caller that went away hears nothing and changes nothing.
    async fn tell(&self, text: String) {
        let notice = StepEvent::Notice(Notice { level: NoticeLevel::Info, text });
        drop(self.events.send(notice).await);
    }
}

fn write_file(dir: &SpawnDir, name: &str, content: &[u8]) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(dir.path().join(name))?;
    file.write_all(content)
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
