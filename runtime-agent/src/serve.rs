//! `runtime-agent serve`: the life of the worker. Take the state folder, take up what an earlier life has left, listen, answer,
//! end. What was started goes on under its shims, whatever happens to this process.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ratchet_door::descriptors;
use ratchet_door::signals::Signals;
use ratchet_door::systemd::Systemd;
use ratchet_telemetry::metric;
use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;
use thiserror::Error;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::SHIM;
use crate::args::{OnSignal, Serve};
use crate::environment::Environment;
use crate::error::WorkerError;
use crate::house::House;
use crate::layout::{Layout, make_folder, remove};
use crate::listen::{Doorway, ListenError};
use crate::projects::Projects;
use crate::service::Service;
use crate::sessions::{Door, Sessions};
use crate::setup::{Setup, SetupError};
use crate::told::Failure;

/// How long callers have to let go once they have been told of the end.
const LETTING_GO: Duration = Duration::from_secs(2);

/// How long the state folder may be in the hands of what a killed worker had begun to start.
const BEGUN_TO_START: Duration = Duration::from_secs(2);

/// Why a worker could not run.
#[derive(Debug, Error)]
pub(crate) enum ServeError {
    /// It cannot be set up as asked.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Nothing can come in.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Its own files cannot be used.
    #[error(transparent)]
    Own(#[from] WorkerError),
    /// Another one has the state folder.
    #[error("another runtime-agent uses {}", folder.display())]
    AlreadyThere {
        /// The folder.
        folder: PathBuf,
    },
    /// Somebody else could put anything into the state folder.
    #[error("{} belongs to somebody else (uid {uid})", folder.display())]
    NotOurs {
        /// The folder.
        folder: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// The system refuses.
    #[error("the worker cannot run")]
    System(#[from] io::Error),
}

/// Runs until a signal ends it.
pub(crate) async fn serve(args: &Serve, environment: Environment) -> Result<(), ServeError> {
    let mut signals = Signals::take()?;
    let systemd = Systemd::of(|name| environment.var_os(name).map(ToOwned::to_owned));
    let setup = Setup::of(&args.setup, &environment)?;
    // Whatever is wrong with a certificate is said before anything is touched.
    let doorway = Doorway::new(&setup)?;
    descriptors::raise();
    let _lock = take(&setup.layout).await?;
    let (listen, house) = (setup.listen, house(args, setup, environment)?);
    let recovered = spawn_blocking(move || Sessions::recover(Arc::new(house)));
    let (sessions, resumed) = recovered.await.map_err(|_| WorkerError::Died)??;
    let looked = Arc::clone(&sessions);
    metric::workers(move || looked.used_and_free());
    let (listener, at) = doorway.bind(listen).await?;
    let service = Service {
        house: Arc::clone(sessions.house()),
        sessions: Arc::clone(&sessions),
        leaving: CancellationToken::new(),
    };
    sessions.resume(resumed);
    let mut server = tokio::spawn(doorway.serve(listener, service.clone()));
    systemd.ready();
    let max_sessions = service.house.max_sessions;
    tracing::info!(pid = std::process::id(), max_sessions, "listening at {at}");

    tokio::select! {
        () = signals.next() => {}
        () = systemd.keep_telling() => {}
        broken = &mut server => {
            return broken.map_err(|_| WorkerError::Died)?.map_err(ServeError::from);
        }
    }
    systemd.stopping();
    let running = sessions.counts().running;
    tracing::info!(running, "stopping");
    sessions.set_door(Door::Draining);
    tokio::select! {
        () = drained(&sessions, args.on_signal) => {}
        // A second signal waits for nothing; the shims go on.
        () = signals.next() => {}
        () = systemd.keep_telling() => {}
    }
    service.leaving.cancel();
    // tonic waits for its clients without end.
    let _in_time = tokio::time::timeout(LETTING_GO, server).await;
    tracing::info!(running = sessions.counts().running, "stopped; what runs is left to its shims");
    Ok(())
}

/// Waits for commands that run, if that is wanted.
async fn drained(sessions: &Sessions, on_signal: OnSignal) {
    if on_signal == OnSignal::Drain {
        for session in sessions.list() {
            let mut stages = session.stages();
            // One that cannot be waited for is none to wait for.
            let _over = stages.wait_for(|_| !session.takes_a_place()).await;
        }
    }
}

/// Makes the state folder, and has it to itself for as long as the process lives.
async fn take(layout: &Layout) -> Result<File, ServeError> {
    let failed = |source| crate::error::disk(layout.root())(source);
    make_folder(layout.root()).map_err(failed)?;
    let meta = fs::metadata(layout.root()).map_err(failed)?;
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(ServeError::NotOurs { folder: layout.root().to_owned(), uid: meta.uid() });
    }
    // One that was there before may have been open to others.
    let ours_alone = Permissions::from_mode(0o700);
    fs::set_permissions(layout.root(), ours_alone).map_err(failed)?;
    let lock = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(layout.lock())
        .map_err(failed)?;
    // A child that a killed worker had begun to start holds its locks until it has become another program.
    let mine = lock.try_clone().map_err(failed)?;
    let waited =
        spawn_blocking(move || retry_on_intr(|| flock(&mine, FlockOperation::LockExclusive)));
    match tokio::time::timeout(BEGUN_TO_START, waited).await {
        Ok(Ok(taken)) => taken.map_err(|error| failed(error.into()))?,
        Ok(Err(_)) => return Err(WorkerError::Died.into()),
        Err(_) => return Err(ServeError::AlreadyThere { folder: layout.root().to_owned() }),
    }
    layout.make().map_err(failed)?;
    Ok(lock)
}

fn house(args: &Serve, setup: Setup, environment: Environment) -> Result<House, ServeError> {
    let Setup { layout, max_sessions, labels, operator, ratchet, .. } = setup;
    let path = environment.path().to_owned();
    let quota = args.setup.workspace_quota;
    let projects = Projects::open(&layout, path, quota, max_sessions)?;
    let ratchet = match ratchet {
        Some(binary) => {
            point(&layout.ratchet(), &binary).map_err(crate::error::disk(layout.ratchet()))?;
            Some(layout.ratchet())
        }
        None => {
            tracing::warn!("there is no ratchet here: commands that report cannot run");
            None
        }
    };
    let shim = vec![std::env::current_exe()?.into_os_string(), SHIM.into()];
    let retention = args.setup.retention;
    Ok(House {
        layout,
        projects,
        environment,
        operator,
        ratchet,
        shim,
        max_sessions,
        labels,
        retention,
    })
}

/// Has a link lead to a file.
fn point(link: &Path, to: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|there| there == to) {
        return Ok(());
    }
    let beside = link.with_extension("new");
    remove(&beside)?;
    symlink(to, &beside)?;
    fs::rename(beside, link)
}

impl From<&ServeError> for Failure {
    fn from(error: &ServeError) -> Self {
        match error {
            ServeError::Setup(error) => error.into(),
            ServeError::Listen(error) => error.into(),
            ServeError::Own(own) => Self::new(own, own.code(), own.help()),
            ServeError::AlreadyThere { .. } => Self::new(
                error,
                "worker-running",
                "end it first, or name another folder with '--state-dir'",
            ),
            ServeError::NotOurs { .. } => Self::new(
                error,
                "bad-setup",
                "run the worker as that user, or name another folder with '--state-dir'",
            ),
            ServeError::System(_) => Self::new(error, "bad-setup", "mend the cause"),
        }
    }
}
