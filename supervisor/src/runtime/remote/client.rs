//! Speaks with a worker: one connection, a token and a deadline on every call, and its refusals as errors of ours.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use ratchet_door::secret::read_secret;
use ratchet_door::token::bearer;
use ratchet_engine::settings::{Token, Worker};
use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::runtime_service_client::RuntimeServiceClient;
use ratchet_proto::status::{detail_of, from_status, mark};
use ratchet_workspace::{SnapshotId, Store};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status, Streaming};

use super::{RemoteError, blocking};
use crate::error::with_causes;

/// How long a worker may take to say a first word, and to answer what takes it no work.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long it may take to lay a project out, or to pack one.
const LONG_PATIENCE: Duration = Duration::from_secs(600);

/// How long a connection may be silent before the other side is asked, and how long it may take to answer: both together
/// stay below the fifteen seconds after which a line counts as cut.
const STILL_THERE: Duration = Duration::from_secs(5);

/// The longest silence of an attached worker, which says something every five seconds.
pub(crate) const LONGEST_SILENCE: Duration = Duration::from_secs(12);

/// The largest piece of a pack.
const PIECE: usize = 64 * 1024;

/// How many pieces are on their way.
const PIECES: usize = 16;

/// How many snapshots are asked about.
const MOST_ASKED: usize = 256;

/// The largest pack that comes back, in bytes.
const LARGEST_RESULT: u64 = 16 << 30;

/// A connection to a worker. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    service: RuntimeServiceClient<InterceptedService<Channel, Mark>>,
    name: String,
}

/// Marks every call with the protocol and the token.
#[derive(Clone)]
pub(crate) struct Mark(MetadataValue<Ascii>);

impl std::fmt::Debug for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mark")
    }
}

impl Interceptor for Mark {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        mark(request.metadata_mut());
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

/// How a worker is called.
struct Line {
    endpoint: Endpoint,
    mark: Mark,
    name: String,
}

impl Line {
    fn over(self, channel: Channel) -> Client {
        let service = RuntimeServiceClient::with_interceptor(channel, self.mark);
        Client { service, name: self.name }
    }
}

/// Reads the token of a worker.
pub(crate) fn token_of(worker: &Worker) -> Result<SecretString, RemoteError> {
    match &worker.token {
        Token::Given(token) => Ok(token.clone()),
        Token::File(path) => Ok(read_secret(Path::new(path))?),
    }
}

impl Client {
    /// Says how a worker is called, without calling it.
    fn prepare(
        address: &str,
        tls_ca: Option<&str>,
        token: &SecretString,
    ) -> Result<Line, RemoteError> {
        let name = address.split_once("://").map_or(address, |(_, name)| name).to_owned();
        let unreachable = |error: tonic::transport::Error| RemoteError::Unreachable {
            worker: name.clone(),
            why: with_causes(&error),
        };
        let mut endpoint = Endpoint::from_shared(address.to_owned()).map_err(unreachable)?;
        if address.starts_with("https://") {
            let mut tls = ClientTlsConfig::new().with_enabled_roots();
            if let Some(path) = tls_ca {
                let pem = std::fs::read(path)
                    .map_err(|source| RemoteError::Certificates { path: path.into(), source })?;
                tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
            }
            endpoint = endpoint.tls_config(tls).map_err(unreachable)?;
        }
        endpoint = endpoint
            .connect_timeout(STILL_THERE)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(STILL_THERE)
            .keep_alive_timeout(STILL_THERE)
            .keep_alive_while_idle(true);
        let token = SecretString::from(token.expose_secret().trim());
        let mark = bearer(&token).map_err(|_| RemoteError::BadToken { worker: name.clone() })?;
        Ok(Line { endpoint, mark: Mark(mark), name })
    }

    /// Prepares a connection: it is made by the first call, and anew by the next one after it broke.
    pub(crate) fn lazy(
        address: &str,
        tls_ca: Option<&str>,
        token: &SecretString,
    ) -> Result<Self, RemoteError> {
        let line = Self::prepare(address, tls_ca, token)?;
        let channel = line.endpoint.connect_lazy();
        Ok(line.over(channel))
    }

    /// Connects, so that what stands in the way is told in its own words.
    pub(crate) async fn connect(
        address: &str,
        tls_ca: Option<&str>,
        token: &SecretString,
    ) -> Result<Self, RemoteError> {
        let line = Self::prepare(address, tls_ca, token)?;
        match tokio::time::timeout(PATIENCE, line.endpoint.connect()).await {
            Ok(Ok(channel)) => Ok(line.over(channel)),
            Ok(Err(error)) => {
                let why = with_causes(&error);
                Err(RemoteError::Unreachable { worker: line.name, why })
            }
            Err(_) => Err(RemoteError::Unreachable {
                worker: line.name,
                why: "it does not answer".to_owned(),
            }),
        }
    }

