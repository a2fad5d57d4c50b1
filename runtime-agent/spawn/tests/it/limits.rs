//! Each limit, and only that one.

use ratchet_spawn::{End, Leader, Limits, TimeLimit};

use crate::harness::Place;

const TERM: Leader = Leader::Signaled { signal: 15, core_dumped: false };

#[tokio::test]
async fn silence_from_the_start_meets_the_start_limit() {
    let place = Place::new();
    let mut request = place.command(&["sleep", "1000"]);
    request.limits = Limits { start_ms: Some(80), wall_ms: Some(60_000), ..Limits::default() };
    let end = place.run(&request).await.record.end;
    assert_eq!(end, End::TimedOut { limit: TimeLimit::Start, after_ms: 80, leader: TERM });
}

#[tokio::test]
async fn silence_after_some_output_meets_the_idle_limit() {
    let place = Place::new();
    let mut request = place.shell("echo one; echo two >&2; exec sleep 1000");
    request.limits = Limits { start_ms: Some(30_000), idle_ms: Some(150), ..Limits::default() };
    let outcome = place.run(&request).await;
    let end = outcome.record.end;
    assert_eq!(end, End::TimedOut { limit: TimeLimit::Idle, after_ms: 150, leader: TERM });
    assert_eq!((outcome.stdout, outcome.stderr), (b"one\n".to_vec(), b"two\n".to_vec()));
}

// B-Q09
#[tokio::test]
async fn work_without_end_meets_the_wall_limit_however_much_it_prints() {
    let place = Place::new();
    let mut request = place.shell("while :; do echo busy; done");
    request.limits = Limits { wall_ms: Some(200), idle_ms: Some(30_000), ..Limits::default() };
    let record = place.run(&request).await.record;
    assert_eq!(record.end, End::TimedOut { limit: TimeLimit::Wall, after_ms: 200, leader: TERM });
    assert!(record.awake_ms >= 200, "{record:?}");
}

#[tokio::test]
async fn an_end_in_time_meets_no_limit() {
    let place = Place::new();
    let mut request = place.shell("echo done");
    request.limits = Limits {
        start_ms: Some(30_000),
        idle_ms: Some(30_000),
        wall_ms: Some(30_000),
        output_bytes: Some(5),
        grace_ms: 0,
        ..Limits::default()
    };
    assert_eq!(place.run(&request).await.record.end, End::Exited { code: 0 });
}

#[tokio::test]
async fn a_flood_is_kept_up_to_the_output_limit_and_ended() {
    let place = Place::new();
    let mut request = place.shell("exec cat /dev/zero");
    request.limits.output_bytes = Some(1_000_000);
    let outcome = place.run(&request).await;
    assert_eq!(outcome.record.end, End::OutputLimit { bytes: 1_000_000, leader: TERM });
    assert_eq!(outcome.stdout.len(), 1_000_000);
    assert!(outcome.record.output.discarded_bytes > 0);
}

#[tokio::test]
async fn a_file_system_that_takes_no_more_ends_the_agent_and_is_told() {
    let place = Place::new();
    let dir = place.create(&place.shell("head -c 400000 /dev/zero; exec sleep 1000"));
    // `ulimit -f` counts in blocks of 512 bytes: the shim may write files of 128 KiB.
    let mut limited: Vec<std::ffi::OsString> =
        ["/bin/sh", "-c", "ulimit -f 256; exec \"$0\" \"$@\""].map(Into::into).to_vec();
    limited.extend(crate::harness::shim_command());
    let mut shim = crate::harness::start_with(&dir, &limited, crate::harness::environment());
    let outcome = crate::harness::outcome(&dir).await;
    let End::SpoolFailed { message, .. } = &outcome.record.end else {
        panic!("{:?}", outcome.record.end)
    };
    assert!(!message.is_empty());
    // What was kept is whole, and what a reader may have seen of the torn frame was not taken back.
    assert_eq!(outcome.stdout.len() as u64, outcome.record.output.stdout_bytes);
    let length = std::fs::metadata(dir.path().join("spool")).unwrap().len();
    assert_eq!(length, 256 * 512, "the torn frame stays");
    assert!(outcome.record.output.spool_bytes < length);
    assert!(shim.wait().success());
}

#[test]
fn a_file_system_that_takes_nothing_at_all_is_an_error_and_not_the_end_of_the_shim() {
    let place = Place::new();
    let dir = place.create(&place.shell("echo ran > ran"));
    let mut limited: Vec<std::ffi::OsString> =
        ["/bin/sh", "-c", "ulimit -f 0; exec \"$0\" \"$@\""].map(Into::into).to_vec();
    limited.extend(crate::harness::shim_command());
    let mut shim = crate::harness::start_with(&dir, &limited, crate::harness::environment());
    assert_eq!(shim.wait().code(), Some(70));
    assert!(!place.path().join("ran").exists());
    // Nobody has started it, so it may be given up and asked for again.
    assert_eq!(ratchet_spawn::abandon(&dir).unwrap(), ratchet_spawn::Standing::Abandoned);
}
