//! Asking a supervisor that is another process. What it answers, and refuses, is what the supervisor in this process would.
//!
//! [`place`] says where one is; what is done if there is none is the caller's business.

pub mod about;
pub mod ending;
pub mod place;

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use ratchet_door::token::bearer;
use ratchet_engine::name::{BatchName, SpawnId, StepKey};
use ratchet_engine::outcome::StepResult;
use ratchet_engine::report::ApplyReport;
use ratchet_proto::error::v1::ErrorDetail;
use ratchet_proto::status::{from_status, mark};
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::supervisor_service_client::SupervisorServiceClient;
use ratchet_proto::supervisor::v1::{apply_response, run_change_response};
use ratchet_telemetry::TraceSpan;
use secrecy::SecretString;
use thiserror::Error;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use self::place::{CA_FILE, Place, PlaceError, Wanted};
use crate::error::{causes, io_kind};
use crate::event::{EventSink, StepEvent};
use crate::follow::Start;
use crate::grpc::convert::request::{Halting, Said, project_to_wire};
use crate::grpc::convert::{FromWire as _, Malformed};
use crate::project::{Project, Report, StepState};
use crate::request::{ApplyRequest, ChangeStepRequest, StopReason};
use crate::store::layout::RunHome;

/// How long a supervisor may take to say a first word.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a connection may be silent before the other side is asked, and how long it may take to say that it is there.
const STILL_THERE: Duration = Duration::from_secs(30);

/// A connection. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct Client {
    service: SupervisorServiceClient<Marked>,
    /// The same connection, for other services.
    connection: Box<Marked>,
    same_machine: SameMachine,
}

type Marked = InterceptedService<Channel, Mark>;

/// A step that was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// Its spawn.
    pub spawn: SpawnId,
    /// Whose step it was.
    pub key: StepKey,
    /// How far it was.
    pub state: StepState,
}

/// Why a supervisor did not do what it was asked.
#[derive(Debug, Error)]
pub enum ClientError {
    /// It cannot be told which one is wanted.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Nothing answers there.
    #[error("no supervisor answers at {place}")]
    Unreachable {
        /// The socket or the address.
        place: String,
        /// What the system says.
        source: tonic::transport::Error,
    },
    /// Whoever is there cannot show that it is the supervisor.
    #[error("the certificate of the supervisor at {place} is not one that is trusted")]
    Untrusted {
        /// The address.
        place: String,
        /// Why.
        source: tonic::transport::Error,
    },
    /// Something is there and says nothing.
    #[error("the supervisor at {place} does not answer")]
    Silent {
        /// The socket or the address.
        place: String,
    },
    /// It refused; the error is its own.
    #[error("{0}")]
    Refused(ErrorDetail),
    /// The connection broke. What was begun goes on.
    #[error("the connection to the supervisor was cut")]
    Cut(#[source] Box<Status>),
    /// It does not speak as this version does.
    #[error("the supervisor does not speak as this ratchet does")]
    Malformed(#[from] Malformed),
}

/// Whether the caller's environment means anything there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SameMachine {
    Yes,
    No,
}

/// Marks every call with the protocol, with the span that it is part of, and with the token where one is needed.
#[derive(Debug, Clone)]
struct Mark {
    token: Option<SecretString>,
}

impl Interceptor for Mark {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        mark(request.metadata_mut());
        if let Some(trace) = TraceSpan::parent_here() {
            trace.put(request.metadata_mut());
        }
        if let Some(token) = &self.token {
            let value =
                bearer(token).map_err(|_| Status::invalid_argument("the token is no header"))?;
            request.metadata_mut().insert("authorization", value);
        }
        Ok(request)
    }
}

impl Client {
    /// Connects to the supervisor that the caller's environment names, or that answers at this user's socket; `None` if the
    /// caller is to do without. A project whose path is no text is worked on in the caller's own process.
    ///
    /// # Errors
    /// [`ClientError::Place`], and [`ClientError::Unreachable`] for one that is named, or that is there and refuses.
    pub async fn find(project: &Project) -> Result<Option<Self>, ClientError> {
        match Wanted::of(project.environment())? {
            Wanted::Embedded => Ok(None),
            Wanted::IfThere(_) if project.root().to_str().is_none() => Ok(None),
            Wanted::At(place) => Self::connect(&place).await.map(Some),
            // Without a socket nothing of a client is set up.
            Wanted::IfThere(socket) if socket.symlink_metadata().is_err() => Ok(None),
            Wanted::IfThere(socket) => match Self::connect(&Place::Socket(socket)).await {
                Err(error) if error.is_nobody() => Ok(None),
                connected => connected.map(Some),
            },
        }
    }

