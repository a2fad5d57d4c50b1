//! One request to the collector, over gRPC or HTTP. The bytes are what the disk keeps, so neither knows what is in them.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Status};

use super::Parcel;
use crate::config::{Config, Protocol, Signal, Target};

/// Why a parcel did not arrive.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Nobody answers, or not now: it can be tried again.
    Away,
    /// It is not taken, and will not be.
    Refused(String),
    /// The collector does not know this signal at all.
    Unknown,
}

/// The ways out, one for each signal that somebody takes.
pub(super) struct Senders(BTreeMap<Signal, Sender>);

struct Sender {
    way: Way,
    timeout: Duration,
}

enum Way {
    Grpc {
        channel: Channel,
        headers: MetadataMap,
    },
    Http {
        client: Box<HttpClient>,
        uri: http::Uri,
        headers: http::HeaderMap,
    },
    /// It was set up badly; what goes there is refused with the reason.
    Broken(String),
}

type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

impl Senders {
    /// Connects to nobody yet. Needs a tokio runtime.
    pub(super) fn new(config: &Config) -> Self {
        Self(config.targets.iter().map(|(signal, target)| (*signal, Sender::new(target))).collect())
    }

    /// Says whether somebody takes a signal.
    pub(super) fn take(&self, signal: Signal) -> bool {
        self.0.contains_key(&signal)
    }

    /// Nobody does.
    pub(super) fn forget(&mut self, signal: Signal) {
        self.0.remove(&signal);
    }

