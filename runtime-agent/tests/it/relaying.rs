//! Reports: lines of named files, once and in order, whatever happens to the line, the caller or the file.

use ratchet_proto::runtime::v1 as wire;

use crate::project::{Project, relay, shell, variable};
use crate::told::{Listen, Told};
use crate::world::{World, code_of, file, id};

#[tokio::test]
async fn lines_come_while_the_command_runs_and_what_was_there_before_does_not() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    let script = "cat .ratchet/run/j; for i in 1 2 3; do echo entry $i >> .ratchet/run/j; \
                  echo other $i >> log; while ! [ -e $GO$i ]; do sleep 0.01; done; done; printf torn >> log";
    let mut request = shell("s", snapshot, script);
    request.relays = vec![relay(".ratchet/run/j", "before\n"), relay("log", "")];
    request.environment = vec![variable("GO", world.path("go"))];
    client.spawn(request).await.unwrap();
    let mut told = Told::default();
    for step in 1..=3 {
        let listening = told.listen(&mut client, "s", |told| {
            if told.entries.len() == 2 * step { Listen::Enough } else { Listen::On }
        });
        listening.await.unwrap();
        let sequence = told.sequences.last().copied().unwrap();
        let acknowledge = wire::AcknowledgeRequest { id: id("s"), sequence };
        client.acknowledge(acknowledge).await.unwrap();
        std::fs::write(world.path(&format!("go{step}")), "").unwrap();
    }
    told.go_on(&mut client, "s").await.unwrap();
    told.assert_in_order();
    let mut entries = told.entries.clone();
    entries.sort();
    let expected = ["entry 1", "entry 2", "entry 3", "other 1", "other 2", "other 3"];
    assert_eq!(entries, expected);
    assert_eq!(told.text(), "before\n");
    assert_eq!(told.ended.as_ref().unwrap().entries, 6);
    let listed = client.list(wire::ListRequest {}).await.unwrap().into_inner().sessions;
    assert_eq!(listed[0].unacknowledged, 0);
}

#[tokio::test]
async fn a_caller_that_comes_late_or_again_gets_what_it_lacks_and_nothing_twice() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    let mut request = shell("s", snapshot, "seq 1000 | while read i; do echo e$i >> j; done");
    request.relays = vec![relay("j", "")];
    client.spawn(request).await.unwrap();
    let whole = Told::whole(&mut client, "s").await;
    whole.assert_in_order();
    let expected: Vec<String> = (1..=1000).map(|number| format!("e{number}")).collect();
    assert_eq!(whole.entries, expected);
    for known in [0_u64, 1, 500, 999, 1000] {
        let mut late = Told { sequences: (1..=known).collect(), ..Told::default() };
        late.go_on(&mut client, "s").await.unwrap();
        late.assert_in_order();
        assert_eq!(late.entries, expected[usize::try_from(known).unwrap()..]);
    }
}

#[tokio::test]
async fn a_command_that_throws_its_journal_away_loses_no_line_that_was_relayed() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    let script = "echo one >> run/j; while ! [ -e $GO ]; do sleep 0.01; done; rm -r run; \
                  mkdir run; echo two >> run/j; cp run/j run/k; echo three >> run/k; mv run/k run/j";
    let mut request = shell("s", snapshot, script);
    request.relays = vec![relay("run/j", "before\n")];
    request.environment = vec![variable("GO", world.path("go"))];
    client.spawn(request).await.unwrap();
    let mut told = Told::default();
    let listening = told.listen(&mut client, "s", |told| {
        if told.entries.is_empty() { Listen::On } else { Listen::Enough }
    });
    listening.await.unwrap();
    std::fs::write(world.path("go"), "").unwrap();
    told.go_on(&mut client, "s").await.unwrap();
    told.assert_in_order();
    assert_eq!(told.entries, ["one", "two", "three"]);
}

#[tokio::test]
async fn a_journal_that_is_no_file_beneath_the_workspace_is_refused_or_not_read() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    world.secret("outside", "secret\n");
    std::os::unix::fs::symlink(world.path(""), project.root().join("way")).unwrap();
    let snapshot = project.sent(&mut client).await;
    for path in ["../outside", "/etc/passwd", ".git/x", ""] {
        let mut request = shell("s", snapshot, "true");
        request.relays = vec![relay(path, "")];
        assert_eq!(code_of(client.spawn(request).await), "bad-request", "{path}");
        let mut request = shell("s", snapshot, "true");
        request.workspace_files = vec![file(path, "x")];
        assert_eq!(code_of(client.spawn(request).await), "bad-request", "{path}");
    }
    // A link that came with the snapshot is not gone through.
    let mut request = shell("s", snapshot, "true");
    request.workspace_files = vec![file("way/outside", "x")];
    assert_eq!(code_of(client.spawn(request).await), "file-error");
    let mut request = shell("s", snapshot, "rm -rf run; ln -s $OUT run");
    request.relays = vec![relay("run/outside", "")];
    request.environment = vec![variable("OUT", world.path(""))];
    client.spawn(request).await.unwrap();
    let told = Told::whole(&mut client, "s").await;
    assert!(told.entries.is_empty(), "{:?}", told.entries);
    assert_eq!(world.lines("outside"), ["secret"]);
}
