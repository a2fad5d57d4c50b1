//! Who must not come in, and who comes in and behaves badly: other users, half-open clients, garbage, requests of any size.
//! Root is needed to be somebody else.

#![expect(clippy::unwrap_used, reason = "all of this is a test's")]

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use ratchet_proto::status::from_status;
use ratchet_proto::supervisor::v1 as wire;
use ratchet_supervisor::grpc::service::Ending;
use ratchet_tests::{Action, Script, TestEnv};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::held::begin;
use super::hosted::{Hosted, apply, code, connect, marked, project};
use crate::shop;

const NOBODY: u32 = 65_534;
const GROUP: u32 = 54_321;

/// Opens the way to the socket: as if somebody had been careless.
fn open_the_way(env: &TestEnv) {
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&env.base(), 0o755);
    mode(&env.base().join("run"), 0o755);
    mode(env.socket().parent().unwrap(), 0o755);
    mode(&env.socket(), 0o666);
}

/// Makes calls on a thread that belongs to another user, and so does all that it does.
fn as_somebody_else<T: Send>(group: u32, calls: impl AsyncFnOnce() -> T + Send) -> T {
    let somebody = || {
        set_thread_groups(&[]).unwrap();
        set_thread_gid(Gid::from_raw(group)).unwrap();
        set_thread_uid(Uid::from_raw(NOBODY)).unwrap();
        // The connection is made on this very thread.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(calls())
    };
    std::thread::scope(|scope| scope.spawn(somebody).join().unwrap())
}

async fn info(env: &TestEnv) -> Result<wire::InfoResponse, Status> {
    Ok(connect(env).await.info(marked(wire::InfoRequest {})).await?.into_inner())
}

#[test]
fn a_process_of_another_user_is_refused_even_if_it_can_reach_the_socket() {
    let env = shop();
    let _hosted = Hosted::start(&env, 1);
    let path = env.socket();
    as_somebody_else(GROUP, async || {
        let closed = UnixStream::connect(&path).unwrap_err();
        assert_eq!(closed.kind(), std::io::ErrorKind::PermissionDenied);
    });
    open_the_way(&env);
    as_somebody_else(GROUP, async || {
        let refused = info(&env).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        let detail = from_status(&refused);
        assert_eq!(detail.code, "not-allowed");
        assert!(detail.message.contains("65534"), "{detail:?}");
        assert!(detail.help.unwrap().contains("ratchet supervisor run"));
    });
}

#[test]
fn a_process_of_the_group_may_call_and_may_bring_no_environment() {
    let env = shop();
    let _hosted = Hosted::start_with(&env, 1, |options| options.group = Some(GROUP));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&env.socket()), 0o660);
    assert_eq!(mode(env.socket().parent().unwrap()), 0o710);
    for folder in [env.base(), env.base().join("run")] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = env.socket();
    as_somebody_else(NOBODY, async || {
        UnixStream::connect(&path).unwrap_err();
    });
    as_somebody_else(GROUP, async || {
        info(&env).await.unwrap();
        let mut client = connect(&env).await;
        let asked = apply(project(&env, "true"), "shop");
        let refused = client.apply(marked(asked)).await.unwrap_err();
        assert_eq!(
            (refused.code(), code(&refused).as_str()),
            (Code::InvalidArgument, "bad-request")
        );
        let status = wire::StatusRequest {
            project: Some(wire::Project { environment: None, ..project(&env, "true") }),
            batch: "shop".to_owned(),
        };
        client.status(marked(status)).await.unwrap();
    });
    assert_eq!(env.agent_runs(), 0);
}

#[test]
fn a_thousand_clients_and_as_many_that_say_nothing_leave_room_for_one_more() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let beginnings: [&[u8]; 4] =
        [b"", b"PRI * HTTP", b"GET / HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12"];
    let silent: Vec<_> = (0..1000)
        .map(|number| {
            let mut stream = UnixStream::connect(env.socket()).unwrap();
            stream.write_all(beginnings[number % 4]).unwrap();
            stream
        })
        .collect();
    hosted.call(async {
        let mut calls = tokio::task::JoinSet::new();
        let mut clients = Vec::new();
        for _ in 0..1000 {
            let client = connect(&env).await;
            clients.push(client.clone());
            let mut client = client;
            calls.spawn(async move { client.info(marked(wire::InfoRequest {})).await.unwrap() });
        }
        assert_eq!(calls.join_all().await.len(), 1000);
        info(&env).await.unwrap();
        drop(clients);
    });
    drop(silent);
}

#[test]
fn garbage_is_answered_with_the_end_of_the_connection() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    for garbage in [&b"\x16\x03\x01 hello"[..], &[0; 64], &[255; 4096]] {
        let mut stream = UnixStream::connect(env.socket()).unwrap();
        // The other side may have closed it already.
        let _ = stream.write_all(garbage);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
    }
    hosted.call(async { info(&env).await.unwrap() });
}

#[test]
fn a_request_of_any_size_is_refused_and_harms_nobody() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    hosted.call(async {
        let mut client = connect(&env).await;
        let huge = "x".repeat(8 << 20);
        let refused = client.apply(marked(apply(project(&env, &huge), "shop"))).await.unwrap_err();
        assert!(!refused.message().is_empty(), "{refused:?}");
        assert!(
            matches!(refused.code(), Code::OutOfRange | Code::ResourceExhausted),
            "{refused:?}"
        );
        info(&env).await.unwrap();
        let long = "b".repeat(1 << 20);
        let refused = client.apply(marked(apply(project(&env, "true"), &long))).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{}", refused.code());
    });
}

#[test]
fn whoever_listens_hears_that_the_supervisor_drains_and_then_that_it_is_gone() {
    let env = shop();
    let hosted = Hosted::start(&env, 1);
    let agent = env.agent(&Script::always([Action::write("here", ""), Action::Hang]));
    let (watching, listening) = hosted.call(async {
        let mut client = connect(&env).await;
        let listening = begin(&env, &mut client, &agent).await;
        let place = format!("unix:{}", env.socket().display());
        let channel = tonic::transport::Endpoint::from_shared(place).unwrap().connect().await;
        let service = "ratchet.supervisor.v1.SupervisorService".to_owned();
        let mut health = HealthClient::new(channel.unwrap());
        let request = HealthCheckRequest { service };
        let mut told = health.watch(request).await.unwrap().into_inner();
        assert_eq!(told.message().await.unwrap().unwrap().status, 1, "serving");
        let request = wire::StopRequest { mode: wire::StopMode::Drain.into(), drain_ms: 0 };
        client.stop(marked(request)).await.unwrap();
        assert_eq!(told.message().await.unwrap().unwrap().status, 2, "not serving");
        let watch =
            wire::WatchRequest { project: Some(project(&env, &agent)), batch: "shop".to_owned() };
        let watching = client.watch(marked(watch)).await.unwrap().into_inner();
        (watching, listening)
    });
    let ended = hosted.end_under(Ending::Leave, async {
        let mut watching = watching;
        loop {
            if let Err(status) = watching.message().await {
                break status;
            }
        }
    });
    assert_eq!((ended.code(), code(&ended).as_str()), (Code::Unavailable, "supervisor-stopping"));
    drop(listening);
}
