//! The supervisor as a process of its own: listens, recovers what an earlier life had begun, and ends in order.
//!
//! The order of an end: no new steps; running steps are waited for, or left to their shims; streams are told; connections
//! are closed. Nothing here wakes up unless somebody calls, a step does something, or systemd asks for a sign of life.

pub mod files;
mod recovery;
pub mod registry;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ratchet_door::descriptors;
use ratchet_door::signals::Signals;
use ratchet_door::systemd::{self, Systemd};
use rustix::process::Gid;
use thiserror::Error as ThisError;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::registry::Registry;
use crate::Supervisor;
use crate::clock::Clock;
use crate::environment::Environment;
use crate::error::Error;
use crate::grpc::listen::{Door, ListenError, Listener, Socket, Tls};
use crate::grpc::service::{Ending, Service};
use crate::house::Options;

/// How long clients have to let go once they have been told of the end.
const LETTING_GO: Duration = Duration::from_secs(2);

/// How a supervisor is to run.
#[derive(Debug)]
pub struct DaemonOptions {
    /// As for every supervisor.
    pub supervisor: Options,
    /// Its own environment.
    pub environment: Environment,
    /// Where its socket is, unless systemd hands one over.
    pub socket: PathBuf,
    /// The group that may use the socket beside this user.
    pub group: Option<u32>,
    /// Where else it listens.
    pub tcp: Option<(SocketAddr, Tls)>,
    /// What a signal asks for.
    pub on_signal: Ending,
}

/// Why a supervisor could not run.
#[derive(Debug, ThisError)]
pub enum DaemonError {
    /// Nothing can come in.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Its own files cannot be used.
    #[error(transparent)]
    Own(#[from] Error),
    /// The system refuses.
    #[error("the supervisor cannot run")]
    System(#[from] std::io::Error),
}

/// Runs until a signal or a call asks for the end.
///
/// # Errors
/// [`DaemonError`]: before any call is answered, or because calls can no longer come in.
pub async fn run(options: DaemonOptions) -> Result<(), DaemonError> {
    let mut signals = Signals::take()?;
    let systemd = Systemd::of(|name| options.environment.var_os(name).map(ToOwned::to_owned));
    let on_signal = options.on_signal;
    let mut running = start(options).await?;
    systemd.ready();
    running.say_where();
    let mut asked = running.service.asked_to_end.subscribe();
    let mut broken = None;
    let ending = tokio::select! {
        () = signals.next() => on_signal,
        () = systemd.keep_telling() => on_signal,
        ending = async { *asked.wait_for(Option::is_some).await.expect("the service lives") } => {
            ending.unwrap_or(on_signal)
        }
        error = running.broken() => {
            tracing::error!(%error, "the supervisor cannot go on");
            broken = Some(error);
            Ending::Leave
        }
    };
    systemd.stopping();
    let steps = running.service.supervisor.active().len();
    tracing::info!(steps, ?ending, "stopping: no step begins any more");
    tokio::select! {
        () = running.end(ending) => {}
        // A second signal waits for nothing; the shims go on.
        () = signals.next() => {}
        () = systemd.keep_telling() => {}
    }
    tracing::info!("stopped");
    broken.map_or(Ok(()), |error| Err(error.into()))
}

/// A supervisor that answers calls.
#[derive(Debug)]
pub struct Running {
    pub(crate) service: Service,
    servers: JoinSet<Result<(), ListenError>>,
    /// Removed with this.
    socket: Option<Socket>,
}

/// Listens, begins to recover, and answers calls.
///
/// # Errors
/// [`DaemonError`].
pub async fn start(options: DaemonOptions) -> Result<Running, DaemonError> {
    let DaemonOptions { supervisor, environment, socket: path, group, tcp, .. } = options;
    descriptors::raise();
    let group = group.map(Gid::from_raw);
    let registry = Arc::new(Registry::open(&environment)?);
    let mut names = Vec::new();
    let mut listeners = Vec::new();
    let socket = match systemd::handed_over()? {
        Some(handed) => {
            names.push("unix:handed over by systemd".to_owned());
            listeners.push(Listener::Unix(UnixListener::from_std(handed)?, group));
            None
        }
        None => {
            let (socket, listener) = Socket::bind(&path, group)?;
            names.push(format!("unix:{}", path.display()));
            listeners.push(Listener::Unix(listener, group));
            Some(socket)
        }
    };
    if let Some((address, tls)) = tcp {
        let failed = |source| ListenError::System { place: address.to_string(), source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        names.push(format!("https://{}", listener.local_addr()?));
        listeners.push(Listener::Tcp(listener, tls));
    }
    let service = Service {
        supervisor: Supervisor::start(supervisor),
        environment: environment.without(&systemd::OURS_ALONE),
        registry,
        started_at: Clock::System.now().to_string(),
        listeners: Arc::new(names),
        asked_to_end: watch::Sender::new(None),
        ending: CancellationToken::new(),
    };
    let open = |listener| Door::open(service.clone(), listener);
    let doors = listeners.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    recovery::begin(&service);
    let mut servers = JoinSet::new();
    for door in doors {
        servers.spawn(door.serve(service.ending.clone()));
    }
    Ok(Running { service, servers, socket })
}

impl Running {
    fn say_where(&self) {
        tracing::info!(
            pid = std::process::id(),
            capacity = self.service.supervisor.options().local_capacity,
            version = env!("CARGO_PKG_VERSION"),
            "listening at {}; end it with 'ratchet supervisor stop'",
            self.service.listeners.join(" and ")
        );
    }

    /// Waits until calls can no longer come in by one of the ways in.
    async fn broken(&mut self) -> ListenError {
        loop {
            match self.servers.join_next().await {
                Some(Ok(Err(error))) => return error,
                // It was told to end.
                Some(Ok(Ok(())) | Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Ends in order.
    pub async fn end(mut self, ending: Ending) {
        self.service.supervisor.close();
        self.wait_for_steps(ending).await;
        drop(self.socket.take());
        self.service.ending.cancel();
        // tonic waits for its clients without end.
        let closed = async { while self.servers.join_next().await.is_some() {} };
        let _in_time = tokio::time::timeout(LETTING_GO, closed).await;
    }

    /// Waits as it was asked to; who asks again is the one who counts.
    async fn wait_for_steps(&self, mut ending: Ending) {
        let mut asked = self.service.asked_to_end.subscribe();
        loop {
            let asked_for = ending;
            let time_is_over = async move {
                match asked_for {
                    Ending::Leave => {}
                    Ending::Drain(Some(ms)) => tokio::time::sleep(Duration::from_millis(ms)).await,
                    Ending::Drain(None) => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.service.supervisor.cleared() => return,
                () = time_is_over => {
                    let steps = self.service.supervisor.active().len();
                    return tracing::info!(steps, "what still runs is left to its shims");
                }
                Ok(()) = asked.changed() => ending = asked.borrow_and_update().unwrap_or(ending),
            }
        }
    }
}
