//! Who may call, in which language, and what is refused before anything is listened to.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;

use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::runtime_service_client::RuntimeServiceClient;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::project::{Project, shell};
use crate::world::{Bearer, TOKEN, Worker, World, channel, client, code_of, exists, refused};

/// Certificates of one authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// When a certificate holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Now,
    NoLonger,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Certificate and key, PEM.
    fn issue(&self, purpose: ExtendedKeyUsagePurpose, holds: Holds) -> (String, String) {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        if holds == Holds::NoLonger {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        (cert.pem(), key.serialize_pem())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }
}

/// Starts a worker with a certificate.
fn start_tls(world: &World, (cert, key): &(String, String), more: &[&str]) -> Worker {
    let cert = world.secret("cert.pem", cert);
    let key = world.secret("key.pem", key);
    let mut words = vec!["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    words.extend(more);
    world.start(&words)
}

/// Asks what it is like, over TLS.
async fn asked(worker: &Worker, tls: ClientTlsConfig) -> Result<String, String> {
    let place = format!("https://localhost:{}", worker.address.port());
    let endpoint = Endpoint::from_shared(place).unwrap().tls_config(tls).unwrap();
    let channel = endpoint.connect().await.map_err(|error| format!("{error:?}"))?;
    let answer = client(channel, TOKEN).capabilities(wire::CapabilitiesRequest::default()).await;
    answer.map(|answer| answer.into_inner().version).map_err(|error| format!("{error:?}"))
}

#[tokio::test]
async fn nothing_is_answered_without_the_token_and_nothing_runs() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut right = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut right).await;
    for token in ["", "wrong-wrong-wrong-wrong", &TOKEN[1..], &format!("{TOKEN}x")] {
        let mut wrong = worker.client_with(token).await;
        let refused = refused(wrong.spawn(shell("s", snapshot, "true")).await);
        assert_eq!(refused.code, "bad-token");
        assert!(!format!("{refused:?}").contains(TOKEN));
    }
    let bare = channel(&format!("http://{}", worker.address)).await.unwrap();
    let mut bare = RuntimeServiceClient::new(bare);
    let answer = bare.list(wire::ListRequest {}).await;
    assert_eq!(answer.as_ref().unwrap_err().code(), Code::Unauthenticated);
    assert_eq!(code_of(answer), "bad-token");
    assert!(right.list(wire::ListRequest {}).await.unwrap().into_inner().sessions.is_empty());
    assert!(!worker.log().contains(TOKEN));
}

#[tokio::test]
async fn health_and_reflection_are_for_those_with_the_token() {
    let world = World::new();
    let worker = world.start(&[]);
    let place = format!("http://{}", worker.address);
    let bearer = Bearer(TOKEN.to_owned());
    let mut stranger = HealthClient::new(channel(&place).await.unwrap());
    let answer = stranger.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(answer.code(), Code::Unauthenticated);
    let mut health = HealthClient::with_interceptor(channel(&place).await.unwrap(), bearer.clone());
    let check = || HealthCheckRequest { service: "ratchet.runtime.v1.RuntimeService".to_owned() };
    let status = health.check(check()).await.unwrap().into_inner().status();
    assert_eq!(status, ServingStatus::Serving);
    let mut told = health.watch(check()).await.unwrap().into_inner();
    worker.client().await.drain(wire::DrainRequest::default()).await.unwrap();
    while told.message().await.unwrap().unwrap().status() != ServingStatus::NotServing {}

    let mut reflection =
        ServerReflectionClient::with_interceptor(channel(&place).await.unwrap(), bearer);
    let ask = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers =
        reflection.server_reflection_info(tokio_stream::iter([ask])).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::ListServicesResponse(list) = answer else { panic!("{answer:?}") };
    let names: Vec<String> = list.service.into_iter().map(|service| service.name).collect();
    assert!(names.contains(&"ratchet.runtime.v1.RuntimeService".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("supervisor")), "{names:?}");
}

