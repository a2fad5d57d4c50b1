//! Output: whole, from any point on, for any number of callers.

use ratchet_proto::runtime::v1 as wire;

use crate::project::{Project, shell, variable};
use crate::told::{Listen, Told};
use crate::world::{World, code_of, exists, id, until_async};

#[tokio::test]
async fn output_is_the_same_from_every_frame_on() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    let script = "i=0; while [ $i -lt 60 ]; do printf 'line %d \\377\\000\\n' $i; echo e$i >&2; i=$((i+1)); done; \
                  head -c 3000000 /dev/urandom";
    client.spawn(shell("s", snapshot, script)).await.unwrap();
    let whole = Told::whole(&mut client, "s").await;
    assert!(whole.output.len() > 3_000_000);
    assert!(whole.frames.len() > 20, "{} frames", whole.frames.len());
    let all = |told: &Told| (told.output.clone(), told.errors.clone());
    for (at, (offset, _)) in whole.frames.iter().enumerate() {
        let mut again = Told { offset: *offset, ..Told::default() };
        again.go_on(&mut client, "s").await.unwrap();
        let (output, errors) = all(&again);
        assert!(whole.output.ends_with(&output) && whole.errors.ends_with(&errors), "frame {at}");
        let told_before = whole.frames[at].1;
        assert_eq!(
            told_before + output.len() + errors.len(),
            whole.output.len() + whole.errors.len()
        );
        assert_eq!(again.frames.len(), whole.frames.len() - at);
        assert_eq!(again.ended, whole.ended);
    }
    let mut behind = Told { offset: whole.offset, ..Told::default() };
    behind.go_on(&mut client, "s").await.unwrap();
    assert!(behind.output.is_empty() && behind.ended == whole.ended);
}

#[tokio::test]
async fn a_caller_hears_output_while_it_comes_and_goes_on_after_it_went_away() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    let script = "for i in 1 2 3 4 5; do echo $i; while ! [ -e $GO$i ]; do sleep 0.01; done; done";
    let mut request = shell("s", snapshot, script);
    request.environment = vec![variable("GO", world.path("go"))];
    client.spawn(request).await.unwrap();
    let mut told = Told::default();
    for step in 1..=5 {
        // Each line comes before its command may go on, to a caller that has just come back.
        let enough = format!("{step}\n");
        let listening = told.listen(&mut client, "s", |told| {
            if told.text().ends_with(&enough) { Listen::Enough } else { Listen::On }
        });
        listening.await.unwrap();
        std::fs::write(world.path(&format!("go{step}")), "").unwrap();
    }
    told.go_on(&mut client, "s").await.unwrap();
    assert_eq!(told.text(), "1\n2\n3\n4\n5\n");
}

#[tokio::test]
async fn a_caller_that_does_not_read_holds_up_nobody() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    let mut request = shell("s", snapshot, "head -c 30000000 /dev/zero; touch $DONE");
    request.environment = vec![variable("DONE", world.path("done"))];
    client.spawn(request).await.unwrap();
    let asleep = wire::AttachRequest { id: id("s"), ..Default::default() };
    let asleep = client.attach(asleep).await.unwrap().into_inner();
    until_async("the command to be through", || exists(&world.path("done"))).await;
    // Over a line of its own: what does not read fills the window of its own.
    let mut other = worker.client().await;
    assert_eq!(Told::whole(&mut other, "s").await.output.len(), 30_000_000);
    drop(asleep);
}

#[tokio::test]
async fn a_silent_command_is_told_to_be_well() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    client.spawn(shell("s", snapshot, "sleep 1000")).await.unwrap();
    let mut told = Told::default();
    let listening = told.listen(&mut client, "s", |told| {
        if told.heartbeats > 0 { Listen::Enough } else { Listen::On }
    });
    listening.await.unwrap();
    assert_eq!((told.heartbeats, told.ended), (1, None));
}

#[tokio::test]
async fn a_place_that_is_none_and_a_session_that_is_none_are_refused() {
    let world = World::new();
    let worker = world.start(&[]);
    let mut client = worker.client().await;
    let snapshot = Project::new(&world).sent(&mut client).await;
    client.spawn(shell("s", snapshot, "echo x")).await.unwrap();
    let attach =
        |id: &str, sequence| wire::AttachRequest { id: id.to_owned(), offset: 0, sequence };
    assert_eq!(code_of(client.attach(attach("other", 0)).await), "session-not-found");
    assert_eq!(code_of(client.attach(attach("../s", 0)).await), "bad-request");
    assert_eq!(code_of(client.attach(attach(&id("s"), 7)).await), "bad-request");
}
