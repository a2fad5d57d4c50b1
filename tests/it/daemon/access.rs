//! Who may call, and in which language.

use std::os::unix::fs::PermissionsExt as _;

use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::supervisor_service_client::SupervisorServiceClient;
use ratchet_supervisor::daemon::DaemonError;
use ratchet_supervisor::grpc::listen::{ListenError, Tls};
use secrecy::SecretString;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;

use super::hosted::{Hosted, apply, code, connect, marked, project};
use crate::shop;

#[test]
fn the_socket_and_its_folder_are_for_this_user_alone() {
    let env = shop();
    let _hosted = Hosted::start(&env, 1);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&env.socket()), 0o600);
    assert_eq!(mode(env.socket().parent().unwrap()), 0o700);
}

#[test]
fn a_folder_that_others_can_reach_is_refused() {
    let env = shop();
    let folder = env.base().join("run/ratchet");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let refused = Hosted::try_start(&env, 1, |_| {}).err();
    assert!(
        matches!(refused, Some(DaemonError::Listen(ListenError::OpenFolder { .. }))),
        "{refused:?}"
    );
    assert!(!env.socket().exists());
}

#[test]
fn two_supervisors_never_share_a_socket_and_a_dead_ones_is_taken_over() {
    let env = shop();
    let first = Hosted::start(&env, 1);
    let second = Hosted::try_start(&env, 1, |_| {}).err();
    assert!(
        matches!(second, Some(DaemonError::Listen(ListenError::AlreadyThere { .. }))),
        "{second:?}"
    );
    first.call(async { connect(&env).await.info(marked(wire::InfoRequest {})).await.unwrap() });
    first.kill();
    let third = Hosted::start(&env, 1);
    third.call(async { connect(&env).await.info(marked(wire::InfoRequest {})).await.unwrap() });
}

#[test]
fn another_protocol_is_refused_before_anything_is_done() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let mut client = connect(&env).await;
        let mut request = Request::new(apply(project(&env, "true"), "shop"));
        request.metadata_mut().insert("ratchet-protocol", "2".parse().unwrap());
        let refused = client.apply(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert_eq!(code(&refused), "protocol-mismatch");
        assert!(env.journal("shop").is_empty());
    });
}

#[test]
fn over_the_network_there_is_tls_and_a_token_and_no_environment() {
    let env = shop();
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = issued.cert.pem();
    let hosted = Hosted::start_with(&env, 1, |options| {
        let tls = Tls {
            cert: certificate.clone().into_bytes(),
            key: SecretString::from(issued.signing_key.serialize_pem()),
            token: SecretString::from("a-long-token").into(),
        };
        options.tcp = Some(("127.0.0.1:0".parse().unwrap(), tls));
    });
    hosted.call(async {
        let mut local = connect(&env).await;
        let info = local.info(marked(wire::InfoRequest {})).await.unwrap().into_inner();
        let place = info.listeners.iter().find(|place| place.starts_with("https:")).unwrap();
        let port = place.rsplit(':').next().unwrap();
        let ca = Certificate::from_pem(&certificate);
        let channel = Endpoint::from_shared(format!("https://localhost:{port}"))
            .unwrap()
            .tls_config(ClientTlsConfig::new().ca_certificate(ca))
            .unwrap()
            .connect()
            .await
            .unwrap();
        let mut client = SupervisorServiceClient::new(channel);
        let with = |token: Option<&str>| {
            let mut request = marked(wire::InfoRequest {});
            if let Some(token) = token {
                let value = format!("Bearer {token}").parse().unwrap();
                request.metadata_mut().insert("authorization", value);
            }
            request
        };
        for wrong in [None, Some("another-token"), Some("")] {
            let refused = client.info(with(wrong)).await.unwrap_err();
            assert_eq!(
                (refused.code(), code(&refused).as_str()),
                (Code::Unauthenticated, "bad-token")
            );
        }
        client.info(with(Some("a-long-token"))).await.unwrap();
        let mut request = marked(apply(project(&env, "true"), "shop"));
        request.metadata_mut().insert("authorization", "Bearer a-long-token".parse().unwrap());
        let refused = client.apply(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);

        let plain = Endpoint::from_shared(format!("http://localhost:{port}")).unwrap();
        let mut client = SupervisorServiceClient::new(plain.connect_lazy());
        client.info(with(Some("a-long-token"))).await.unwrap_err();
    });
}

#[test]
fn health_and_reflection_answer_on_the_same_socket() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let place = format!("unix:{}", env.socket().display());
        let channel = Endpoint::from_shared(place).unwrap().connect().await.unwrap();
        let service = "ratchet.supervisor.v1.SupervisorService".to_owned();
        let request = HealthCheckRequest { service: service.clone() };
        let health = HealthClient::new(channel.clone()).check(request).await.unwrap();
        assert_eq!(health.into_inner().status, 1, "serving");
        let list = MessageRequest::ListServices(String::new());
        let request = ServerReflectionRequest { host: String::new(), message_request: Some(list) };
        let asked = tokio_stream::once(request);
        let mut answers = ServerReflectionClient::new(channel)
            .server_reflection_info(asked)
            .await
            .unwrap()
            .into_inner();
        let answer = format!("{:?}", answers.message().await.unwrap());
        assert!(answer.contains(&service), "{answer}");
    });
}
