//! A collector in this process: takes OTLP over gRPC and HTTP, and keeps what it gets. It can also be slow, full or gone.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{
    LogsService, LogsServiceServer,
};
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

/// How telemetry travels.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    Grpc,
    Http,
}

/// How a collector behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    /// It takes everything.
    Well,
    /// It never answers.
    Slow,
    /// It says that it can take no more just now.
    Full,
}

/// What was taken.
#[derive(Debug, Default)]
pub(super) struct Got {
    pub(super) spans: Vec<Span>,
    pub(super) records: Vec<LogRecord>,
    pub(super) metrics: Vec<Metric>,
    pub(super) resources: Vec<Resource>,
    /// Every byte of every request.
    pub(super) bytes: Vec<u8>,
    /// The headers of every request over HTTP, one a line.
    pub(super) headers: String,
    pub(super) requests: usize,
}

#[derive(Clone)]
struct Desk {
    mood: Arc<Mutex<Mood>>,
    got: Arc<(Mutex<Got>, Condvar)>,
}

/// A collector; it is gone when this is dropped.
pub(super) struct Collector {
    runtime: Option<Runtime>,
    desk: Desk,
    grpc: SocketAddr,
    http: SocketAddr,
    /// The PEM of its certificate, if it speaks TLS.
    certificate: Option<String>,
}

/// What a server needs to speak TLS.
#[derive(Clone)]
struct Identity {
    certificate: String,
    key: String,
}

impl Identity {
    fn new() -> Self {
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a key");
        Self { certificate: issued.cert.pem(), key: issued.signing_key.serialize_pem() }
    }

    fn acceptor(&self) -> TlsAcceptor {
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes());
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the usual versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.expect("a PEM")], key.expect("a PEM"));
        TlsAcceptor::from(Arc::new(config.expect("they belong together")))
    }
}

impl Collector {
    pub(super) fn start() -> Self {
        Self::in_mood(Mood::Well)
    }

    pub(super) fn in_mood(mood: Mood) -> Self {
        Self::at(mood, "127.0.0.1:0".parse().expect("an address"))
    }

    /// One that speaks TLS, with a certificate of its own for `localhost`.
    pub(super) fn with_tls() -> Self {
        let anywhere = "127.0.0.1:0".parse().expect("an address");
        Self::made(Mood::Well, anywhere, Some(Identity::new()))
    }

    /// One whose HTTP address is this one: where another one was before.
    pub(super) fn at(mood: Mood, http: SocketAddr) -> Self {
        Self::made(mood, http, None)
    }

