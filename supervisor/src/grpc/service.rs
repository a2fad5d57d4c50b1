//! The service: each call becomes one question, and its answer one message or a stream of them. No decisions.

use std::path::PathBuf;
use std::sync::Arc;

use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::supervisor_service_server::SupervisorService;
use ratchet_telemetry::name::{Attribute, SpanName};
use ratchet_telemetry::{TraceParent, TraceSpan};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tracing::{Instrument as _, info_span};

use super::auth::Peer;
use super::convert::request::{Asked, Halting, Said, batch as batch_name};
use super::convert::{FromWire as _, IntoWire as _, Malformed};
use super::feed::CLIENT_QUEUE;
use super::look;
use super::refusal::{bad_request, detail};
use super::steps::{Stage, deadline};
use crate::Supervisor;
use crate::actor::board::Active;
use crate::daemon::registry::Registry;
use crate::environment::Environment;
use crate::error::Error;
use crate::follow::Start;
use crate::project::{Current, Project};
use crate::request::{ApplyRequest, ChangeStepRequest};
use crate::store::layout::RunHome;
use ratchet_engine::name::{BatchName, StepKey};

/// How a supervisor is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Running steps are left to their shims.
    Leave,
    /// Running steps are waited for, for at most so many milliseconds; `None`: as long as it takes.
    Drain(Option<u64>),
}

/// What the service is made of. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct Service {
    pub(crate) supervisor: Supervisor,
    /// The supervisor's own: for recovery, and for callers that bring none.
    pub(crate) environment: Environment,
    pub(crate) registry: Arc<Registry>,
    pub(crate) started_at: String,
    pub(crate) listeners: Arc<Vec<String>>,
    /// Somebody asks for the end.
    pub(crate) asked_to_end: watch::Sender<Option<Ending>>,
    /// Streams end with this.
    pub(crate) ending: CancellationToken,
}

type Answer<T> = Result<Response<T>, Status>;
type Stream<T> = ReceiverStream<Result<T, Status>>;

impl Service {
    /// Opens the project that a call is about, and remembers it.
    async fn project(&self, peer: Peer, asked: Option<wire::Project>) -> Result<Project, Status> {
        let Asked { root, variables } = Asked::from_wire(asked)?;
        let environment = match (variables, peer) {
            (None, _) => self.environment.clone(),
            (Some(variables), Peer::SameUser) => {
                Environment::new(&root, variables).with_state_of(&self.environment)
            }
            (Some(_), Peer::Group | Peer::Token) => {
                return Err(bad_request(
                    "only a process of the supervisor's user may bring an environment",
                ));
            }
        };
        let registry = Arc::clone(&self.registry);
        off_the_loop(move || {
            let project = Project::at(&root, environment)?;
            registry.know(project.root());
            Ok(project)
        })
        .await
    }

    /// The same, for a batch of it that exists.
    async fn batch(
        &self,
        peer: Peer,
        asked: Option<wire::Project>,
        name: &str,
    ) -> Result<(Project, BatchName), Status> {
        let project = self.project(peer, asked).await?;
        let name = batch_name(name)?;
        let looked = project.clone();
        let batch = off_the_loop(move || looked.resolve_batch(Some(name.as_str()))).await?;
        Ok((project, batch))
    }

    fn stage<T>(&self, project: Project, request: &Request<T>) -> Result<Stage, Status> {
        if self.supervisor.is_closed() {
            return Err(Error::Closing.into());
        }
        Ok(Stage {
            supervisor: self.supervisor.clone(),
            project,
            deadline: deadline(request.metadata())?,
            ending: self.ending.clone(),
        })
    }

    fn active(&self) -> Vec<wire::ActiveStep> {
        self.supervisor.active().into_iter().map(active_to_wire).collect()
    }
}

/// Tells who calls. The doorkeeper has put it there.
fn peer<T>(request: &Request<T>) -> Result<Peer, Status> {
    let peer = request.extensions().get::<Peer>();
    peer.copied().ok_or_else(|| Status::internal("a call came past the doorkeeper"))
}

/// Begins the span of a call that runs steps, below that of its caller.
fn served<T>(request: &Request<T>, method: &'static str) -> TraceSpan {
    let parent = TraceParent::from_metadata(request.metadata());
    let span = TraceSpan::under(parent.as_ref(), SpanName::Serve);
    span.set(Attribute::RpcSystem, "grpc");
    span.set(Attribute::RpcMethod, method);
    span
}

/// Answers a call within its span.
async fn told(trace: TraceSpan, work: impl Future<Output = ()>) {
    trace.scope(work).await;
    trace.end();
}

/// Does what reads and writes files on a thread that may wait.
async fn off_the_loop<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Status> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(Status::from),
        Err(_) => Err(Status::internal("the call could not be worked on; the supervisor goes on")),
    }
}

fn active_to_wire(Active { of, before }: Active) -> wire::ActiveStep {
    let home = match of.home {
        RunHome::Batch(name) => wire::active_step::Home::Batch(name.to_string()),
        RunHome::Change(name) => wire::active_step::Home::Change(name.to_string()),
    };
    let before = before.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX));
    wire::ActiveStep { root: of.root.display().to_string(), home: Some(home), before }
}