#[tokio::test]
async fn another_protocol_is_refused_with_what_to_do() {
    let world = World::new();
    let worker = world.start(&[]);
    let bare = channel(&format!("http://{}", worker.address)).await.unwrap();
    let mut bare = RuntimeServiceClient::new(bare);
    let mut request = Request::new(wire::ListRequest {});
    request.metadata_mut().insert("authorization", format!("Bearer {TOKEN}").parse().unwrap());
    request.metadata_mut().insert("ratchet-protocol", "99".parse().unwrap());
    let refused = refused(bare.list(request).await);
    assert_eq!(refused.code, "protocol-mismatch");
    assert!(refused.message.contains("the worker speaks protocol 1"), "{refused:?}");
}

#[tokio::test]
async fn over_tls_only_a_certificate_that_holds_and_is_trusted_is_taken() {
    let (world, authority) = (World::new(), Authority::new());
    let server = || ExtendedKeyUsagePurpose::ServerAuth;
    let worker = start_tls(&world, &authority.issue(server(), Holds::Now), &[]);
    let trusting = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem()));
    assert_eq!(asked(&worker, trusting.clone()).await.unwrap(), env!("CARGO_PKG_VERSION"));
    // Signed by nobody whom this caller knows.
    let stranger = Authority::new();
    let other = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(stranger.pem()));
    let refused = asked(&worker, other).await.unwrap_err();
    assert!(refused.contains("UnknownIssuer") || refused.contains("BadSignature"), "{refused}");
    // Plaintext is no way in, either.
    let plain = channel(&format!("http://{}", worker.address)).await;
    if let Ok(plain) = plain {
        assert!(client(plain, TOKEN).list(wire::ListRequest {}).await.is_err());
    }
    worker.kill();
    let worker = start_tls(&world, &authority.issue(server(), Holds::NoLonger), &[]);
    let refused = asked(&worker, trusting).await.unwrap_err();
    assert!(refused.contains("Expired"), "{refused}");
}

#[tokio::test]
async fn with_a_client_ca_callers_must_show_a_certificate_too() {
    let (world, authority) = (World::new(), Authority::new());
    let ca = world.secret("ca.pem", &authority.pem());
    let server = authority.issue(ExtendedKeyUsagePurpose::ServerAuth, Holds::Now);
    let worker = start_tls(&world, &server, &["--client-ca", ca.to_str().unwrap()]);
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem()));
    assert!(asked(&worker, tls.clone()).await.is_err(), "the token alone opens nothing");
    let strange = Authority::new().issue(ExtendedKeyUsagePurpose::ClientAuth, Holds::Now);
    let strange = tls.clone().identity(Identity::from_pem(strange.0, strange.1));
    assert!(asked(&worker, strange).await.is_err());
    let known = authority.issue(ExtendedKeyUsagePurpose::ClientAuth, Holds::Now);
    let known = tls.identity(Identity::from_pem(known.0, known.1));
    assert!(asked(&worker, known).await.is_ok());
}

