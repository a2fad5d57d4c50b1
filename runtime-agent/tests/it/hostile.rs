//! Callers with the token and bad intentions: what could leave the state folder, weigh too much, or name what is none.

use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::put_snapshot_request::Message;
use tonic::Code;

use crate::project::{PROJECT, Project, placeholder, shell};
use crate::told::Told;
use crate::world::{World, code_of, file};

fn start(project: &str, snapshot: &str) -> wire::PutSnapshotRequest {
    let start = wire::PutSnapshotStart {
        project: project.to_owned(),
        snapshot: snapshot.to_owned(),
        pack_bytes: 0,
    };
    wire::PutSnapshotRequest { message: Some(Message::Start(start)) }
}

fn chunk(bytes: Vec<u8>) -> wire::PutSnapshotRequest {
    wire::PutSnapshotRequest { message: Some(Message::Chunk(bytes.into())) }
}

#[tokio::test]
async fn odd_names_and_paths_are_refused_and_nothing_is_made_of_them() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.sent(&mut client).await;
    let base = || shell("s", snapshot, "true");
    let odd = [
        wire::SpawnRequest { id: "../../x".to_owned(), ..base() },
        wire::SpawnRequest { id: String::new(), ..base() },
        wire::SpawnRequest { id: "x".repeat(200), ..base() },
        wire::SpawnRequest { project: "../shop".to_owned(), ..base() },
        wire::SpawnRequest { snapshot: "--upload-pack=x".to_owned(), ..base() },
        wire::SpawnRequest { cwd: "../..".to_owned(), ..base() },
        wire::SpawnRequest { cwd: "/".to_owned(), ..base() },
        wire::SpawnRequest { argv: Vec::new(), ..base() },
        wire::SpawnRequest { files: vec![file("../session.json", "x")], ..base() },
        wire::SpawnRequest { workspace_files: vec![file("a/../../b", "x")], ..base() },
        wire::SpawnRequest {
            workspace_files: vec![file(".git/hooks/post-checkout", "x")],
            ..base()
        },
        wire::SpawnRequest {
            placeholders: vec![placeholder("s", wire::Place::Workspace)],
            ..base()
        },
        wire::SpawnRequest {
            labels: vec![wire::Label { name: "a".to_owned(), value: "\u{1b}[31m".to_owned() }],
            ..base()
        },
    ];
    for request in odd {
        let shown = format!("{request:?}");
        assert_eq!(code_of(client.spawn(request).await), "bad-request", "{shown}");
    }
    assert!(client.list(wire::ListRequest {}).await.unwrap().into_inner().sessions.is_empty());
    for name in ["..", "a/b", "", ".hidden", "x.lock"] {
        let messages = [start(name, &snapshot.to_string())];
        let answer = client.put_snapshot(tokio_stream::iter(messages)).await;
        assert_eq!(code_of(answer), "bad-request", "{name:?}");
    }
    let projects = std::fs::read_dir(world.state.join("projects")).unwrap().count();
    assert_eq!(projects, 1);
}

#[tokio::test]
async fn a_pack_that_is_none_is_refused_and_the_worker_goes_on() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.snapshot();
    let id = snapshot.to_string();
    let whole = project.messages(snapshot, &[]);
    let mut half = whole.clone();
    if let Some(Message::Chunk(bytes)) = &mut half.last_mut().unwrap().message {
        bytes.truncate(bytes.len() / 2);
    }
    let junk = vec![start(PROJECT, &id), chunk(vec![7; 50_000])];
    let other = vec![start(PROJECT, &"1".repeat(40)), whole[1].clone()];
    for (what, messages, code) in [
        ("half a pack", half, "snapshot-refused"),
        ("no pack", junk, "snapshot-refused"),
        ("another snapshot's pack", other, "snapshot-not-found"),
        (
            "a piece that is too large",
            vec![start(PROJECT, &id), chunk(vec![0; 70_000])],
            "bad-request",
        ),
        ("two beginnings", vec![start(PROJECT, &id), start(PROJECT, &id)], "bad-request"),
        ("no beginning", vec![chunk(vec![1])], "bad-request"),
        ("nothing", Vec::new(), "bad-request"),
    ] {
        let answer = client.put_snapshot(tokio_stream::iter(messages)).await;
        assert_eq!(code_of(answer), code, "{what}");
    }
    project.put(&mut client, snapshot).await.unwrap();
    client.spawn(shell("s", snapshot, "cat hello")).await.unwrap();
    assert_eq!(Told::whole(&mut client, "s").await.text(), "hello\n");
}

#[tokio::test]
async fn a_snapshot_beyond_the_quota_is_refused() {
    let world = World::new();
    let worker = world.start(&["--workspace-quota", "100K"]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let noise: String = (0..300_000).map(|_| fastrand::alphanumeric()).collect();
    project.write("large", &noise);
    let snapshot = project.snapshot();
    let answer = project.put(&mut client, snapshot).await;
    assert_eq!(code_of(answer), "snapshot-too-large");
}

#[tokio::test]
async fn a_message_that_weighs_too_much_is_refused_and_the_line_holds() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    let mut request = shell("s", snapshot, "wc -c");
    request.stdin = Some(vec![b'x'; 17 * 1024 * 1024].into());
    let refused = client.spawn(request.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused:?}");
    request.stdin = Some(vec![b'x'; 10 * 1024 * 1024].into());
    client.spawn(request).await.unwrap();
    assert_eq!(Told::whole(&mut client, "s").await.text().trim(), "10485760");
}