/// Makes the queue of one client.
fn queue<T>() -> (mpsc::Sender<Result<T, Status>>, Answer<Stream<T>>) {
    let (queue, messages) = mpsc::channel(CLIENT_QUEUE);
    (queue, Ok(Response::new(ReceiverStream::new(messages))))
}

#[tonic::async_trait]
impl SupervisorService for Service {
    type ApplyStream = Stream<wire::ApplyResponse>;
    type RunStream = Stream<wire::RunResponse>;
    type RunChangeStream = Stream<wire::RunChangeResponse>;
    type WatchStream = Stream<wire::WatchResponse>;
    type AttachStream = Stream<wire::AttachResponse>;

    async fn apply(&self, request: Request<wire::ApplyRequest>) -> Answer<Self::ApplyStream> {
        let asked = request.get_ref();
        let (project, _) = self.batch(peer(&request)?, asked.project.clone(), &asked.batch).await?;
        let stage = self.stage(project, &request)?;
        let trace = served(&request, "Apply");
        let asked = ApplyRequest::from_wire(request.into_inner())?;
        let (queue, answer) = queue();
        let span = info_span!("apply", batch = %asked.batch);
        tokio::spawn(told(trace, stage.apply(asked, queue)).instrument(span));
        answer
    }

    async fn run(&self, request: Request<wire::RunRequest>) -> Answer<Self::RunStream> {
        let asked = request.get_ref().apply.as_ref();
        let asked = asked.ok_or_else(|| Malformed::missing("what to run"))?;
        let (project, _) = self.batch(peer(&request)?, asked.project.clone(), &asked.batch).await?;
        let stage = self.stage(project, &request)?;
        let trace = served(&request, "Run");
        let wire::RunRequest { apply, max_steps } = request.into_inner();
        let asked = ApplyRequest::from_wire(apply.unwrap_or_default())?;
        let (queue, answer) = queue();
        let span = info_span!("run", batch = %asked.batch);
        tokio::spawn(told(trace, stage.run(asked, max_steps, queue)).instrument(span));
        answer
    }

    async fn run_change(
        &self,
        request: Request<wire::RunChangeRequest>,
    ) -> Answer<Self::RunChangeStream> {
        let project = self.project(peer(&request)?, request.get_ref().project.clone()).await?;
        let stage = self.stage(project, &request)?;
        let trace = served(&request, "RunChange");
        let asked = ChangeStepRequest::from_wire(request.into_inner())?;
        let (queue, answer) = queue();
        let span = info_span!("change", change = %asked.change);
        tokio::spawn(told(trace, stage.change(asked, queue)).instrument(span));
        answer
    }

    async fn status(&self, request: Request<wire::StatusRequest>) -> Answer<wire::StatusResponse> {
        let who = peer(&request)?;
        let wire::StatusRequest { project, batch } = request.into_inner();
        let (project, batch) = self.batch(who, project, &batch).await?;
        let status = off_the_loop(move || look::status(&project, &batch)).await?;
        Ok(Response::new(wire::StatusResponse { status: Some(status) }))
    }

    async fn watch(&self, request: Request<wire::WatchRequest>) -> Answer<Self::WatchStream> {
        let who = peer(&request)?;
        let wire::WatchRequest { project, batch } = request.into_inner();
        let (project, batch) = self.batch(who, project, &batch).await?;
        let (queue, answer) = queue();
        tokio::spawn(look::watch(project, batch, self.ending.clone(), queue));
        answer
    }

    async fn report(&self, request: Request<wire::ReportRequest>) -> Answer<wire::ReportResponse> {
        let project = self.project(peer(&request)?, request.get_ref().project.clone()).await?;
        let Said { home, key, report } = Said::from_wire(request.into_inner())?;
        let reported = off_the_loop(move || match &home {
            RunHome::Batch(batch) => {
                let batch = project.resolve_batch(Some(batch.as_str()))?;
                project.report(&batch, &key, &report)
            }
            RunHome::Change(change) => project.report_change(change, &report),
        })
        .await?;
        Ok(Response::new(wire::ReportResponse {
            kind: reported.kind.to_owned(),
            key: reported.change.to_string(),
            text: reported.text,
        }))
    }

    async fn cancel(&self, request: Request<wire::CancelRequest>) -> Answer<wire::CancelResponse> {
        let project = self.project(peer(&request)?, request.get_ref().project.clone()).await?;
        let Halting { home, by } = Halting::from_wire(request.into_inner())?;
        let looked = (project.clone(), home.clone());
        let running = off_the_loop(move || {
            if let RunHome::Batch(batch) = &looked.1 {
                looked.0.resolve_batch(Some(batch.as_str()))?;
            }
            looked.0.running_in(&looked.1)
        })
        .await?;
        // One that waits for room here is called off; nobody outside could do that.
        self.supervisor.stop_step(project.root(), home.clone(), by).await;
        let Some(current) = running else {
            return Ok(Response::new(wire::CancelResponse { stopped: None }));
        };
        // One that another process watches is asked through its directory.
        let (asked, at) = (project.clone(), home.clone());
        off_the_loop(move || asked.stop(&at, by)).await?;
        project.end_of(&home, &current.dir).await?;
        Ok(Response::new(wire::CancelResponse { stopped: Some(current.into_wire()) }))
    }

