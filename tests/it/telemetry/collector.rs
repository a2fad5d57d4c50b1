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
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
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
    /// Every byte of every request, and of its headers.
    pub(super) bytes: Vec<u8>,
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
}

impl Collector {
    pub(super) fn start() -> Self {
        Self::in_mood(Mood::Well)
    }

    pub(super) fn in_mood(mood: Mood) -> Self {
        Self::at(mood, "127.0.0.1:0".parse().expect("an address"))
    }

    /// One whose HTTP address is this one: where another one was before.
    pub(super) fn at(mood: Mood, http: SocketAddr) -> Self {
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
            let server = Server::builder()
                .add_service(TraceServiceServer::new(desk.clone()))
                .add_service(LogsServiceServer::new(desk.clone()))
                .add_service(MetricsServiceServer::new(desk.clone()));
            tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(grpc)));
            tokio::spawn(serve_http(http, desk.clone()));
            at
        });
        Self { runtime: Some(runtime), desk, grpc, http }
    }

    /// The address that clients are given.
    pub(super) fn endpoint(&self, way: Way) -> String {
        match way {
            Way::Grpc => format!("http://{}", self.grpc),
            Way::Http => format!("http://{}", self.http),
        }
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

async fn serve_http(listener: TcpListener, desk: Desk) {
    while let Ok((stream, _)) = listener.accept().await {
        let desk = desk.clone();
        let answer = service_fn(move |request| answered(desk.clone(), request));
        tokio::spawn(async move {
            // A client that goes away has its reasons.
            drop(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), answer)
                    .await,
            );
        });
    }
}

async fn answered(
    desk: Desk,
    request: http::Request<Incoming>,
) -> Result<http::Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
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
