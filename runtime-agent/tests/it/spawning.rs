//! Commands: what they find, what they leave, and that an id starts one at most once.

use std::fs;

use ratchet_proto::runtime::v1 as wire;
use ratchet_spawn::End;

use crate::project::{PROJECT, Project, placeholder, shell, variable};
use crate::told::Told;
use crate::world::{Client, World, code_of, exists, file, id, refused, until_async};

#[tokio::test]
async fn a_command_finds_its_project_and_what_it_was_given_and_its_work_comes_back() {
    let world = World::new();
    let env = world.secret("env", "AGENT_KEY=the-workers-own\n");
    let worker = world.start(&["--env-file", env.to_str().unwrap(), "--label", "gpu=none"]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    project.write("sub/file", "one\n");
    let snapshot = project.sent(&mut client).await;
    let script = "cat; cat $WHERE/hello; cat place-of-files-0001/policy; pwd; echo $AGENT_KEY; \
                  command -v ratchet; echo two >> file; mkdir -p cache; echo kept > cache/x; \
                  cat ../state-of-run/s; echo oops >&2; exit 3";
    let mut request = shell("s-1", snapshot, script);
    request.cwd = "sub".to_owned();
    request.stdin = Some("in place-of-workspace-0001\n".into());
    request.environment = vec![
        variable("WHERE", "place-of-workspace-0001"),
        variable("AGENT_KEY", "sent"),
        variable("PATH", "/nowhere"),
    ];
    request.files = vec![file("policy", "policy of place-of-workspace-0001\n")];
    request.workspace_files = vec![file("state-of-run/s", "state\n")];
    request.placeholders = vec![
        placeholder("place-of-workspace-0001", wire::Place::Workspace),
        placeholder("place-of-files-0001", wire::Place::Files),
    ];
    request.labels = vec![wire::Label { name: "step".to_owned(), value: "apply x".to_owned() }];
    let answer = client.spawn(request).await.unwrap().into_inner();
    assert!(!answer.found);

    let told = Told::whole(&mut client, "s-1").await;
    let at = &answer.workspace;
    let ratchet = world.state.join("bin/ratchet").display().to_string();
    let expected =
        format!("in {at}\nhello\npolicy of {at}\n{at}/sub\nthe-workers-own\n{ratchet}\nstate\n");
    assert_eq!(told.text(), expected);
    assert_eq!(told.errors, b"oops\n");
    assert_eq!(told.record().end, End::Exited { code: 3 });
    let came = project.fetched(&mut client, &told.snapshot(), snapshot, world.path("came")).await;
    assert_eq!(fs::read_to_string(came.join("sub/file")).unwrap(), "one\ntwo\n");
    assert!(!came.join("sub/cache").exists(), "what is ignored stays on the worker");
    let listed = client.list(wire::ListRequest {}).await.unwrap().into_inner().sessions;
    assert_eq!(listed[0].state(), wire::SessionState::Ended);
    assert_eq!(listed[0].labels[0].value, "apply x");
    let about = wire::CapabilitiesRequest { project: Some(PROJECT.to_owned()) };
    let about = client.capabilities(about).await.unwrap().into_inner();
    assert_eq!((about.workspaces, about.workspaces_in_use, about.running), (1, 0, 0));
    assert_eq!(about.labels[0].name, "gpu");
}

#[tokio::test]
async fn the_next_session_of_a_project_finds_the_caches_of_the_last_and_nothing_else() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.sent(&mut client).await;
    let script = "ls; mkdir -p cache; echo built > cache/x; echo new > left; echo changed > hello";
    client.spawn(shell("first", snapshot, script)).await.unwrap();
    assert_eq!(Told::whole(&mut client, "first").await.text(), "hello\n");
    client.spawn(shell("second", snapshot, "ls; cat hello cache/x")).await.unwrap();
    assert_eq!(Told::whole(&mut client, "second").await.text(), "cache\nhello\nhello\nbuilt\n");
}

