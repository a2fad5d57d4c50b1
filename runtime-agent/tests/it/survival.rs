//! The worker dies at any instant, and the next one goes on: one start, the whole output, every entry once.

use std::fs;
use std::time::Duration;

use ratchet_proto::runtime::v1 as wire;
use ratchet_spawn::End;
use ratchet_workspace::SnapshotId;

use crate::project::{Project, relay, shell, variable};
use crate::told::{Listen, Told};
use crate::world::{World, id, until_async};

/// How often it is killed in one test.
const ROUNDS: usize = 12;

/// A command that is long enough to be killed under: it prints and reports a hundred times.
fn long(world: &World, name: &str, snapshot: SnapshotId) -> wire::SpawnRequest {
    let script = "echo $ID >> $LOG; i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i; \
                  echo entry $i >> run/j; sleep 0.01; done; echo done > result; head -c 100000 /dev/zero";
    let mut request = shell(name, snapshot, script);
    request.relays = vec![relay("run/j", "")];
    request.environment =
        vec![variable("LOG", world.path("starts")), variable("ID", name), variable("SAID", "x")];
    request
}

fn expected() -> (Vec<u8>, Vec<String>) {
    let lines: String = (1..=100).map(|number| format!("line {number}\n")).collect();
    let mut output = lines.into_bytes();
    output.resize(output.len() + 100_000, 0);
    (output, (1..=100).map(|number| format!("entry {number}")).collect())
}

#[tokio::test]
async fn a_worker_that_is_killed_at_random_instants_starts_once_and_loses_nothing() {
    let world = World::new();
    let project = Project::new(&world);
    let snapshot = project.snapshot();
    let worker = world.start(&[]);
    project.put(&mut worker.client().await, snapshot).await.unwrap();
    drop(worker);
    let dice = fastrand::Rng::with_seed(fastrand::u64(..));
    let seed = dice.get_seed();
    let mut dice = dice;
    let mut whole = 0;
    for round in 0..ROUNDS {
        let name = format!("s-{round}");
        let mut told = Told::default();
        let mut lives = 0;
        loop {
            let worker = world.start(&[]);
            lives += 1;
            let instant = Duration::from_millis(dice.u64(0..700));
            // The supervisor's part: spawn, which may be repeated, and attach, until there is an end.
            let part = async {
                let mut client = worker.client().await;
                client.spawn(long(&world, &name, snapshot)).await?;
                told.go_on(&mut client, &name).await
            };
            let ended = if lives > 3 {
                part.await.unwrap();
                true
            } else {
                matches!(tokio::time::timeout(instant, part).await, Ok(Ok(())))
            };
            worker.kill();
            if ended {
                break;
            }
        }
        if told.was_abandoned() {
            told.assert_nothing_ran(&world, &name);
            continue;
        }
        let (output, entries) = expected();
        assert!(told.output == output, "seed {seed}, round {round}: {} bytes", told.output.len());
        assert_eq!(told.entries, entries, "seed {seed}, round {round}");
        told.assert_in_order();
        assert_eq!(told.record().end, End::Exited { code: 0 });
        let starts = world.lines("starts");
        assert_eq!(
            starts.iter().filter(|line| **line == name).count(),
            1,
            "seed {seed}: {starts:?}"
        );
        // What it left is there for whoever comes next.
        let worker = world.start(&[]);
        let mut client = worker.client().await;
        let came =
            project.fetched(&mut client, &told.snapshot(), snapshot, world.path(&name)).await;
        assert_eq!(fs::read_to_string(came.join("result")).unwrap(), "done\n");
        let again = Told::whole(&mut client, &name).await;
        assert_eq!((again.output, again.ended), (told.output, told.ended));
        client.release(wire::ReleaseRequest { id: id(&name) }).await.unwrap();
        whole += 1;
    }
    // To be killed in just that moment is rare.
    assert!(2 * whole > ROUNDS, "seed {seed}: {whole} of {ROUNDS} ran");
}

