//! The service: each call becomes one question, and its answer one message or a stream of them. No decisions.

use std::sync::Arc;

use ratchet_proto::convert::Malformed;
use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::put_snapshot_request::Message;
use ratchet_proto::runtime::v1::runtime_service_server::RuntimeService;
use ratchet_spawn::{SpawnDir, StopRequest, request_stop};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use crate::agents;
use crate::attach::{Feed, QUEUE};
use crate::error::{WorkerError, disk};
use crate::house::House;
use crate::name::ProjectName;
use crate::order::{Order, snapshot_id, spawn_id};
use crate::pack;
use crate::sessions::{Door, Sessions, Spawned};

/// What a message to the worker may weigh: a prompt, some files, an environment.
pub(crate) const LARGEST_MESSAGE: usize = 16 * 1024 * 1024;

/// How many snapshots may be asked about at once.
const MOST_SNAPSHOTS: usize = 256;

/// The longest name of who asks for a stop, in bytes.
const LONGEST_NAME: usize = 256;

/// What the service is made of. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub(crate) house: Arc<House>,
    pub(crate) sessions: Arc<Sessions>,
    /// Streams end with this.
    pub(crate) leaving: CancellationToken,
}

type Answer<T> = Result<Response<T>, Status>;

/// Does what waits for a disk on a thread that may wait.
async fn off_the_loop<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkerError> + Send + 'static,
) -> Result<T, WorkerError> {
    spawn_blocking(work).await.map_err(|_| WorkerError::Died)?
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[tonic::async_trait]
impl RuntimeService for Service {
    type GetSnapshotStream = ReceiverStream<Result<wire::GetSnapshotResponse, Status>>;
    type AttachStream = ReceiverStream<Result<wire::AttachResponse, Status>>;

    async fn capabilities(
        &self,
        request: Request<wire::CapabilitiesRequest>,
    ) -> Answer<wire::CapabilitiesResponse> {
        let project = request.into_inner().project;
        let project = project.map(|name| ProjectName::parse(&name)).transpose();
        let project = project.map_err(WorkerError::from)?;
        let this = self.clone();
        let answer = off_the_loop(move || {
            let House { layout, environment, labels, ratchet, .. } = &*this.house;
            let about = |project: &ProjectName| {
                (this.house.projects.count(project), this.sessions.running_of(project))
            };
            let (workspaces, in_use) = project.as_ref().map_or((0, 0), about);
            let free = rustix::fs::statvfs(layout.root())
                .map_err(|error| disk(layout.root())(error.into()))?;
            Ok(wire::CapabilitiesResponse {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                protocol: ratchet_proto::PROTOCOL,
                isolation: wire::Isolation::Process.into(),
                max_sessions: count(this.house.max_sessions),
                running: count(this.sessions.counts().running),
                draining: *this.sessions.door().borrow() == Door::Draining,
                labels: labels.iter().cloned().map(Into::into).collect(),
                agents: agents::installed(environment)
                    .into_iter()
                    .map(|(name, path)| wire::Program {
                        name: name.to_owned(),
                        path: path.display().to_string(),
                    })
                    .collect(),
                ratchet: ratchet.as_ref().map(|path| path.display().to_string()),
                os: std::env::consts::OS.to_owned(),
                arch: std::env::consts::ARCH.to_owned(),
                free_bytes: free.f_bavail.saturating_mul(free.f_frsize),
                workspaces: count(workspaces),
                workspaces_in_use: count(in_use),
                largest_message_bytes: LARGEST_MESSAGE as u64,
                object_format: "sha1".to_owned(),
            })
        });
        Ok(Response::new(answer.await?))
    }

    async fn find_snapshots(
        &self,
        request: Request<wire::FindSnapshotsRequest>,
    ) -> Answer<wire::FindSnapshotsResponse> {
        let wire::FindSnapshotsRequest { project, snapshots } = request.into_inner();
        let project = ProjectName::parse(&project).map_err(WorkerError::from)?;
        let asked = snapshots_of(&snapshots)?;
        let house = Arc::clone(&self.house);
        let found = off_the_loop(move || house.projects.found(&project, asked)).await?;
        let found = found.iter().map(ToString::to_string).collect();
        Ok(Response::new(wire::FindSnapshotsResponse { found }))
    }

    async fn put_snapshot(
        &self,
        request: Request<Streaming<wire::PutSnapshotRequest>>,
    ) -> Answer<wire::PutSnapshotResponse> {
        let mut stream = request.into_inner();
        let first = stream.message().await?.and_then(|first| first.message);
        let Some(Message::Start(start)) = first else {
            return Err(WorkerError::from(Malformed::missing("what arrives")).into());
        };
        let project = ProjectName::parse(&start.project).map_err(WorkerError::from)?;
        let id = snapshot_id(&start.snapshot).map_err(WorkerError::from)?;
        let (inlet, mut outlet) = pack::pipe();
        let house = Arc::clone(&self.house);
        let taken = off_the_loop(move || {
            house.projects.receive(&project, id, &mut outlet)?;
            Ok(outlet.received())
        });
        let (filled, taken) = tokio::join!(inlet.fill(stream), taken);
        filled.map_err(WorkerError::from)?;
        let received_bytes = taken?;
        tracing::info!(snapshot = %id, received_bytes, "a snapshot has come");
        Ok(Response::new(wire::PutSnapshotResponse { received_bytes }))
    }

    async fn get_snapshot(
        &self,
        request: Request<wire::GetSnapshotRequest>,
    ) -> Answer<Self::GetSnapshotStream> {
        let wire::GetSnapshotRequest { project, snapshot, have } = request.into_inner();
        let project = ProjectName::parse(&project).map_err(WorkerError::from)?;
        let id = snapshot_id(&snapshot).map_err(WorkerError::from)?;
        let have = snapshots_of(&have)?;
        let house = Arc::clone(&self.house);
        let pack = off_the_loop(move || house.projects.pack(&project, id, &have)).await?;
        let (to, pieces) = mpsc::channel(pack::BETWEEN);
        spawn_blocking(move || pack::send(pack, &to));
        Ok(Response::new(ReceiverStream::new(pieces)))
    }

    async fn spawn(&self, request: Request<wire::SpawnRequest>) -> Answer<wire::SpawnResponse> {
        let order = Order::try_from(request.into_inner()).map_err(WorkerError::from)?;
        let spawned = self.sessions.spawn(order).await.map_err(|error| Status::from(&*error))?;
        let session = spawned.session();
        let workspace = session.workspace(&self.house.layout).ok_or(WorkerError::Died)?;
        let files = self.house.layout.session(&session.id).files();
        Ok(Response::new(wire::SpawnResponse {
            found: matches!(spawned, Spawned::Found(_)),
            workspace: workspace.display().to_string(),
            files: files.display().to_string(),
        }))
    }

    async fn attach(&self, request: Request<wire::AttachRequest>) -> Answer<Self::AttachStream> {
        let wire::AttachRequest { id, offset, sequence } = request.into_inner();
        let session = self.sessions.find(&spawn_id(&id).map_err(WorkerError::from)?)?;
        session.begun().await.map_err(|error| Status::from(&*error))?;
        let house = Arc::clone(&self.house);
        // Inotify is told from here, so this is a task of the loop.
        let feed = Feed::open(&house, session, offset, sequence)?;
        let (queue, events) = mpsc::channel(QUEUE);
        tokio::spawn(feed.tell(queue, self.leaving.clone()));
        Ok(Response::new(ReceiverStream::new(events)))
    }

    async fn acknowledge(
        &self,
        request: Request<wire::AcknowledgeRequest>,
    ) -> Answer<wire::AcknowledgeResponse> {
        let wire::AcknowledgeRequest { id, sequence } = request.into_inner();
        let session = self.sessions.find(&spawn_id(&id).map_err(WorkerError::from)?)?;
        session.acknowledge(sequence);
        Ok(Response::new(wire::AcknowledgeResponse {}))
    }

    async fn stop(&self, request: Request<wire::StopRequest>) -> Answer<wire::StopResponse> {
        let wire::StopRequest { id, by, grace_ms } = request.into_inner();
        let id = spawn_id(&id).map_err(WorkerError::from)?;
        if by.is_empty() || by.len() > LONGEST_NAME || by.chars().any(char::is_control) {
            return Err(WorkerError::from(Malformed::new("who stops it has no plain name")).into());
        }
        let session = self.sessions.find(&id)?;
        session.begun().await.map_err(|error| Status::from(&*error))?;
        if session.takes_a_place() {
            let spawns = self.house.layout.spawns();
            tracing::info!(session = %id, by, "a session is to stop");
            off_the_loop(move || {
                let dir = SpawnDir::open(&spawns, &id)
                    .map_err(|_| WorkerError::NoSession { id: id.to_string() })?;
                request_stop(&dir, &StopRequest { by, grace_ms }).map_err(disk(dir.path()))
            })
            .await?;
        }
        Ok(Response::new(wire::StopResponse {}))
    }

    async fn release(
        &self,
        request: Request<wire::ReleaseRequest>,
    ) -> Answer<wire::ReleaseResponse> {
        let id = spawn_id(&request.into_inner().id).map_err(WorkerError::from)?;
        let known = self.sessions.release(id).await?;
        Ok(Response::new(wire::ReleaseResponse { known }))
    }

    async fn list(&self, _request: Request<wire::ListRequest>) -> Answer<wire::ListResponse> {
        let sessions = self.sessions.list().iter().map(|session| (&**session).into()).collect();
        Ok(Response::new(wire::ListResponse { sessions }))
    }

    async fn drain(&self, request: Request<wire::DrainRequest>) -> Answer<wire::DrainResponse> {
        self.sessions.set_door(match request.into_inner().mode() {
            wire::DrainMode::Unspecified | wire::DrainMode::Drain => Door::Draining,
            wire::DrainMode::Resume => Door::Open,
        });
        let counts = self.sessions.counts();
        let (running, unreleased) = (count(counts.running), count(counts.ended));
        Ok(Response::new(wire::DrainResponse { running, unreleased }))
    }
}

fn snapshots_of(texts: &[String]) -> Result<Vec<ratchet_workspace::SnapshotId>, WorkerError> {
    if texts.len() > MOST_SNAPSHOTS {
        return Err(Malformed::new(format!("{} snapshots at once", texts.len())).into());
    }
    Ok(texts.iter().map(|text| snapshot_id(text)).collect::<Result<_, _>>()?)
}
