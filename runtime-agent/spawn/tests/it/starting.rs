//! A spawn starts at most once.

use std::os::unix::fs::PermissionsExt;

use ratchet_spawn::{
    Attachment, DirectoryError, End, Event, MARK_VARIABLE, Position, SpawnDir, Standing, abandon,
    probe,
};

use crate::harness::{Place, environment, line, next, outcome, shim_command, start, start_with};

const NOT_OURS: i32 = 75;

#[tokio::test]
async fn the_second_shim_of_a_spawn_does_nothing() {
    let place = Place::new();
    let script = "echo run >> runs; echo ready; until [ -e go ]; do :; done";
    let dir = place.create(&place.shell(script));
    let mut first = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    assert_eq!(line(&mut attachment).await, "ready");
    assert_eq!(start(&dir).wait().code(), Some(NOT_OURS));
    std::fs::write(place.path().join("go"), "").unwrap();
    outcome(&dir).await;
    first.wait();
    assert_eq!(start(&dir).wait().code(), Some(NOT_OURS));
    assert_eq!(std::fs::read_to_string(place.path().join("runs")).unwrap(), "run\n");
}

#[tokio::test]
async fn of_many_shims_at_once_one_runs_the_agent() {
    for _ in 0..10 {
        let place = Place::new();
        let dir = place.create(&place.shell("echo run >> runs"));
        let shims: Vec<_> = (0..4).map(|_| start(&dir)).collect();
        outcome(&dir).await;
        let done = shims.into_iter().filter_map(|mut shim| shim.wait().code());
        assert_eq!(done.filter(|code| *code == 0).count(), 1);
        assert_eq!(std::fs::read_to_string(place.path().join("runs")).unwrap(), "run\n");
    }
}

#[tokio::test]
async fn a_look_never_keeps_a_shim_from_starting() {
    for _ in 0..10 {
        let place = Place::new();
        let dir = place.create(&place.shell("exit 0"));
        let mut shim = start(&dir);
        while shim.child.try_wait().unwrap().is_none() {
            let _ = probe(&dir).unwrap();
        }
        assert!(matches!(probe(&dir).unwrap(), Standing::Ended(_)));
    }
}

#[tokio::test]
async fn an_abandoned_spawn_never_starts() {
    let place = Place::new();
    let dir = place.create(&place.shell("echo ran > ran"));
    assert_eq!(probe(&dir).unwrap(), Standing::NeverStarted);
    assert_eq!(abandon(&dir).unwrap(), Standing::Abandoned);
    assert_eq!(start(&dir).wait().code(), Some(NOT_OURS));
    assert_eq!(probe(&dir).unwrap(), Standing::Abandoned);
    assert!(!place.path().join("ran").exists());
}

#[tokio::test]
async fn whoever_waits_for_a_start_hears_that_it_was_abandoned() {
    let place = Place::new();
    let dir = place.create(&place.shell("exit 0"));
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    let waiting = tokio::spawn(async move { next(&mut attachment).await });
    assert_eq!(abandon(&dir).unwrap(), Standing::Abandoned);
    assert_eq!(waiting.await.unwrap(), Event::Abandoned);
}

#[tokio::test]
async fn a_race_between_start_and_abandonment_has_one_winner_and_both_know_it() {
    for _ in 0..30 {
        let place = Place::new();
        let dir = place.create(&place.shell("echo ran > ran"));
        let mut shim = start(&dir);
        let standing = abandon(&dir).unwrap();
        shim.wait();
        let ran = place.path().join("ran").exists();
        assert_eq!(ran, standing != Standing::Abandoned, "{standing:?}");
        assert_ne!(standing, Standing::NeverStarted);
    }
}

#[tokio::test]
async fn an_id_is_used_once() {
    let place = Place::new();
    let request = place.shell("exit 0");
    place.create(&request);
    let again = SpawnDir::create(&place.root(), &request);
    assert!(matches!(again, Err(DirectoryError::Exists { .. })), "{again:?}");
}

// B-Q11
#[tokio::test]
async fn the_agent_gets_the_given_environment_and_the_mark_and_nothing_else() {
    let place = Place::new();
    let dir = place.create(&place.command(&["/usr/bin/env"]));
    let mut given = environment();
    given.push(("TOKEN".into(), "s3cret".into()));
    start_with(&dir, &shim_command(), given).wait();
    let outcome = outcome(&dir).await;
    let mut lines: Vec<_> =
        std::str::from_utf8(&outcome.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    let mark = format!("{MARK_VARIABLE}={}", place.id(""));
    assert_eq!(lines, ["PATH=/usr/local/bin:/usr/bin:/bin", mark.as_str(), "TOKEN=s3cret"]);
    // Apart from what the agent itself has printed, no file knows the value.
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let path = file.unwrap().path();
        let printed = path.ends_with("spool") || path.ends_with("bell");
        let text = if printed { Vec::new() } else { std::fs::read(&path).unwrap() };
        assert!(!String::from_utf8_lossy(&text).contains("s3cret"), "{}", path.display());
    }
}

#[tokio::test]
async fn only_the_owner_may_look_into_a_spawns_folder() {
    let place = Place::new();
    let request = place.shell("exit 0");
    place.run(&request).await;
    let dir = SpawnDir::open(&place.root(), &request.id).unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place.root()), mode(dir.path())), (0o700, 0o700));
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_answered_with_a_record() {
    let place = Place::new();
    let dir = place.create(&place.shell("exit 0"));
    std::fs::write(dir.path().join("request.json"), "{").unwrap();
    assert!(start(&dir).wait().success());
    let end = outcome(&dir).await.record.end;
    assert!(matches!(end, End::NotStarted { code: 1, .. }), "{end:?}");
}