/// The short moments: while a workspace is laid out, while a shim comes up, while a result is taken.
#[tokio::test]
async fn a_worker_that_is_killed_while_a_session_begins_or_ends_goes_on_with_it() {
    let world = World::new();
    let project = Project::new(&world);
    let snapshot = project.snapshot();
    let worker = world.start(&[]);
    project.put(&mut worker.client().await, snapshot).await.unwrap();
    drop(worker);
    for round in 0..30_u64 {
        let name = format!("b-{round}");
        let mut request =
            shell(&name, snapshot, "echo $ID >> $LOG; echo out; echo in >> j; echo new > new");
        request.relays = vec![relay("j", "")];
        request.environment = vec![variable("LOG", world.path("starts")), variable("ID", &name)];
        // The instants are spread over what a whole session takes.
        let worker = world.start(&[]);
        let part = async {
            let mut client = worker.client().await;
            client.spawn(request.clone()).await?;
            Told::default().go_on(&mut client, &name).await
        };
        let _cut_off = tokio::time::timeout(Duration::from_millis(round * 5), part).await;
        worker.kill();

        let worker = world.start(&[]);
        let mut client = worker.client().await;
        client.spawn(request).await.unwrap();
        let told = Told::whole(&mut client, &name).await;
        let starts = world.lines("starts").iter().filter(|line| **line == name).count();
        if told.was_abandoned() {
            told.assert_nothing_ran(&world, &name);
        } else {
            assert_eq!((starts, told.text().as_str()), (1, "out\n"), "round {round}");
            assert_eq!(told.entries, ["in"], "round {round}");
            let to = world.path(&name);
            let came = project.fetched(&mut client, &told.snapshot(), snapshot, to).await;
            assert_eq!(fs::read_to_string(came.join("new")).unwrap(), "new\n");
        }
        client.release(wire::ReleaseRequest { id: id(&name) }).await.unwrap();
        worker.kill();
    }
}

#[tokio::test]
async fn a_command_that_ends_while_there_is_no_worker_is_concluded_by_the_next() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.sent(&mut client).await;
    let mut request = shell(
        "s",
        snapshot,
        "echo $$ > $PID; while ! [ -e $GO ]; do sleep 0.01; done; echo x >> j; echo out; echo new > new",
    );
    request.relays = vec![relay("j", "")];
    request.environment =
        vec![variable("GO", world.path("go")), variable("PID", world.path("pid"))];
    client.spawn(request).await.unwrap();
    until_async("the command to run", || !world.lines("pid").is_empty()).await;
    worker.kill();
    fs::write(world.path("go"), "").unwrap();
    let pid = world.lines("pid").remove(0);
    until_async("the command to be gone", move || {
        !crate::world::exists(format!("/proc/{pid}").as_ref())
    })
    .await;
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let told = Told::whole(&mut client, "s").await;
    assert_eq!((told.text().as_str(), told.entries.len()), ("out\n", 1));
    let came = project.fetched(&mut client, &told.snapshot(), snapshot, world.path("came")).await;
    assert_eq!(fs::read_to_string(came.join("new")).unwrap(), "new\n");
}

#[tokio::test]
async fn a_signal_ends_the_worker_and_not_what_it_started() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.sent(&mut client).await;
    client.spawn(long(&world, "s", snapshot)).await.unwrap();
    let mut told = Told::default();
    let listening = told.listen(&mut client, "s", |told| {
        if told.frames.is_empty() { Listen::On } else { Listen::Enough }
    });
    listening.await.unwrap();
    // One that listens hears why it has to come again.
    let mut other = worker.client().await;
    let listening = tokio::spawn(async move {
        let mut told = Told::default();
        told.go_on(&mut other, "s").await
    });
    until_async("the other to listen", || true).await;
    let status = tokio::task::spawn_blocking(move || worker.terminate()).await.unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(listening.await.unwrap().is_err());
    let worker = world.start(&[]);
    told.go_on(&mut worker.client().await, "s").await.unwrap();
    let (output, entries) = expected();
    assert!(told.output == output);
    assert_eq!(told.entries, entries);
    assert_eq!(world.lines("starts"), ["s"]);
}

#[tokio::test]
async fn a_shim_that_is_killed_is_a_command_that_is_lost_and_nothing_of_it_is_left() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let project = Project::new(&world);
    let snapshot = project.sent(&mut client).await;
    let mut request = shell("s", snapshot, "echo $PPID > $PID; echo partial; sleep 1000");
    request.environment = vec![variable("PID", world.path("pid"))];
    client.spawn(request).await.unwrap();
    until_async("the command to run", || !world.lines("pid").is_empty()).await;
    let shim: i32 = world.lines("pid")[0].parse().unwrap();
    let shim = rustix::process::Pid::from_raw(shim).unwrap();
    let mut told = Told::default();
    let listening = told.listen(&mut client, "s", |told| {
        if told.frames.is_empty() { Listen::On } else { Listen::Enough }
    });
    listening.await.unwrap();
    rustix::process::kill_process(shim, rustix::process::Signal::KILL).unwrap();
    told.go_on(&mut client, "s").await.unwrap();
    let ended = told.ended.clone().unwrap();
    assert!(
        matches!(ended.end, Some(wire::ended::End::Lost(lost)) if lost == i32::from(wire::Lost::ShimDied)),
        "{ended:?}"
    );
    assert_eq!(told.text(), "partial\n");
    assert!(!told.snapshot().is_empty());
}