    /// Connects, and sees that whoever is there answers in this version's words.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn connect(place: &Place) -> Result<Self, ClientError> {
        let name = place.name();
        let (token, same_machine) = match place {
            Place::Socket(_) => (None, SameMachine::Yes),
            Place::Remote { token, .. } => (Some(token.clone()), SameMachine::No),
        };
        let unreachable = |source| match io_kind(&source) {
            // What TLS says of the other side's certificate.
            Some(io::ErrorKind::InvalidData) => {
                ClientError::Untrusted { place: name.clone(), source }
            }
            _ => ClientError::Unreachable { place: name.clone(), source },
        };
        let mut endpoint = Endpoint::from_shared(name.clone()).map_err(unreachable)?;
        if let Place::Remote { ca, .. } = place {
            let mut tls = ClientTlsConfig::new();
            if let Some(pem) = ca {
                tls = tls.ca_certificate(Certificate::from_pem(pem));
            }
            endpoint = endpoint.tls_config(tls).map_err(unreachable)?;
        }
        let endpoint = endpoint
            .connect_timeout(PATIENCE)
            .http2_keep_alive_interval(STILL_THERE)
            .keep_alive_timeout(STILL_THERE);
        let channel = endpoint.connect().await.map_err(unreachable)?;
        let connection = InterceptedService::new(channel, Mark { token });
        let service = SupervisorServiceClient::new(connection.clone());
        let client = Self { service, connection: Box::new(connection), same_machine };
        match tokio::time::timeout(PATIENCE, client.greet()).await {
            Ok(answered) => answered.map(|()| client),
            Err(_) => Err(ClientError::Silent { place: name }),
        }
    }

    /// As [`crate::Supervisor::apply`].
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn apply(
        &mut self,
        project: &Project,
        request: &ApplyRequest,
        events: EventSink,
    ) -> Result<ApplyReport, ClientError> {
        let message = request.to_wire(self.project(project)?);
        let mut answers = self.service.apply(message).await.map_err(refused)?.into_inner();
        while let Some(answer) = answers.message().await.map_err(refused)? {
            match answer.message.ok_or_else(|| Malformed::missing("an answer"))? {
                apply_response::Message::Event(event) => tell(&events, event).await?,
                apply_response::Message::Report(report) => {
                    return Ok(ApplyReport::from_wire(report)?);
                }
            }
        }
        Err(ended_early())
    }

    /// As [`crate::Supervisor::run_change`].
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn run_change(
        &mut self,
        project: &Project,
        request: &ChangeStepRequest,
        events: EventSink,
    ) -> Result<StepResult, ClientError> {
        let message = request.to_wire(self.project(project)?);
        let mut answers = self.service.run_change(message).await.map_err(refused)?.into_inner();
        while let Some(answer) = answers.message().await.map_err(refused)? {
            match answer.message.ok_or_else(|| Malformed::missing("an answer"))? {
                run_change_response::Message::Event(event) => tell(&events, event).await?,
                run_change_response::Message::Result(result) => {
                    return Ok(StepResult::from_wire(result)?);
                }
            }
        }
        Err(ended_early())
    }

    /// As [`Project::report`] and [`Project::report_change`].
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn report(
        &mut self,
        project: &Project,
        home: RunHome,
        key: StepKey,
        report: Report,
    ) -> Result<wire::ReportResponse, ClientError> {
        let message = Said { home, key, report }.into_wire(self.project(project)?);
        Ok(self.service.report(message).await.map_err(refused)?.into_inner())
    }

    /// Stops the step that runs, or waits for room, in a run home, and returns when everything it started is gone. `None`:
    /// nothing ran.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn cancel(
        &mut self,
        project: &Project,
        home: RunHome,
        by: StopReason,
    ) -> Result<Option<Stopped>, ClientError> {
        let message = Halting { home, by }.into_wire(self.project(project)?);
        let stopped = self.service.cancel(message).await.map_err(refused)?.into_inner().stopped;
        let Some(running) = stopped else { return Ok(None) };
        let spawn = SpawnId::parse(&running.spawn)
            .map_err(|error| Malformed::new(format!("a spawn's id: {error}")))?;
        let state = if running.waiting { StepState::Waiting } else { StepState::Running };
        Ok(Some(Stopped { spawn, key: StepKey::from_text(&running.key), state }))
    }

    /// As [`crate::follow::follow`], of the step of a batch that runs at that supervisor.
    ///
    /// # Errors
    /// [`ClientError`]; the step goes on.
    pub async fn attach(
        &mut self,
        project: &Project,
        batch: &BatchName,
        from: Start,
        events: EventSink,
    ) -> Result<(), ClientError> {
        let offset = match from {
            Start::Now => None,
            Start::Offset(offset) => Some(offset),
        };
        let of = Some(wire::attach_request::Of::Batch(batch.to_string()));
        let message = wire::AttachRequest { project: Some(self.project(project)?), of, offset };
        let mut answers = self.service.attach(message).await.map_err(refused)?.into_inner();
        while let Some(answer) = answers.message().await.map_err(refused)? {
            tell(&events, answer.event.ok_or_else(|| Malformed::missing("an event"))?).await?;
        }
        Ok(())
    }

    /// Has a first word said: the shortest answer that passes the same door as every call.
    async fn greet(&self) -> Result<(), ClientError> {
        self.health().check(whole()).await.map(drop).map_err(refused)
    }

    fn health(&self) -> HealthClient<Marked> {
        HealthClient::new(Marked::clone(&self.connection))
    }

    /// Asks what answers there.
    ///
    /// # Errors
    /// [`ClientError`].
    async fn info(&mut self) -> Result<wire::InfoResponse, ClientError> {
        Ok(self.service.info(wire::InfoRequest {}).await.map_err(refused)?.into_inner())
    }

    fn project(&self, project: &Project) -> Result<wire::Project, Malformed> {
        let environment = (self.same_machine == SameMachine::Yes).then_some(project.environment());
        project_to_wire(project, environment)
    }
}