    fn made(mood: Mood, http: SocketAddr, identity: Option<Identity>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let desk = Desk { mood: Arc::new(Mutex::new(mood)), got: Arc::default() };
        let (grpc, http) = runtime.block_on(async {
            let grpc = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let http = TcpListener::bind(http).await.expect("the port");
            let at =
                (grpc.local_addr().expect("an address"), http.local_addr().expect("an address"));
            let mut server = Server::builder();
            if let Some(Identity { certificate, key }) = &identity {
                let identity = tonic::transport::Identity::from_pem(certificate, key);
                let tls = ServerTlsConfig::new().identity(identity);
                server = server.tls_config(tls).expect("they belong together");
            }
            let server = server
                .add_service(TraceServiceServer::new(desk.clone()))
                .add_service(LogsServiceServer::new(desk.clone()))
                .add_service(MetricsServiceServer::new(desk.clone()));
            tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(grpc)));
            tokio::spawn(serve_http(http, desk.clone(), identity.clone()));
            at
        });
        let certificate = identity.map(|identity| identity.certificate);
        Self { runtime: Some(runtime), desk, grpc, http, certificate }
    }

    /// The address that clients are given.
    pub(super) fn endpoint(&self, way: Way) -> String {
        let address = match way {
            Way::Grpc => self.grpc,
            Way::Http => self.http,
        };
        match self.certificate {
            None => format!("http://{address}"),
            Some(_) => format!("https://localhost:{}", address.port()),
        }
    }

    /// The certificate that clients must trust.
    pub(super) fn certificate(&self) -> &str {
        self.certificate.as_deref().expect("it speaks TLS")
    }

    pub(super) fn http(&self) -> SocketAddr {
        self.http
    }

    /// Looks at what was taken so far.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Got) -> T) -> T {
        look(&self.desk.got.0.lock().expect("no test panicked in here"))
    }

    /// Waits until something is so.
    #[track_caller]
    pub(super) fn wait_for(&self, what: &str, is_so: impl Fn(&Got) -> bool) {
        let (got, changed) = &*self.desk.got;
        let until = Instant::now() + Duration::from_secs(30);
        let mut seen = got.lock().expect("no test panicked in here");
        while !is_so(&seen) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never got {what}");
            seen = changed.wait_timeout(seen, left).expect("no test panicked in here").0;
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Desk {
    /// Takes a request, or does what its mood is.
    async fn take<M: Message>(
        &self,
        request: &M,
        keep: impl FnOnce(&mut Got),
    ) -> Result<(), Status> {
        let mood = *self.mood.lock().expect("no test panicked in here");
        match mood {
            Mood::Well => {}
            Mood::Slow => std::future::pending::<()>().await,
            Mood::Full => return Err(Status::resource_exhausted("full")),
        }
        let (got, changed) = &*self.got;
        let mut got = got.lock().expect("no test panicked in here");
        got.requests += 1;
        got.bytes.extend(request.encode_to_vec());
        keep(&mut got);
        changed.notify_all();
        Ok(())
    }

    async fn spans(&self, request: ExportTraceServiceRequest) -> Result<(), Status> {
        let all = request.clone();
        self.take(&request, |got| {
            for resource in all.resource_spans {
                got.resources.extend(resource.resource);
                got.spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
        })
        .await
    }

    async fn records(&self, request: ExportLogsServiceRequest) -> Result<(), Status> {
        let all = request.clone();
        self.take(&request, |got| {
            let scopes = all.resource_logs.into_iter().flat_map(|resource| resource.scope_logs);
            got.records.extend(scopes.flat_map(|scope| scope.log_records));
        })
        .await
    }

    async fn metrics(&self, request: ExportMetricsServiceRequest) -> Result<(), Status> {
        let all = request.clone();
        self.take(&request, |got| {
            let scopes = all.resource_metrics.into_iter().flat_map(|found| found.scope_metrics);
            got.metrics.extend(scopes.flat_map(|scope| scope.metrics));
        })
        .await
    }
}

#[tonic::async_trait]
impl TraceService for Desk {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.spans(request.into_inner()).await?;
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Desk {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        self.records(request.into_inner()).await?;
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Desk {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.metrics(request.into_inner()).await?;
        Ok(Response::new(Default::default()))
    }
}

async fn serve_http(listener: TcpListener, desk: Desk, identity: Option<Identity>) {
    let acceptor = identity.map(|identity| identity.acceptor());
    while let Ok((stream, _)) = listener.accept().await {
        match acceptor.clone() {
            None => drop(tokio::spawn(serve_one(stream, desk.clone()))),
            Some(acceptor) => {
                let desk = desk.clone();
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve_one(stream, desk).await;
                    }
                });
            }
        }
    }
}

async fn serve_one(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, desk: Desk) {
    let answer = service_fn(move |request| answered(desk.clone(), request));
    let served = hyper::server::conn::http1::Builder::new();
    // A client that goes away has its reasons.
    drop(served.serve_connection(TokioIo::new(stream), answer).await);
}

async fn answered(
    desk: Desk,
    request: http::Request<Incoming>,
) -> Result<http::Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        format!("{name}: {}\n", value.to_str().unwrap_or_default())
    };
    let headers: String = request.headers().iter().map(header).collect();
    desk.got.0.lock().expect("no test panicked in here").headers += &headers;
    let body = request.into_body().collect().await.expect("a whole body").to_bytes();
    let taken = match path.as_str() {
        "/v1/traces" => desk.spans(Message::decode(body).expect("spans")).await,
        "/v1/logs" => desk.records(Message::decode(body).expect("records")).await,
        "/v1/metrics" => desk.metrics(Message::decode(body).expect("metrics")).await,
        other => panic!("nothing is expected at {other}"),
    };
    let status = if taken.is_ok() { 200 } else { 429 };
    let answer = http::Response::builder().status(status).body(Full::default());
    Ok(answer.expect("a status and no body"))
}