/// Starts a worker that must refuse to; what it says.
#[track_caller]
fn refusal(world: &World, arguments: &[&str]) -> String {
    let output = world.program(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
    assert!(said.starts_with("Error: ") && said.contains("\n  help: "), "{said}");
    assert!(!exists(&world.state), "nothing was touched: {said}");
    said
}

#[test]
fn what_is_not_safe_is_refused_before_anything_is_listened_to() {
    let world = World::new();
    let (token, state) = (world.path("token"), world.state.clone());
    let (token, state) = (token.to_str().unwrap(), state.to_str().unwrap());
    let serve = |more: &[&str]| {
        let mut words = vec!["serve", "--state-dir", state];
        words.extend(more);
        refusal(&world, &words)
    };
    let said = serve(&["--token-file", token, "--listen", "0.0.0.0:0"]);
    assert!(said.contains("without TLS") && said.contains("code: plaintext-refused"), "{said}");
    let said = serve(&["--token-file", "/nowhere/token"]);
    assert!(said.contains("code: bad-setup"), "{said}");
    let weak = world.secret("weak", "short\n");
    let said = serve(&["--token-file", weak.to_str().unwrap()]);
    assert!(said.contains("can be guessed") && !said.contains("short"), "{said}");
    let open = world.secret("open", TOKEN);
    fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
    let said = serve(&["--token-file", open.to_str().unwrap()]);
    assert!(said.contains("chmod 600") && !said.contains(TOKEN), "{said}");
    let (junk, key) = (world.secret("junk", "no certificate"), world.secret("key", "no key"));
    let tls = ["--tls-cert", junk.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let said = serve(&[&["--token-file", token][..], &tls].concat());
    assert!(said.contains("code: cannot-listen"), "{said}");
    let authority = Authority::new();
    let one = authority.issue(ExtendedKeyUsagePurpose::ServerAuth, Holds::Now);
    let two = authority.issue(ExtendedKeyUsagePurpose::ServerAuth, Holds::Now);
    let (cert, key) = (world.secret("c", &one.0), world.secret("k", &two.1));
    let tls = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let said = serve(&[&["--token-file", token][..], &tls].concat());
    assert!(said.contains("code: cannot-listen"), "a key of another certificate: {said}");
    let said = serve(&["--token-file", token, "--label", "gpu"]);
    assert!(said.contains("NAME=VALUE"), "{said}");
    let odd = world.path("odd folder");
    let arguments = ["serve", "--token-file", token, "--state-dir", odd.to_str().unwrap()];
    assert!(refusal(&world, &arguments).contains("other characters"));
}

#[test]
fn a_state_folder_is_its_users_alone() {
    let world = World::new();
    fs::create_dir(&world.state).unwrap();
    fs::set_permissions(&world.state, Permissions::from_mode(0o777)).unwrap();
    drop(world.start(&[]));
    let mode = fs::metadata(&world.state).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // Root is needed to have a folder of somebody else.
    std::os::unix::fs::chown(&world.state, Some(65_534), None).unwrap();
    let arguments = world.serving(&[]);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = world.program(&words).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("belongs to somebody else (uid 65534)"), "{said}");
    assert!(said.contains("code: bad-setup"), "{said}");
}

#[test]
fn one_state_folder_has_one_worker() {
    let world = World::new();
    let _first = world.start(&[]);
    let arguments = world.serving(&[]);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = world.program(&words).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("code: worker-running"), "{said}");
    let mode = fs::metadata(&world.state).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn systemd_is_told_when_calls_are_answered_and_of_the_end() {
    let world = World::new();
    let socket = world.path("notify");
    let heard = UnixDatagram::bind(&socket).unwrap();
    heard.set_read_timeout(Some(crate::world::DEADLINE)).unwrap();
    let arguments = world.serving(&[]);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = world.program(&words);
    command.env("NOTIFY_SOCKET", &socket);
    let worker = world.start_command(command);
    let next = || {
        let mut text = [0; 64];
        let length = heard.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    assert_eq!(next(), "READY=1");
    assert_eq!(worker.terminate().code(), Some(0));
    assert_eq!(next(), "STOPPING=1");
}

#[test]
fn whoever_says_nothing_keeps_no_place() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut stranger = TcpStream::connect(worker.address).unwrap();
    stranger.set_read_timeout(Some(crate::world::DEADLINE)).unwrap();
    let mut bytes = Vec::new();
    // The end of the file, or a reset: the door does not wait for more.
    let _either_way = stranger.read_to_end(&mut bytes);
    let mut probe = [0; 1];
    assert!(matches!(stranger.read(&mut probe), Ok(0) | Err(_)));
}

#[test]
fn check_says_what_works_and_what_to_do_about_the_rest() {
    let world = World::new();
    let (token, state) = (world.path("token"), world.state.clone());
    let ratchet = world.path("ratchet");
    let good = [
        "check",
        "--json",
        "--token-file",
        token.to_str().unwrap(),
        "--state-dir",
        state.to_str().unwrap(),
        "--ratchet",
        ratchet.to_str().unwrap(),
    ];
    let output = world.program(&good).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &found["ok"]), (Some(0), &true.into()), "{found:#}");
    let output = world
        .program(&["check", "--token-file", "/nowhere", "--listen", "0.0.0.0:1"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for line in ["✗ Token: cannot read /nowhere", "✗ TLS: without TLS", "Not ready."] {
        assert!(said.contains(line), "{line}:\n{said}");
    }
}
