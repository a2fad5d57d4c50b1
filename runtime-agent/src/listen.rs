//! Where calls come in: TCP, with TLS or at a loopback address, and a token before anything else is read.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ratchet_door::connection::{Caller, incoming, places};
use ratchet_door::token::Token;
use ratchet_proto::error::v1::ErrorDetail;
use ratchet_proto::runtime::v1::runtime_service_server::RuntimeServiceServer;
use ratchet_proto::status::{self, to_status};
use secrecy::ExposeSecret as _;
use thiserror::Error;
use tokio::net::TcpListener;
use tonic::server::NamedService as _;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::Router;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic::{Code, Request, Status};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::service::{LARGEST_MESSAGE, Service};
use crate::sessions::Door;
use crate::setup::{Setup, Tls};
use crate::told::Failure;

/// How long a connection may be silent before it is asked whether it is still there, and how long it may take to say so. One
/// that is gone without a word is noticed within 15 s.
const KEEPALIVE: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(10);

/// How many calls one connection may have at a time; the next ones wait in the client.
const CALLS_OF_A_CONNECTION: u32 = 1024;

/// How many connections there may be at a time.
const CONNECTIONS: usize = 512;

/// How much of a pack may be under way before it is taken, in bytes.
const WINDOW: u32 = 2 * 1024 * 1024;

/// How the worker calls itself where it refuses.
const US: status::Server = status::Server { name: "the worker", restart: "restart runtime-agent" };

/// Why nothing can come in.
#[derive(Debug, Error)]
pub(crate) enum ListenError {
    /// The system refuses.
    #[error("cannot listen at {address}")]
    System {
        /// Where.
        address: SocketAddr,
        /// What it says.
        #[source]
        source: io::Error,
    },
    /// The certificate, its key, or the callers' certificates are none.
    #[error("the TLS certificate and its key cannot be used")]
    Tls(#[source] tonic::transport::Error),
    /// A listener that worked does so no more.
    #[error("calls can no longer come in")]
    Broken(#[source] tonic::transport::Error),
}

/// A door that is ready and not open yet.
#[derive(Debug)]
pub(crate) struct Doorway {
    server: Server,
    token: Token,
    scheme: &'static str,
}

impl Doorway {
    /// Checks what TLS needs.
    pub(crate) fn new(setup: &Setup) -> Result<Self, ListenError> {
        let mut server = Server::builder()
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(ANSWER))
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_concurrent_streams(CALLS_OF_A_CONNECTION);
        if let Some(tls) = &setup.tls {
            server = server.tls_config(tls_config(tls)).map_err(ListenError::Tls)?;
        }
        let scheme = if setup.tls.is_some() { "https" } else { "http" };
        Ok(Self { server, token: setup.token.clone(), scheme })
    }

    /// Listens. Nobody is answered yet.
    pub(crate) async fn bind(
        &self,
        address: SocketAddr,
    ) -> Result<(TcpListener, String), ListenError> {
        let failed = |source| ListenError::System { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let at = format!("{}://{}", self.scheme, listener.local_addr().map_err(failed)?);
        Ok((listener, at))
    }

    /// Answers calls until the service leaves and every call has ended.
    pub(crate) async fn serve(
        self,
        listener: TcpListener,
        service: Service,
    ) -> Result<(), ListenError> {
        let leaving = service.leaving.clone();
        let router = self.router(service);
        let incoming = incoming(listener, places(CONNECTIONS));
        router
            .serve_with_incoming_shutdown(incoming, leaving.cancelled_owned())
            .await
            .map_err(ListenError::Broken)
    }

    fn router(mut self, service: Service) -> Router {
        let (health, health_service) = tonic_health::server::health_reporter();
        tokio::spawn(tell_health(health, service.clone()));
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(ratchet_proto::RUNTIME_DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .build_v1()
            .expect("our descriptors were made by our own build");
        let runtime = RuntimeServiceServer::new(service).max_decoding_message_size(LARGEST_MESSAGE);
        let keeper = Doorkeeper(self.token);
        self.server
            .add_service(InterceptedService::new(health_service, keeper.clone()))
            .add_service(InterceptedService::new(reflection, keeper.clone()))
            .add_service(InterceptedService::new(runtime, keeper))
    }
}

fn tls_config(tls: &Tls) -> ServerTlsConfig {
    let identity = Identity::from_pem(&tls.cert, tls.key.expose_secret());
    let config = ServerTlsConfig::new().identity(identity);
    match &tls.client_ca {
        Some(ca) => config.client_ca_root(Certificate::from_pem(ca)),
        None => config,
    }
}

/// Says that all is well for as long as new commands are taken.
async fn tell_health(health: HealthReporter, service: Service) {
    let mut door = service.sessions.door();
    loop {
        let status = match *door.borrow_and_update() {
            Door::Open => ServingStatus::Serving,
            Door::Draining => ServingStatus::NotServing,
        };
        // The service, and the whole process in gRPC's words.
        for name in [RuntimeServiceServer::<Service>::NAME, ""] {
            health.set_service_status(name, status).await;
        }
        tokio::select! {
            Ok(()) = door.changed() => {}
            () = service.leaving.cancelled() => return,
        }
    }
}

/// Looks at every call, whatever the service, before anything of it is read.
#[derive(Debug, Clone)]
struct Doorkeeper(Token);

impl Interceptor for Doorkeeper {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        if let Err(refused) = self.0.admit(request.metadata()) {
            tracing::warn!(%refused, "somebody was turned away");
            let detail = ErrorDetail {
                code: "bad-token".to_owned(),
                message: refused.to_string(),
                causes: Vec::new(),
                help: Some("give the token that the worker was started with".to_owned()),
            };
            return Err(to_status(Code::Unauthenticated, &detail));
        }
        status::check(request.metadata(), US).map_err(|status| *status)?;
        if let Some(caller) = request.extensions().get::<Caller>() {
            caller.admit();
        }
        Ok(request)
    }
}

impl From<&ListenError> for Failure {
    fn from(error: &ListenError) -> Self {
        let help = match error {
            ListenError::Tls(_) => {
                "look whether both are PEM and belong together: 'openssl x509 -in CERT -noout -text'"
            }
            ListenError::System { .. } | ListenError::Broken(_) => {
                "mend the cause, or listen elsewhere with '--listen ADDR'"
            }
        };
        Self::new(error, "cannot-listen", help)
    }
}