    async fn attach(&self, request: Request<wire::AttachRequest>) -> Answer<Self::AttachStream> {
        let who = peer(&request)?;
        let wire::AttachRequest { project, of, offset } = request.into_inner();
        let from = offset.map_or(Start::Now, Start::Offset);
        let (dir, running) = match of.ok_or_else(|| Malformed::missing("whose output"))? {
            wire::attach_request::Of::Batch(name) => {
                let (project, batch) = self.batch(who, project, &name).await?;
                let running = off_the_loop(move || {
                    let nothing = || Error::NothingRuns { batch: batch.clone() };
                    project.running(&batch)?.ok_or_else(nothing)
                });
                let Current { dir, step, .. } = running.await?;
                (dir, Some(step))
            }
            wire::attach_request::Of::Spawn(id) => {
                let project = self.project(who, project).await?;
                (off_the_loop(move || project.spawn_dir(&id)).await?, None)
            }
        };
        let (queue, answer) = queue();
        tokio::spawn(look::attach(dir, running, from, self.ending.clone(), queue));
        answer
    }

    async fn log(&self, request: Request<wire::LogRequest>) -> Answer<wire::LogResponse> {
        let who = peer(&request)?;
        let wire::LogRequest { project, batch, key } = request.into_inner();
        let (project, batch) = self.batch(who, project, &batch).await?;
        let key = key.as_deref().map(StepKey::from_text);
        let steps = off_the_loop(move || project.logged(&batch, key.as_ref())).await?;
        let steps = steps.into_iter().map(|step| step.into_wire()).collect();
        Ok(Response::new(wire::LogResponse { steps }))
    }

    async fn list_batches(
        &self,
        request: Request<wire::ListBatchesRequest>,
    ) -> Answer<wire::ListBatchesResponse> {
        let mut roots: Vec<PathBuf> =
            request.into_inner().roots.into_iter().map(PathBuf::from).collect();
        if roots.iter().any(|root| !root.is_absolute()) {
            return Err(bad_request("a project's root must be an absolute path"));
        }
        if roots.is_empty() {
            roots = self.registry.roots();
        }
        roots.sort();
        let environment = self.environment.clone();
        let list = move || Ok(roots.into_iter().map(|root| batches(root, &environment)).collect());
        Ok(Response::new(wire::ListBatchesResponse { projects: off_the_loop(list).await? }))
    }

    async fn rerun_proof(
        &self,
        request: Request<wire::RerunProofRequest>,
    ) -> Answer<wire::RerunProofResponse> {
        let who = peer(&request)?;
        let wire::RerunProofRequest { project, batch, phase } = request.into_inner();
        let (project, batch) = self.batch(who, project, &batch).await?;
        let done = off_the_loop(move || project.invalidate_proof(&batch, &phase)).await?;
        Ok(Response::new(wire::RerunProofResponse { invalidated: done.invalidated }))
    }

    async fn info(&self, _request: Request<wire::InfoRequest>) -> Answer<wire::InfoResponse> {
        let capacity = self.supervisor.options().local_capacity.get();
        let projects = self.registry.roots();
        Ok(Response::new(wire::InfoResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: ratchet_proto::PROTOCOL,
            pid: std::process::id(),
            started_at: self.started_at.clone(),
            local_capacity: u32::try_from(capacity).unwrap_or(u32::MAX),
            active: self.active(),
            projects: projects.iter().map(|root| root.display().to_string()).collect(),
            listeners: self.listeners.to_vec(),
            draining: self.supervisor.is_closed(),
        }))
    }

    async fn stop(&self, request: Request<wire::StopRequest>) -> Answer<wire::StopResponse> {
        let asked = request.into_inner();
        let ending = match asked.mode() {
            wire::StopMode::Unspecified | wire::StopMode::Leave => Ending::Leave,
            wire::StopMode::Drain => Ending::Drain((asked.drain_ms > 0).then_some(asked.drain_ms)),
        };
        let active = self.active();
        self.supervisor.close();
        self.asked_to_end.send_replace(Some(ending));
        Ok(Response::new(wire::StopResponse { active }))
    }
}

/// Lists the batches of one project; one that cannot be listed hides no other.
fn batches(root: PathBuf, environment: &Environment) -> wire::ProjectBatches {
    let shown = root.display().to_string();
    let listed = Project::at(&root, environment.clone()).and_then(|project| {
        let rows = project.list()?.into_iter().map(|row| {
            let mut row = row.into_wire();
            let running = BatchName::parse(&row.name).ok().map(|name| project.running(&name));
            row.running = running.and_then(|found| found.ok()?).map(|current| current.into_wire());
            row
        });
        Ok(rows.collect())
    });
    match listed {
        Ok(batches) => wire::ProjectBatches { root: shown, batches, error: None },
        Err(error) => {
            wire::ProjectBatches { root: shown, batches: Vec::new(), error: Some(detail(&error)) }
        }
    }
}