    pub(crate) async fn capabilities(
        &self,
        project: &str,
    ) -> Result<wire::CapabilitiesResponse, RemoteError> {
        let request =
            self.within(PATIENCE, wire::CapabilitiesRequest { project: Some(project.to_owned()) });
        self.heard(self.service.clone().capabilities(request).await)
    }

    /// Asks which of some snapshots the worker has; the first is the one that matters most.
    pub(crate) async fn find(
        &self,
        project: &str,
        first: SnapshotId,
        others: Vec<SnapshotId>,
    ) -> Result<Vec<SnapshotId>, RemoteError> {
        let others = others.into_iter().filter(|other| *other != first);
        let snapshots = std::iter::once(first)
            .chain(others)
            .take(MOST_ASKED)
            .map(|id| id.to_string())
            .collect();
        let request = self.within(
            PATIENCE,
            wire::FindSnapshotsRequest { project: project.to_owned(), snapshots },
        );
        let found = self.heard(self.service.clone().find_snapshots(request).await)?.found;
        found.iter().map(|text| self.snapshot(text)).collect()
    }

    /// Gives the worker a snapshot, without what it has.
    pub(crate) async fn put(
        &self,
        project: &str,
        store: Store,
        id: SnapshotId,
        has: Vec<SnapshotId>,
    ) -> Result<(), RemoteError> {
        let (pieces, stream) = mpsc::channel(PIECES);
        let start = wire::PutSnapshotStart {
            project: project.to_owned(),
            snapshot: id.to_string(),
            pack_bytes: 0,
        };
        let packing = tokio::task::spawn_blocking(move || -> Result<(), RemoteError> {
            use wire::put_snapshot_request::Message;
            let message = |message| wire::PutSnapshotRequest { message: Some(message) };
            if pieces.blocking_send(message(Message::Start(start))).is_err() {
                return Ok(());
            }
            let mut pack = store.pack(id, &has)?;
            let mut buffer = vec![0; PIECE];
            loop {
                let read = pack
                    .read(&mut buffer)
                    .map_err(|error| RemoteError::Broken { why: error.to_string() })?;
                if read == 0 {
                    break;
                }
                // Whoever listened has hung up: the answer says why.
                if pieces
                    .blocking_send(message(Message::Chunk(Bytes::copy_from_slice(&buffer[..read]))))
                    .is_err()
                {
                    return Ok(());
                }
            }
            Ok(pack.finish()?)
        });
        let request = self.within(LONG_PATIENCE, ReceiverStream::new(stream));
        let answer = self.heard(self.service.clone().put_snapshot(request).await);
        match packing.await {
            Ok(Err(error)) => Err(error),
            Err(error) => Err(RemoteError::Broken { why: error.to_string() }),
            Ok(Ok(())) => answer.map(drop),
        }
    }

    /// Takes a snapshot from the worker into a store, and keeps it under a name.
    pub(crate) async fn get(
        &self,
        project: &str,
        store: Store,
        id: SnapshotId,
        has: Vec<SnapshotId>,
        keep: String,
    ) -> Result<(), RemoteError> {
        let have = has.iter().take(MOST_ASKED).map(ToString::to_string).collect();
        let request = wire::GetSnapshotRequest {
            project: project.to_owned(),
            snapshot: id.to_string(),
            have,
        };
        let mut stream = self
            .heard(self.service.clone().get_snapshot(self.within(LONG_PATIENCE, request)).await)?;
        let (pieces, coming) =
            std::sync::mpsc::sync_channel::<Result<Bytes, std::io::Error>>(PIECES);
        let receiving = tokio::task::spawn_blocking(move || {
            let mut pieces = Pieces { coming, current: Bytes::new() };
            Ok(store.receive(&mut pieces, id, &keep, LARGEST_RESULT)?)
        });
        let mut cut = None;
        loop {
            let piece = match tokio::time::timeout(LONG_PATIENCE, stream.next()).await {
                Ok(None) => break,
                Ok(Some(Ok(piece))) => Ok(piece.chunk),
                Ok(Some(Err(status))) => Err(self.error(&status)),
                Err(_) => Err(self.silent()),
            };
            let (piece, is_last) = match piece {
                Ok(piece) => (Ok(piece), false),
                Err(error) => {
                    cut = Some(error);
                    (Err(std::io::ErrorKind::ConnectionReset.into()), true)
                }
            };
            // The receiver waits for git; a bounded send may wait for it, in a thread that may.
            let pieces = pieces.clone();
            let sent = tokio::task::spawn_blocking(move || pieces.send(piece).is_ok()).await;
            if is_last || !matches!(sent, Ok(true)) {
                break;
            }
        }
        drop(pieces);
        let received = match receiving.await {
            Ok(received) => received,
            Err(error) => Err(RemoteError::Broken { why: error.to_string() }),
        };
        match cut {
            Some(error) => Err(error),
            None => received,
        }
    }

    pub(crate) async fn spawn(
        &self,
        order: wire::SpawnRequest,
    ) -> Result<wire::SpawnResponse, RemoteError> {
        self.heard(self.service.clone().spawn(self.within(LONG_PATIENCE, order)).await)
    }