    /// Sends several at the same time.
    pub(super) async fn send_all(
        &self,
        parcels: &[Parcel],
        end: &watch::Receiver<Option<Instant>>,
    ) -> Vec<Result<(), Failure>> {
        // There are at most three, and more only if metrics have piled up.
        let mut sends: Vec<_> =
            parcels.iter().map(|parcel| Box::pin(self.send(parcel, end))).collect();
        let mut outcomes: Vec<_> = sends.iter().map(|_| None).collect();
        std::future::poll_fn(|context| {
            let mut open = false;
            for (send, outcome) in sends.iter_mut().zip(&mut outcomes) {
                if outcome.is_none() {
                    match send.as_mut().poll(context) {
                        std::task::Poll::Ready(done) => *outcome = Some(done),
                        std::task::Poll::Pending => open = true,
                    }
                }
            }
            if open { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
        })
        .await;
        outcomes.into_iter().map(|outcome| outcome.unwrap_or(Err(Failure::Away))).collect()
    }

    /// Sends one; gives up when its time is over, or when the end is near and that time is over.
    pub(super) async fn send(
        &self,
        parcel: &Parcel,
        end: &watch::Receiver<Option<Instant>>,
    ) -> Result<(), Failure> {
        let Some(sender) = self.0.get(&parcel.signal) else { return Err(Failure::Unknown) };
        let mut end = end.clone();
        tokio::select! {
            biased;
            sent = sender.send(parcel) => sent,
            () = tokio::time::sleep(sender.timeout) => Err(Failure::Away),
            () = deadline(&mut end) => Err(Failure::Away),
        }
    }
}

/// Waits until there is no time left; for ever, while nobody asks for the end.
async fn deadline(end: &mut watch::Receiver<Option<Instant>>) {
    let asked = end.wait_for(Option::is_some).await.ok().and_then(|deadline| *deadline);
    match asked {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl Sender {
    fn new(target: &Target) -> Self {
        let way = match target.protocol {
            Protocol::Grpc => grpc(target),
            Protocol::Http => http(target),
        };
        Self { way: way.unwrap_or_else(Way::Broken), timeout: target.timeout }
    }

    async fn send(&self, parcel: &Parcel) -> Result<(), Failure> {
        match &self.way {
            Way::Grpc { channel, headers } => {
                let mut request = tonic::Request::new(parcel.bytes.clone());
                *request.metadata_mut() = headers.clone();
                let mut client = tonic::client::Grpc::new(channel.clone());
                client.ready().await.map_err(|_| Failure::Away)?;
                let path = http::uri::PathAndQuery::from_static(path_of(parcel.signal));
                match client.unary(request, path, Plain).await {
                    Ok(_) => Ok(()),
                    Err(status) => Err(by_code(&status)),
                }
            }
            Way::Http { client, uri, headers } => {
                let mut request = http::Request::post(uri.clone())
                    .body(Full::new(parcel.bytes.clone()))
                    .map_err(|error| Failure::Refused(error.to_string()))?;
                *request.headers_mut() = headers.clone();
                let answer = client.request(request).await.map_err(|_| Failure::Away)?;
                let status = answer.status();
                // Read to its end, so that the connection can be used again.
                let _body = answer.into_body().collect().await;
                by_status(status)
            }
            Way::Broken(why) => Err(Failure::Refused(why.clone())),
        }
    }
}

fn grpc(target: &Target) -> Result<Way, String> {
    let mut endpoint = Endpoint::from(target.endpoint.clone()).connect_timeout(target.timeout);
    if target.endpoint.scheme_str() == Some("https") {
        let tls = match certificate(target)? {
            Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
            None => ClientTlsConfig::new().with_native_roots(),
        };
        endpoint = endpoint.tls_config(tls).map_err(|error| error.to_string())?;
    }
    let mut headers = MetadataMap::new();
    for (name, value) in &target.headers {
        let name = tonic::metadata::MetadataKey::from_bytes(name.to_ascii_lowercase().as_bytes())
            .map_err(|_| format!("'{name}' is no header"))?;
        let mut value = MetadataValue::try_from(value.as_str())
            .map_err(|_| format!("the value of header '{name}' cannot be sent"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(Way::Grpc { channel: endpoint.connect_lazy(), headers })
}

fn http(target: &Target) -> Result<Way, String> {
    let mut headers = http::HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
    for (name, value) in &target.headers {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("'{name}' is no header"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of header '{name}' cannot be sent"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls(target)?)
        .https_or_http()
        .enable_http1()
        .build();
    let client = Box::new(Client::builder(TokioExecutor::new()).build(connector));
    Ok(Way::Http { client, uri: target.endpoint.clone(), headers })
}

/// The certificates of the system are read only if there will be TLS: there are hundreds.
fn tls(target: &Target) -> Result<rustls::ClientConfig, String> {
    let mut roots = rustls::RootCertStore::empty();
    if target.endpoint.scheme_str() == Some("https") {
        match certificate(target)? {
            Some(pem) => {
                use rustls::pki_types::pem::PemObject as _;
                for found in rustls::pki_types::CertificateDer::pem_slice_iter(&pem) {
                    let found = found.map_err(|error| format!("a certificate: {error}"))?;
                    roots.add(found).map_err(|error| format!("a certificate: {error}"))?;
                }
            }
            None => {
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
            }
        }
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let versions = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}

fn certificate(target: &Target) -> Result<Option<Vec<u8>>, String> {
    let Some(path) = &target.certificate else { return Ok(None) };
    std::fs::read(path).map(Some).map_err(|error| format!("{path}: {error}"))
}

fn path_of(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        Signal::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        Signal::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    }
}

/// Which refusals may pass is what the OTLP specification lists.
fn by_code(status: &Status) -> Failure {
    match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss
        | Code::ResourceExhausted
        | Code::Unknown => Failure::Away,
        Code::Unimplemented => Failure::Unknown,
        code @ (Code::Ok
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::Internal
        | Code::Unauthenticated) => Failure::Refused(code.to_string()),
    }
}

fn by_status(status: http::StatusCode) -> Result<(), Failure> {
    match status.as_u16() {
        200..=299 => Ok(()),
        404 | 405 | 501 => Err(Failure::Unknown),
        429 | 502 | 503 | 504 => Err(Failure::Away),
        _ => Err(Failure::Refused(status.to_string())),
    }
}

/// Sends bytes as they are, and reads no answer.
#[derive(Debug, Clone, Copy)]
struct Plain;

impl Codec for Plain {
    type Encode = Bytes;
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Plain {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for Plain {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        buffer.advance(buffer.remaining());
        Ok(Some(()))
    }
}
