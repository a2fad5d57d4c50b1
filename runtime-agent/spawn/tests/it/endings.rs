//! How an agent goes by itself, and what the record says of it.

use std::os::unix::fs::PermissionsExt;

use ratchet_spawn::{End, NotStarted, Stdin};

use crate::harness::Place;

// B-Q02
#[tokio::test]
async fn an_exit_code_is_told_as_it_is() {
    for code in [0, 1, 42, 255] {
        let outcome = Place::new().run(&Place::new().shell(&format!("exit {code}"))).await;
        assert_eq!(outcome.record.end, End::Exited { code });
        assert!(outcome.record.strays.is_empty() && outcome.record.leftover.is_empty());
    }
}

#[tokio::test]
async fn a_deadly_signal_is_told_as_a_signal_and_not_as_a_code() {
    for (name, signal) in [("KILL", 9), ("TERM", 15), ("SEGV", 11)] {
        let place = Place::new();
        let outcome = place.run(&place.shell(&format!("ulimit -c 0; kill -{name} $$"))).await;
        assert_eq!(outcome.record.end, End::Signaled { signal, core_dumped: false });
    }
}

fn not_started(end: &End) -> (NotStarted, i32, String) {
    match end {
        End::NotStarted { reason, message, code } => (*reason, *code, message.clone()),
        other => panic!("it started: {other:?}"),
    }
}

#[tokio::test]
async fn a_command_that_is_not_there_never_started() {
    let place = Place::new();
    let outcome = place.run(&place.command(&["no-such-agent", "-p"])).await;
    let (reason, code, message) = not_started(&outcome.record.end);
    assert_eq!((reason, code), (NotStarted::CommandNotFound, 127));
    assert!(message.starts_with("cannot run no-such-agent: not found on PATH (/"), "{message}");
}

#[tokio::test]
async fn a_file_that_may_not_be_executed_never_started() {
    let place = Place::new();
    let file = place.path().join("agent");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let outcome = place.run(&place.command(&[file.to_str().unwrap()])).await;
    let (reason, code, _) = not_started(&outcome.record.end);
    assert_eq!((reason, code), (NotStarted::NotExecutable, 126));
}

#[tokio::test]
async fn a_script_without_its_interpreter_is_told_apart_from_one_that_is_not_there() {
    let place = Place::new();
    let file = place.path().join("agent");
    std::fs::write(&file, "#!/no/such/node\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = place.run(&place.command(&[file.to_str().unwrap()])).await;
    let (reason, code, message) = not_started(&outcome.record.end);
    assert_eq!((reason, code), (NotStarted::CommandNotFound, 127));
    assert!(message.contains("interpreter"), "{message}");
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_not_taken_for_a_command_that_is_not_there() {
    let place = Place::new();
    let mut request = place.shell("exit 0");
    request.cwd = place.path().join("gone");
    let outcome = place.run(&request).await;
    let (reason, code, message) = not_started(&outcome.record.end);
    assert_eq!((reason, code), (NotStarted::FolderMissing, 1));
    assert!(message.contains("gone"), "{message}");
}

#[tokio::test]
async fn an_empty_command_is_a_bad_request() {
    let place = Place::new();
    let outcome = place.run(&place.command(&[])).await;
    assert_eq!(not_started(&outcome.record.end).0, NotStarted::BadRequest);
}

// B-Q01 B-Q05
#[tokio::test]
async fn the_prompt_is_read_to_its_end_and_then_there_is_no_more() {
    let place = Place::new();
    let mut request = place.command(&["cat"]);
    request.stdin = Stdin::Prompt("do it\n\u{1F980} \0 done".into());
    let outcome = place.run(&request).await;
    assert_eq!(outcome.record.end, End::Exited { code: 0 });
    assert_eq!(outcome.stdout, "do it\n\u{1F980} \0 done".as_bytes());
}

#[tokio::test]
async fn without_a_prompt_the_input_is_at_its_end_at_once() {
    let place = Place::new();
    let outcome = place.run(&place.command(&["cat"])).await;
    assert_eq!(outcome.record.end, End::Exited { code: 0 });
    assert!(outcome.stdout.is_empty());
}

#[tokio::test]
async fn an_agent_that_never_reads_its_long_prompt_does_not_hang() {
    let place = Place::new();
    let mut request = place.shell("echo deaf");
    request.stdin = Stdin::Prompt(vec![b'x'; 5_000_000]);
    let outcome = place.run(&request).await;
    assert_eq!(outcome.record.end, End::Exited { code: 0 });
    assert_eq!(outcome.stdout, b"deaf\n");
}

#[tokio::test]
async fn the_record_tells_time_processor_and_memory() {
    let place = Place::new();
    let request = place.shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
    let record = place.run(&request).await.record;
    assert!(record.usage.cpu_user_us > 1_000, "{:?}", record.usage);
    assert!(record.usage.max_rss_bytes > 100_000, "{:?}", record.usage);
    assert!(record.ended_at >= record.started_at);
    assert!(record.awake_ms <= record.ended_at - record.started_at + 1);
}

#[tokio::test]
async fn a_child_that_ends_while_the_agent_works_leaves_no_zombie() {
    let place = Place::new();
    // The orphan is inherited by the shim; the agent looks until it is gone from the process table.
    let script = "(sh -c 'echo $$ > orphan' &) ; \
                  until [ -s orphan ] && ! [ -d /proc/$(cat orphan) ]; do :; done";
    let outcome = place.run(&place.shell(script)).await;
    assert_eq!(outcome.record.end, End::Exited { code: 0 });
}
