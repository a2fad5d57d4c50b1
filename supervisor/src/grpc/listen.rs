//! Where calls come in: a Unix socket that only this user (or a group) can reach, and TCP with TLS and a token.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ratchet_door::connection::{incoming, places};
use ratchet_door::token::Token;
use ratchet_proto::supervisor::v1::supervisor_service_server::SupervisorServiceServer;
use rustix::process::Gid;
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::Router;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use super::auth::{Admit, Doorkeeper};
use super::service::Service;
use crate::Supervisor;
use crate::store::os_lock::{Taken, try_take};

/// What a call may weigh. Requests are small; the largest is an environment.
const LARGEST_REQUEST: usize = 4 * 1024 * 1024;

/// How long a connection may be silent before it is asked whether it is still there, and how long it may take to say so.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// How many calls one connection may have at a time; the next ones wait in the client.
const CALLS_OF_A_CONNECTION: u32 = 1024;

/// How many connections there may be at a time over a socket.
const OURS: usize = 4096;

/// How many over the network, where anybody may come as far as the door.
const STRANGERS: usize = 512;

/// A way in.
#[derive(Debug)]
pub enum Listener {
    /// A Unix socket, and the group that may use it beside this user.
    Unix(UnixListener, Option<Gid>),
    /// TCP with TLS.
    Tcp(TcpListener, Tls),
}

/// What TLS and its callers need.
#[derive(Debug, Clone)]
pub struct Tls {
    /// The certificate chain, PEM.
    pub cert: Vec<u8>,
    /// Its key, PEM.
    pub key: SecretString,
    /// Who has it may call.
    pub token: Token,
}

/// Why nothing can come in.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Another supervisor is there.
    #[error("a supervisor is already running at {}", socket.display())]
    AlreadyThere {
        /// Its socket.
        socket: PathBuf,
    },
    /// Others can reach into the socket's folder.
    #[error("{} is not only yours (mode {mode:o}, uid {uid})", folder.display())]
    OpenFolder {
        /// The folder.
        folder: PathBuf,
        /// Its permissions.
        mode: u32,
        /// Its owner.
        uid: u32,
    },
    /// The system refuses.
    #[error("cannot listen at {place}")]
    System {
        /// The socket or the address.
        place: String,
        /// What it says.
        source: io::Error,
    },
    /// The certificate or its key is none.
    #[error("the TLS certificate and its key cannot be used")]
    Tls(#[source] tonic::transport::Error),
    /// A listener that worked does so no more.
    #[error("calls can no longer come in")]
    Broken(#[source] tonic::transport::Error),
}

/// A socket of this process. Dropping it removes the socket.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    /// Held as long as this supervisor is the one at this socket.
    _lock: std::fs::File,
}

impl Socket {
    /// Makes the folder, sees that no other supervisor is there, and listens.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind(path: &Path, group: Option<Gid>) -> Result<(Self, UnixListener), ListenError> {
        let failed = |source| ListenError::System { place: path.display().to_string(), source };
        let folder = path.parent().unwrap_or(Path::new("/"));
        make_folder(folder, group)?;
        let lock = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.with_extension("lock"))
            .map_err(failed)?;
        match try_take(&lock).map_err(failed)? {
            Taken::Yes => {}
            Taken::No => {
                return Err(ListenError::AlreadyThere { socket: path.to_owned() });
            }
        }
        // Whoever left it there is dead: it would hold the lock.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        let mode = if group.is_some() { 0o660 } else { 0o600 };
        std::os::unix::fs::chown(path, None, group.map(|group| group.as_raw())).map_err(failed)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(failed)?;
        Ok((Self { path: path.to_owned(), _lock: lock }, listener))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // The next supervisor removes it otherwise.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn make_folder(folder: &Path, group: Option<Gid>) -> Result<(), ListenError> {
    let failed = |source| ListenError::System { place: folder.display().to_string(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    if let Some(group) = group {
        std::os::unix::fs::chown(folder, None, Some(group.as_raw())).map_err(failed)?;
        let mode = std::fs::Permissions::from_mode(0o710);
        std::fs::set_permissions(folder, mode).map_err(failed)?;
    }
    let meta = std::fs::metadata(folder).map_err(failed)?;
    let (mode, uid) = (meta.mode() & 0o777, meta.uid());
    let others = if group.is_some() { 0o027 } else { 0o077 };
    if mode & others != 0 || uid != rustix::process::geteuid().as_raw() {
        return Err(ListenError::OpenFolder { folder: folder.to_owned(), mode, uid });
    }
    Ok(())
}

/// Answers calls until the end is asked for and every call has ended.
///
/// # Errors
/// Fails if the TLS material is none, or if the listener breaks.
pub(crate) async fn serve(
    service: Service,
    listener: Listener,
    ending: CancellationToken,
) -> Result<(), ListenError> {
    match listener {
        Listener::Unix(listener, group) => {
            let router = router(service, Admit::Peers(group), None)?;
            let incoming = incoming(listener, places(OURS));
            router.serve_with_incoming_shutdown(incoming, ending.cancelled_owned()).await
        }
        Listener::Tcp(listener, tls) => {
            let admit = Admit::Token(tls.token.clone());
            let router = router(service, admit, Some(&tls))?;
            let incoming = incoming(listener, places(STRANGERS));
            router.serve_with_incoming_shutdown(incoming, ending.cancelled_owned()).await
        }
    }
    .map_err(ListenError::Broken)
}

/// Says that all is well until no step may begin any more.
async fn tell_health(health: HealthReporter, supervisor: Supervisor) {
    health.set_serving::<SupervisorServiceServer<Service>>().await;
    supervisor.closing().await;
    health.set_not_serving::<SupervisorServiceServer<Service>>().await;
    // The whole process, in gRPC's words.
    health.set_service_status("", ServingStatus::NotServing).await;
}

fn router(service: Service, admit: Admit, tls: Option<&Tls>) -> Result<Router, ListenError> {
    let (health, health_service) = tonic_health::server::health_reporter();
    tokio::spawn(tell_health(health, service.supervisor.clone()));
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(ratchet_proto::SUPERVISOR_DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .expect("our descriptors were made by our own build");
    let supervisor =
        SupervisorServiceServer::new(service).max_decoding_message_size(LARGEST_REQUEST);
    let mut server = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .max_concurrent_streams(CALLS_OF_A_CONNECTION);
    if let Some(tls) = tls {
        let identity = Identity::from_pem(&tls.cert, tls.key.expose_secret());
        let config = ServerTlsConfig::new().identity(identity);
        server = server.tls_config(config).map_err(ListenError::Tls)?;
    }
    let keeper = Doorkeeper::new(admit);
    Ok(server
        .add_service(InterceptedService::new(health_service, keeper.clone()))
        .add_service(InterceptedService::new(reflection, keeper.clone()))
        .add_service(InterceptedService::new(supervisor, keeper)))
}