    pub(crate) async fn attach(
        &self,
        id: &str,
        offset: u64,
        sequence: u64,
    ) -> Result<Streaming<wire::AttachResponse>, RemoteError> {
        let request = wire::AttachRequest { id: id.to_owned(), offset, sequence };
        // The stream has no end of its own: what it says, and how often, is the deadline.
        let asked = self.service.clone();
        let answer = tokio::time::timeout(LONGEST_SILENCE, async move {
            let mut asked = asked;
            asked.attach(request).await
        });
        match answer.await {
            Ok(answer) => self.heard(answer),
            Err(_) => Err(self.silent()),
        }
    }

    pub(crate) async fn acknowledge(&self, id: &str, sequence: u64) -> Result<(), RemoteError> {
        let request =
            self.within(PATIENCE, wire::AcknowledgeRequest { id: id.to_owned(), sequence });
        self.heard(self.service.clone().acknowledge(request).await).map(drop)
    }

    pub(crate) async fn stop(
        &self,
        id: &str,
        by: &str,
        grace_ms: Option<u64>,
    ) -> Result<(), RemoteError> {
        let request = self
            .within(PATIENCE, wire::StopRequest { id: id.to_owned(), by: by.to_owned(), grace_ms });
        self.heard(self.service.clone().stop(request).await).map(drop)
    }

    pub(crate) async fn release(&self, id: &str) -> Result<(), RemoteError> {
        let request = self.within(PATIENCE, wire::ReleaseRequest { id: id.to_owned() });
        self.heard(self.service.clone().release(request).await).map(drop)
    }

    /// Lists what the worker knows.
    pub(crate) async fn list(&self) -> Result<wire::ListResponse, RemoteError> {
        let request = self.within(PATIENCE, wire::ListRequest {});
        self.heard(self.service.clone().list(request).await)
    }

    /// Says whether the worker may take new commands.
    pub(crate) async fn drain(
        &self,
        mode: wire::DrainMode,
    ) -> Result<wire::DrainResponse, RemoteError> {
        let request = self.within(PATIENCE, wire::DrainRequest { mode: mode.into() });
        self.heard(self.service.clone().drain(request).await)
    }

    fn within<T>(&self, patience: Duration, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(patience);
        request
    }

    fn heard<T>(&self, answer: Result<tonic::Response<T>, Status>) -> Result<T, RemoteError> {
        answer.map(tonic::Response::into_inner).map_err(|status| self.error(&status))
    }

    pub(crate) fn error(&self, status: &Status) -> RemoteError {
        let worker = self.name.clone();
        if status.code() == Code::Unauthenticated {
            return RemoteError::NotAdmitted { worker };
        }
        match (detail_of(status), status.code()) {
            (Some(detail), _) => RemoteError::Refused { worker, detail: Box::new(detail) },
            (None, Code::Unimplemented | Code::InvalidArgument | Code::OutOfRange) => {
                RemoteError::Malformed { worker, why: status.message().to_owned() }
            }
            (None, _) => RemoteError::Cut { worker, why: from_status(status).message },
        }
    }

    pub(crate) fn silent(&self) -> RemoteError {
        RemoteError::Cut { worker: self.name.clone(), why: "it is silent".to_owned() }
    }

    pub(crate) fn malformed(&self, why: impl ToString) -> RemoteError {
        RemoteError::Malformed { worker: self.name.clone(), why: why.to_string() }
    }

    pub(crate) fn snapshot(&self, text: &str) -> Result<SnapshotId, RemoteError> {
        text.parse().map_err(|error| self.malformed(error))
    }
}

impl RemoteError {
    /// Tells whether asking again may help: the line was cut, or the worker is on its way down or up.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Cut { .. } => true,
            Self::Refused { detail, .. } => {
                matches!(
                    detail.code.as_str(),
                    "worker-stopping" | "worker-broken" | "deadline-exceeded"
                )
            }
            _ => false,
        }
    }

    /// Tells whether the worker says that it never heard of a spawn.
    pub(crate) fn is_no_session(&self) -> bool {
        matches!(self, Self::Refused { detail, .. } if detail.code == "session-not-found")
    }
}

/// Pieces that come, as a stream of bytes.
struct Pieces {
    coming: std::sync::mpsc::Receiver<Result<Bytes, std::io::Error>>,
    current: Bytes,
}

impl std::io::Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.current.is_empty() {
            match self.coming.recv() {
                Ok(piece) => self.current = piece?,
                Err(_) => return Ok(0),
            }
        }
        let length = buffer.len().min(self.current.len());
        buffer[..length].copy_from_slice(&self.current.split_to(length));
        Ok(length)
    }
}

/// Opens a store in a thread that may wait.
pub(crate) async fn open_store(
    place: std::path::PathBuf,
    search_path: std::ffi::OsString,
) -> Result<Store, RemoteError> {
    blocking(move || Ok(Store::open(&place, &search_path)?)).await
}
