//! Looking on: from any position, by anyone, after anyone's death.

use std::process::{Command, Stdio};

use ratchet_spawn::{Attachment, Event, Frame, Frames, Position, SpawnDir, SpoolError};

use crate::harness::{Place, environment, line, next, outcome, rest, shim_command, start};

fn bytes(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.bytes.clone()).collect()
}

/// Runs an agent that prints some separate pieces.
async fn pieces(place: &Place) -> SpawnDir {
    let request = place.shell("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.01; done");
    place.run(&request).await;
    SpawnDir::open(&place.root(), &request.id).unwrap()
}

#[tokio::test]
async fn whoever_attaches_at_any_frame_gets_the_rest_and_the_end() {
    let place = Place::new();
    let dir = pieces(&place).await;
    let all: Vec<Frame> =
        Frames::open(&dir, Position::START).unwrap().map(Result::unwrap).collect();
    let whole = bytes(&all);
    assert_eq!(whole, b"1\n2\n3\n4\n5\n6\n7\n8\n");
    let mut before = 0;
    for frame in &all {
        let mut attachment = Attachment::open(&dir, frame.position).unwrap();
        let (rest, last) = rest(&mut attachment).await;
        assert_eq!(bytes(&rest), whole[before..]);
        assert!(matches!(last, Event::Ended(_)));
        before += frame.bytes.len();
    }
    let end = all.last().unwrap().next;
    let (rest, _) = rest(&mut Attachment::open(&dir, end).unwrap()).await;
    assert_eq!(rest, []);
}

#[tokio::test]
async fn a_position_between_frames_is_refused_and_not_guessed() {
    let place = Place::new();
    let dir = pieces(&place).await;
    let wrong = Position::from_offset(Position::START.offset() + 1);
    let first = Frames::open(&dir, wrong).unwrap().next().unwrap();
    assert!(matches!(first, Err(SpoolError::NoFrame { .. })), "{first:?}");
}

#[tokio::test]
async fn the_last_event_is_given_again() {
    let place = Place::new();
    let dir = pieces(&place).await;
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    let (_, last) = rest(&mut attachment).await;
    assert_eq!(next(&mut attachment).await, last);
}

// B-Q19
#[tokio::test]
async fn a_shim_outlives_its_launcher_and_a_new_watcher_gets_each_byte_once() {
    let place = Place::new();
    let script = "for i in 1 2 3 4; do echo $i; until [ -e go$i ]; do :; done; done";
    let dir = place.create(&place.shell(script));
    let go = |number: u8| std::fs::write(place.path().join(format!("go{number}")), "").unwrap();
    // The launcher starts the shim in the background and is killed.
    let mut launcher = Command::new("/bin/sh")
        .args(["-c", "\"$0\" \"$1\" & kill -9 $$"])
        .args(shim_command())
        .arg(dir.path())
        .env_clear()
        .envs(environment())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    launcher.wait().unwrap();

    let mut first = Attachment::open(&dir, Position::START).unwrap();
    assert_eq!(line(&mut first).await, "1");
    go(1);
    assert_eq!(line(&mut first).await, "2");
    let position = first.position();
    drop(first);

    go(2);
    let mut second = Attachment::open(&dir, position).unwrap();
    assert_eq!(line(&mut second).await, "3");
    go(3);
    assert_eq!(line(&mut second).await, "4");
    go(4);
    assert!(matches!(next(&mut second).await, Event::Ended(_)));
}

#[tokio::test]
async fn many_watch_one_spawn_and_each_gets_all() {
    let place = Place::new();
    let dir = place.create(&place.shell("for i in 1 2 3 4 5; do echo $i; sleep 0.01; done"));
    let watchers: Vec<_> = (0..200)
        .map(|_| {
            let dir = dir.clone();
            tokio::spawn(async move { outcome(&dir).await.stdout })
        })
        .collect();
    let _shim = start(&dir);
    for watcher in watchers {
        assert_eq!(watcher.await.unwrap(), b"1\n2\n3\n4\n5\n");
    }
}

#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing() {
    let place = Place::new();
    let dir =
        place.create(&place.shell("for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.02; done"));
    let _shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    let mut all = Vec::new();
    let mut tick = tokio::time::interval(std::time::Duration::from_millis(1));
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            event = attachment.next() => match event.unwrap() {
                Event::Frame(frame) => all.extend(frame.bytes),
                last => { assert!(matches!(last, Event::Ended(_))); break; }
            }
        }
    }
    assert_eq!(all, b"1\n2\n3\n4\n5\n6\n7\n8\n9\n");
}