impl ClientError {
    /// Says whether nobody listens there: a socket is gone, or its supervisor is.
    #[must_use]
    pub fn is_nobody(&self) -> bool {
        let Self::Unreachable { source, .. } = self else { return false };
        matches!(io_kind(source), Some(io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused))
    }

    /// Returns a name that never changes: the page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> Cow<'static, str> {
        match self {
            Self::Place(_) => "bad-supervisor".into(),
            Self::Untrusted { .. } => "supervisor-untrusted".into(),
            Self::Unreachable { .. } | Self::Silent { .. } => "supervisor-unreachable".into(),
            Self::Refused(detail) => detail.code.clone().into(),
            Self::Cut(_) => "supervisor-lost".into(),
            Self::Malformed(_) => "protocol-mismatch".into(),
        }
    }

    /// Says what to type next.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Place(error) => error.help(),
            Self::Unreachable { source, .. }
                if io_kind(source) == Some(io::ErrorKind::PermissionDenied) =>
            {
                "it is another user's: have it started with '--group GROUP' for a group of yours, or do without: \
                 RATCHET_SUPERVISOR=embedded"
                    .to_owned()
            }
            Self::Unreachable { .. } => {
                "start it with 'ratchet supervisor run', or do without: RATCHET_SUPERVISOR=embedded"
                    .to_owned()
            }
            Self::Untrusted { .. } => format!(
                "set {CA_FILE} to the certificate it was started with, or to that of whoever signed it; \
                 'docs/errors/supervisor-untrusted.md' says how to make one"
            ),
            Self::Silent { .. } => {
                "look at it with 'ratchet supervisor status' and its log; RATCHET_SUPERVISOR=embedded does without".to_owned()
            }
            Self::Refused(detail) => return detail.help.clone(),
            Self::Cut(_) => "run the same command again: what was begun goes on, and is found".to_owned(),
            Self::Malformed(_) => "update the older of the two, then restart the supervisor: 'ratchet supervisor stop'; \
                 RATCHET_SUPERVISOR=embedded does without"
                .to_owned(),
        };
        Some(help)
    }

    /// Lists why, the nearest cause first, as far as it helps a person.
    #[must_use]
    pub fn causes(&self) -> Vec<String> {
        let chain = causes(self);
        match self {
            Self::Refused(detail) => detail.causes.clone(),
            // What lies between is how the layers of the transport call it.
            Self::Cut(_) | Self::Unreachable { .. } | Self::Untrusted { .. } => {
                chain.last().map(ToString::to_string).into_iter().collect()
            }
            Self::Place(_) | Self::Silent { .. } | Self::Malformed(_) => {
                chain.map(|error| error.to_string()).collect()
            }
        }
    }
}

/// Asks for the health of the whole process.
fn whole() -> HealthCheckRequest {
    HealthCheckRequest { service: String::new() }
}

/// Tells an event; a listener that went away changes nothing.
async fn tell(events: &EventSink, event: wire::StepEvent) -> Result<(), Malformed> {
    drop(events.send(StepEvent::from_wire(event)?).await);
    Ok(())
}

/// A supervisor that dies may still end its streams in order; what they were to end with is missing then.
fn ended_early() -> ClientError {
    ClientError::Cut(Box::new(Status::unavailable(
        "it ended before it had said what the step came to",
    )))
}

/// Tells the supervisor's own errors from those of the way there.
fn refused(status: Status) -> ClientError {
    match ratchet_proto::status::detail_of(&status) {
        Some(detail) => ClientError::Refused(detail),
        None => match status.code() {
            tonic::Code::Unavailable | tonic::Code::Unknown | tonic::Code::Cancelled => {
                ClientError::Cut(Box::new(status))
            }
            _ => ClientError::Refused(from_status(&status)),
        },
    }
}
