//! Stopping on request: politely, then not.

use std::time::{Duration, Instant};

use ratchet_spawn::{
    Attachment, End, Event, Fate, Leader, Position, Standing, StopRequest, probe, request_stop,
};

use crate::harness::{Place, line, outcome, rest, start};

fn stop(by: &str) -> StopRequest {
    StopRequest { by: by.to_owned(), grace_ms: None }
}

const TRAPPER: &str = "trap 'echo no' TERM; echo ready; while :; do sleep 0.01; done";

#[tokio::test]
async fn an_agent_that_obeys_is_stopped_and_the_record_says_by_whom() {
    let place = Place::new();
    let dir = place.create(&place.shell("echo ready; exec sleep 1000"));
    let _shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    assert_eq!(line(&mut attachment).await, "ready");
    request_stop(&dir, &stop("operator")).unwrap();
    let leader = Leader::Signaled { signal: 15, core_dumped: false };
    let end = outcome(&dir).await.record.end;
    assert_eq!(end, End::Stopped { by: "operator".into(), leader });
}

#[tokio::test]
async fn an_agent_that_ignores_term_is_killed_when_the_grace_is_over() {
    let place = Place::new();
    let mut request = place.shell(TRAPPER);
    request.limits.grace_ms = 300;
    let dir = place.create(&request);
    let _shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    line(&mut attachment).await;
    let asked = Instant::now();
    request_stop(&dir, &stop("operator")).unwrap();
    let record = outcome(&dir).await.record;
    let leader = Leader::Signaled { signal: 9, core_dumped: false };
    assert_eq!(record.end, End::Stopped { by: "operator".into(), leader });
    assert!(asked.elapsed() >= Duration::from_millis(300));
    assert!(record.leftover.is_empty());
}

#[tokio::test]
async fn exit_code_0_after_a_stop_is_still_a_stop() {
    let place = Place::new();
    let dir =
        place.create(&place.shell("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"));
    let _shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    line(&mut attachment).await;
    request_stop(&dir, &stop("operator")).unwrap();
    let end = outcome(&dir).await.record.end;
    assert_eq!(end, End::Stopped { by: "operator".into(), leader: Leader::Exited { code: 0 } });
}

#[tokio::test]
async fn a_second_stop_may_have_less_patience() {
    let place = Place::new();
    let mut request = place.shell(TRAPPER);
    request.limits.grace_ms = 3_600_000;
    let dir = place.create(&request);
    let _shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    assert_eq!(line(&mut attachment).await, "ready");
    request_stop(&dir, &stop("first")).unwrap();
    // Its shell may remark on the `sleep` that died by the same signal.
    while !line(&mut attachment).await.contains("no") {}
    request_stop(&dir, &StopRequest { by: "second".into(), grace_ms: Some(0) }).unwrap();
    let leader = Leader::Signaled { signal: 9, core_dumped: false };
    let end = outcome(&dir).await.record.end;
    assert_eq!(end, End::Stopped { by: "first".into(), leader });
}

#[tokio::test]
async fn a_stop_before_the_start_means_that_the_agent_never_runs() {
    let place = Place::new();
    let dir = place.create(&place.shell("echo ran > ran"));
    request_stop(&dir, &stop("operator")).unwrap();
    assert_eq!(probe(&dir).unwrap(), Standing::NeverStarted);
    let _shim = start(&dir);
    let end = outcome(&dir).await.record.end;
    assert_eq!(end, End::Stopped { by: "operator".into(), leader: Leader::NeverRan });
    assert!(!place.path().join("ran").exists());
}

#[tokio::test]
async fn a_stop_in_the_middle_of_the_start_is_never_missed() {
    for _ in 0..20 {
        let place = Place::new();
        let dir = place.create(&place.shell("exec sleep 1000"));
        let _shim = start(&dir);
        request_stop(&dir, &stop("operator")).unwrap();
        let end = outcome(&dir).await.record.end;
        assert!(matches!(end, End::Stopped { .. }), "{end:?}");
    }
}

#[tokio::test]
async fn a_term_to_the_shim_stops_the_agent() {
    let place = Place::new();
    let dir = place.create(&place.shell("echo ready; exec sleep 1000"));
    let shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    line(&mut attachment).await;
    rustix::process::kill_process(shim.pid(), rustix::process::Signal::TERM).unwrap();
    let end = outcome(&dir).await.record.end;
    assert!(matches!(end, End::Stopped { ref by, .. } if by == "signal"), "{end:?}");
}

#[tokio::test]
async fn a_halted_agent_still_hears_the_stop() {
    let place = Place::new();
    let mut request = place.shell("echo ready; kill -STOP $$; exec sleep 1000");
    request.limits.grace_ms = 3_600_000;
    let dir = place.create(&request);
    let _shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    line(&mut attachment).await;
    request_stop(&dir, &stop("operator")).unwrap();
    let end = outcome(&dir).await.record.end;
    assert!(matches!(end, End::Stopped { .. }), "{end:?}");
}

#[tokio::test]
async fn a_stop_after_the_end_changes_nothing() {
    let place = Place::new();
    let request = place.shell("exit 3");
    place.run(&request).await;
    let dir = ratchet_spawn::SpawnDir::open(&place.root(), &request.id).unwrap();
    request_stop(&dir, &stop("late")).unwrap();
    assert_eq!(outcome(&dir).await.record.end, End::Exited { code: 3 });
}

#[tokio::test]
async fn a_tool_shell_in_a_session_of_its_own_goes_with_a_stopped_agent() {
    let place = Place::new();
    let script = "setsid sh -c 'trap \"\" TERM; echo $$ > tool; echo ready; while :; do sleep 0.05; done' & \
                  wait";
    let mut request = place.shell(script);
    request.limits.grace_ms = 200;
    let dir = place.create(&request);
    let _shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    line(&mut attachment).await;
    request_stop(&dir, &stop("operator")).unwrap();
    let (_, last) = rest(&mut attachment).await;
    let Event::Ended(record) = last else { panic!("{last:?}") };
    let tool = crate::harness::pids(&place.path().join("tool"))[0];
    let stray = record.strays.iter().find(|stray| stray.pid == tool).expect("it is named");
    assert_eq!((stray.fate, stray.comm.as_str()), (Fate::Killed, "sh"));
    assert!(!crate::harness::is_alive(tool));
}
