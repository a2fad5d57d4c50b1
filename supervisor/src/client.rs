//! Asking a supervisor that is another process. What it answers, and refuses, is what the supervisor in this process would.
//!
//! How a supervisor is found, and what is done if there is none, is the caller's business.

pub mod about;
pub mod ending;

use std::path::PathBuf;

use ratchet_engine::name::StepKey;
use ratchet_engine::outcome::StepResult;
use ratchet_engine::report::ApplyReport;
use ratchet_proto::status::{from_status, mark};
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::supervisor_service_client::SupervisorServiceClient;
use ratchet_proto::supervisor::v1::{apply_response, run_change_response};
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use tonic::metadata::MetadataValue;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

use crate::event::{EventSink, StepEvent};
use crate::grpc::convert::request::{Said, project_to_wire};
use crate::grpc::convert::{FromWire as _, Malformed};
use crate::project::{Project, Report};
use crate::request::{ApplyRequest, ChangeStepRequest};
use crate::store::layout::RunHome;

/// Where a supervisor is.
#[derive(Debug, Clone)]
pub enum Place {
    /// A socket on this machine. Calls carry the caller's environment.
    Socket(PathBuf),
    /// Somewhere else, over TLS.
    Remote {
        /// Such as `https://build.example:7430`.
        uri: String,
        /// Who may call.
        token: SecretString,
        /// The PEM of the certificates to trust instead of the system's.
        ca: Option<Vec<u8>>,
    },
}

/// A connection. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct Client {
    service: SupervisorServiceClient<InterceptedService<Channel, Mark>>,
    channel: Channel,
    mark: Mark,
    same_machine: SameMachine,
}

/// Why a supervisor did not do what it was asked.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nothing answers there.
    #[error("no supervisor answers at {place}")]
    Unreachable {
        /// The socket or the address.
        place: String,
        /// What the system says.
        source: tonic::transport::Error,
    },
    /// It refused; the error is its own.
    #[error("{0}")]
    Refused(wire::ErrorDetail),
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

/// Marks every call with the protocol, and with the token where one is needed.
#[derive(Debug, Clone)]
struct Mark {
    token: Option<SecretString>,
}

impl Interceptor for Mark {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        mark(request.metadata_mut());
        if let Some(token) = &self.token {
            let value = format!("Bearer {}", token.expose_secret());
            let mut value = MetadataValue::try_from(value)
                .map_err(|_| Status::invalid_argument("the token is no header"))?;
            value.set_sensitive(true);
            request.metadata_mut().insert("authorization", value);
        }
        Ok(request)
    }
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`].
    pub async fn connect(place: &Place) -> Result<Self, ClientError> {
        let (name, token, same_machine) = match place {
            Place::Socket(path) => (format!("unix:{}", path.display()), None, SameMachine::Yes),
            Place::Remote { uri, token, .. } => (uri.clone(), Some(token.clone()), SameMachine::No),
        };
        let unreachable = |source| ClientError::Unreachable { place: name.clone(), source };
        let mut endpoint = Endpoint::from_shared(name.clone()).map_err(unreachable)?;
        if let Place::Remote { ca, .. } = place {
            let mut tls = ClientTlsConfig::new();
            if let Some(pem) = ca {
                tls = tls.ca_certificate(Certificate::from_pem(pem));
            }
            endpoint = endpoint.tls_config(tls).map_err(unreachable)?;
        }
        let channel = endpoint.connect().await.map_err(unreachable)?;
        let mark = Mark { token };
        let service = SupervisorServiceClient::with_interceptor(channel.clone(), mark.clone());
        Ok(Self { service, channel, mark, same_machine })
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
        Err(Malformed::missing("the report").into())
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
        Err(Malformed::missing("the result").into())
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

    /// Asks what answers there.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn info(&mut self) -> Result<wire::InfoResponse, ClientError> {
        Ok(self.service.info(wire::InfoRequest {}).await.map_err(refused)?.into_inner())
    }

    fn project(&self, project: &Project) -> Result<wire::Project, Malformed> {
        let environment = (self.same_machine == SameMachine::Yes).then_some(project.environment());
        project_to_wire(project, environment)
    }
}

/// Tells an event; a listener that went away changes nothing.
async fn tell(events: &EventSink, event: wire::StepEvent) -> Result<(), Malformed> {
    drop(events.send(StepEvent::from_wire(event)?).await);
    Ok(())
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