#[tokio::test]
async fn sessions_of_one_project_that_run_at_a_time_share_no_workspace() {
    let world = World::new();
    let worker = world.start(&["--max-sessions", "6"]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.sent(&mut client).await;
    let script =
        "echo $N >> hello; touch $HERE$N; while ! [ -e $GO ]; do sleep 0.01; done; cat hello";
    for number in 0..6 {
        let mut request = shell(&format!("n-{number}"), snapshot, script);
        request.environment = vec![
            variable("N", number.to_string()),
            variable("HERE", world.path("here")),
            variable("GO", world.path("go")),
        ];
        client.spawn(request).await.unwrap();
    }
    let here = |number: &i32| exists(&world.path(&format!("here{number}")));
    until_async("all of them to run", || (0..6).all(|number| here(&number))).await;
    fs::write(world.path("go"), "").unwrap();
    for number in 0..6 {
        let told = Told::whole(&mut client, &format!("n-{number}")).await;
        assert_eq!(told.text(), format!("hello\n{number}\n"));
    }
    let about = wire::CapabilitiesRequest { project: Some(PROJECT.to_owned()) };
    assert_eq!(client.capabilities(about).await.unwrap().into_inner().workspaces, 6);
}

#[tokio::test]
async fn only_what_the_worker_lacks_has_to_travel() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let first = project.sent(&mut client).await;
    let ask = |ids: Vec<String>| wire::FindSnapshotsRequest {
        project: PROJECT.to_owned(),
        snapshots: ids,
    };
    let unknown = "1".repeat(40);
    let asked = ask(vec![unknown.clone(), first.to_string()]);
    let found = client.find_snapshots(asked).await.unwrap().into_inner().found;
    assert_eq!(found, [first.to_string()]);
    // One that it has already comes again without a byte.
    let again = project.messages(first, &[first]);
    let answer = client.put_snapshot(tokio_stream::iter(again)).await.unwrap().into_inner();
    assert!(answer.received_bytes < 100, "{}", answer.received_bytes);
    let nowhere = wire::GetSnapshotRequest {
        project: PROJECT.to_owned(),
        snapshot: unknown,
        have: Vec::new(),
    };
    assert_eq!(code_of(client.get_snapshot(nowhere).await), "snapshot-not-found");
    let elsewhere = wire::SpawnRequest { project: "other".to_owned(), ..shell("s", first, "true") };
    assert_eq!(code_of(client.spawn(elsewhere).await), "snapshot-not-found");
}

#[tokio::test]
async fn the_same_request_finds_the_first_and_another_one_with_its_id_is_refused() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.sent(&mut client).await;
    let log = world.path("starts");
    let mut request = shell("one", snapshot, "echo started >> $LOG; cat hello");
    request.environment = vec![variable("LOG", &log)];
    // All at once, from several clients.
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (request, mut client) = (request.clone(), client.clone());
            tokio::spawn(async move { client.spawn(request).await.unwrap().into_inner().found })
        })
        .collect();
    let mut found = 0;
    for call in calls {
        found += usize::from(call.await.unwrap());
    }
    assert_eq!(found, 7, "one call starts it");
    Told::whole(&mut client, "one").await;
    assert!(client.spawn(request.clone()).await.unwrap().into_inner().found);
    let other = wire::SpawnRequest { argv: vec!["true".into()], ..request.clone() };
    assert_eq!(code_of(client.spawn(other).await), "spawn-differs");
    assert_eq!(world.lines("starts").len(), 1);

    // Released, it is gone and never comes again, also after a restart.
    let release = wire::ReleaseRequest { id: id("one") };
    assert!(client.release(release.clone()).await.unwrap().into_inner().known);
    assert!(!client.release(release).await.unwrap().into_inner().known);
    let nobody = wire::AttachRequest { id: id("one"), ..Default::default() };
    assert_eq!(code_of(client.attach(nobody).await), "session-not-found");
    assert_eq!(code_of(client.spawn(request.clone()).await), "spawn-released");
    worker.kill();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    assert_eq!(code_of(client.spawn(request).await), "spawn-released");
    assert_eq!(world.lines("starts").len(), 1);
    let left: Vec<_> = ["sessions", "spawns"].map(|folder| world.state.join(folder)).to_vec();
    for folder in left {
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{}", folder.display());
    }
}

#[tokio::test]
async fn what_cannot_begin_leaves_nothing_and_may_come_again() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.snapshot();
    let request = shell("later", snapshot, "cat hello");
    assert_eq!(code_of(client.spawn(request.clone()).await), "snapshot-not-found");
    assert!(client.list(wire::ListRequest {}).await.unwrap().into_inner().sessions.is_empty());
    project.put(&mut client, snapshot).await.unwrap();
    assert!(!client.spawn(request).await.unwrap().into_inner().found);
    assert_eq!(Told::whole(&mut client, "later").await.text(), "hello\n");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_end_and_not_an_error() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    let request =
        wire::SpawnRequest { argv: vec!["no-such-agent".into()], ..shell("s", snapshot, "") };
    client.spawn(request).await.unwrap();
    let told = Told::whole(&mut client, "s").await;
    assert!(matches!(told.record().end, End::NotStarted { code: 127, .. }), "{told:?}");
}

