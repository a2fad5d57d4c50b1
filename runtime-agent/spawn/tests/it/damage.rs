//! What an agent, a crash or a full disk does to a spawn's folder.

use ratchet_spawn::{
    Attachment, End, Event, Frames, Lost, Position, SpawnDir, Standing, Stream, probe,
};

use crate::harness::{Place, line, outcome, rest, start};

#[tokio::test]
async fn a_folder_that_the_agent_deletes_is_made_again_for_the_record_and_the_output() {
    let place = Place::new();
    let script = format!("echo before; rm -rf '{}'; echo after; exit 5", place.root().display());
    let request = place.shell(&script);
    let dir = place.create(&request);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    let mut shim = start(&dir);
    let (frames, last) = rest(&mut attachment).await;
    let Event::Ended(record) = last else { panic!("{last:?}") };
    assert_eq!(record.end, End::Exited { code: 5 });
    let seen: Vec<u8> = frames.into_iter().flat_map(|frame| frame.bytes).collect();
    assert_eq!(seen, b"before\nafter\n");
    assert!(shim.wait().success());
    // Whoever comes later finds the same.
    let dir = SpawnDir::open(&place.root(), &request.id).unwrap();
    let later = outcome(&dir).await;
    assert_eq!(later.record, *record);
    assert_eq!(later.stdout, b"before\nafter\n");
}

#[tokio::test]
async fn the_death_of_a_shim_is_heard_although_the_folder_is_gone() {
    let place = Place::new();
    let script = format!(
        "echo ready; until [ -e go ]; do :; done; rm -rf '{}'; echo gone; exec sleep 1000",
        place.root().display()
    );
    let dir = place.create(&place.shell(&script));
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    let mut shim = start(&dir);
    assert_eq!(line(&mut attachment).await, "ready");
    std::fs::write(place.path().join("go"), "").unwrap();
    assert_eq!(line(&mut attachment).await, "gone");
    shim.kill();
    let (_, last) = rest(&mut attachment).await;
    assert!(matches!(last, Event::Lost(_)), "{last:?}");
}

#[tokio::test]
async fn a_workspace_that_the_agent_deletes_does_not_matter() {
    let place = Place::new();
    let work = place.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let mut request = place.shell("rm -rf \"$PWD\"; echo gone");
    request.cwd = work;
    let outcome = place.run(&request).await;
    assert_eq!(outcome.record.end, End::Exited { code: 0 });
    assert_eq!(outcome.stdout, b"gone\n");
}

#[tokio::test]
async fn a_torn_last_frame_is_as_if_it_were_not_there() {
    let place = Place::new();
    let request = place.shell("printf one; printf two >&2");
    place.run(&request).await;
    let dir = SpawnDir::open(&place.root(), &request.id).unwrap();
    let spool = dir.path().join("spool");
    let whole = std::fs::read(&spool).unwrap();
    let frames: Vec<_> = Frames::open(&dir, Position::START).unwrap().map(Result::unwrap).collect();
    assert_eq!(frames.iter().filter(|frame| frame.stream == Stream::Stderr).count(), 1);
    let last = usize::try_from(frames.last().unwrap().position.offset()).unwrap();
    for cut in last..whole.len() {
        std::fs::write(&spool, &whole[..cut]).unwrap();
        let left: Vec<_> =
            Frames::open(&dir, Position::START).unwrap().map(Result::unwrap).collect();
        assert_eq!(left, frames[..1], "cut at {cut}");
    }
}

#[tokio::test]
async fn an_exit_record_that_cannot_be_read_is_a_loss_and_not_a_second_start() {
    let place = Place::new();
    let request = place.shell("exit 0");
    place.run(&request).await;
    let dir = SpawnDir::open(&place.root(), &request.id).unwrap();
    std::fs::write(dir.path().join("exit.json"), "{\"form").unwrap();
    assert_eq!(probe(&dir).unwrap(), Standing::Lost(Lost::Damaged));
    assert_eq!(start(&dir).wait().code(), Some(75));
}

#[test]
fn a_spawn_of_an_earlier_boot_is_lost_even_if_nothing_says_that_it_started() {
    let place = Place::new();
    let dir = place.create(&place.shell("exit 0"));
    let file = dir.path().join("request.json");
    let mut request: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    request["bootId"] = "00000000-0000-0000-0000-000000000000".into();
    std::fs::write(&file, request.to_string()).unwrap();
    assert_eq!(probe(&dir).unwrap(), Standing::Lost(Lost::MachineRestarted));
    assert_eq!(start(&dir).wait().code(), Some(75));
}