/// A command that runs until the file comes.
async fn held(world: &World, client: &mut Client, id: &str, project: &Project) {
    let snapshot = project.snapshot();
    let mut request = shell(id, snapshot, "echo started; while ! [ -e $GO ]; do sleep 0.01; done");
    request.environment = vec![variable("GO", world.path("go"))];
    client.spawn(request).await.unwrap();
}

#[tokio::test]
async fn a_worker_that_is_full_or_draining_says_so_and_runs_what_it_has() {
    let world = World::new();
    let worker = world.start(&["--max-sessions", "2"]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.sent(&mut client).await;
    held(&world, &mut client, "one", &project).await;
    held(&world, &mut client, "two", &project).await;
    let full = refused(client.spawn(shell("three", snapshot, "true")).await);
    assert_eq!(full.code, "worker-full");
    assert!(full.message.contains("2 of 2"), "{}", full.message);
    assert!(full.help.is_some());
    let busy = wire::ReleaseRequest { id: id("one") };
    assert_eq!(code_of(client.release(busy).await), "session-running");
    let drain = |mode: wire::DrainMode| wire::DrainRequest { mode: mode.into() };
    let left = client.drain(drain(wire::DrainMode::Drain)).await.unwrap().into_inner();
    assert_eq!((left.running, left.unreleased), (2, 0));
    assert_eq!(code_of(client.spawn(shell("three", snapshot, "true")).await), "worker-draining");
    fs::write(world.path("go"), "").unwrap();
    for id in ["one", "two"] {
        assert_eq!(Told::whole(&mut client, id).await.text(), "started\n");
    }
    client.drain(drain(wire::DrainMode::Resume)).await.unwrap();
    client.spawn(shell("three", snapshot, "echo three")).await.unwrap();
    assert_eq!(Told::whole(&mut client, "three").await.text(), "three\n");
}

#[tokio::test]
async fn a_stop_ends_everything_that_a_command_has_started() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.sent(&mut client).await;
    let mut request = shell(
        "s",
        snapshot,
        "trap '' TERM; (setsid sh -c 'echo $$ > $OUT.pid; mv $OUT.pid $OUT; sleep 1000' &); sleep 1000",
    );
    request.environment = vec![variable("OUT", world.path("child"))];
    client.spawn(request).await.unwrap();
    until_async("the child to be there", || exists(&world.path("child"))).await;
    let stop = |by: &str| wire::StopRequest { id: id("s"), by: by.to_owned(), grace_ms: Some(10) };
    assert_eq!(code_of(client.stop(stop("a\nb")).await), "bad-request");
    client.stop(stop("the test")).await.unwrap();
    let told = Told::whole(&mut client, "s").await;
    assert!(matches!(&told.record().end, End::Stopped { by, .. } if by == "the test"), "{told:?}");
    let child = world.lines("child").remove(0);
    assert!(!exists(format!("/proc/{child}").as_ref()), "the child lives");
    client.stop(stop("again")).await.unwrap();
}

#[tokio::test]
async fn a_request_for_a_ratchet_needs_one() {
    let world = World::new();
    fs::remove_file(world.path("ratchet")).unwrap();
    let mut arguments = world.serving(&[]);
    let at = arguments.iter().position(|word| word == "--ratchet").unwrap();
    arguments.drain(at..at + 2);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = world.program(&words);
    command.env("PATH", "/usr/bin:/bin");
    let worker = world.start_command(command);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    let mut request = shell("s", snapshot, "true");
    request.placeholders = vec![placeholder("place-of-ratchet-0001", wire::Place::Ratchet)];
    let beside =
        std::path::Path::new(env!("CARGO_BIN_EXE_runtime-agent")).with_file_name("ratchet");
    if exists(&beside) {
        // This build has one beside the worker: then it is that one.
        client.spawn(request).await.unwrap();
    } else {
        assert_eq!(code_of(client.spawn(request).await), "worker-without-ratchet");
    }
}
