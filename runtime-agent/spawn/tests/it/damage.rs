//! What an agent, a crash or a full disk does to a spawn's folder.

use ratchet_spawn::{
    AttachError, Attachment, End, Event, Frames, Lost, NotStarted, Position, SpawnDir, Standing,
    Stream, await_shim_end, probe,
};

use crate::harness::{Place, line, next, outcome, rest, start};

/// Tells whether there is no event yet.
async fn is_waiting(attachment: &mut Attachment) -> bool {
    tokio::select! {
        biased;
        _ = attachment.next() => false,
        () = std::future::ready(()) => true,
    }
}

/// Something else in the place of a file, by a shell command.
const RUBBISH: [&str; 6] = [
    "rm -f $F; echo x > $F",
    "rm -f $F; mkdir $F",
    "rm -f $F; mkdir -p $F/more",
    "rm -f $F; mkfifo $F",
    "rm -f $F; ln -s /nowhere $F",
    "rm -f $F; truncate -s 1T $F",
];

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

#[tokio::test]
async fn whatever_an_agent_puts_in_place_of_the_files_it_is_not_over_before_its_shim_is() {
    for name in ["exit.json", "started.json", "agent.json", "abandoned", "stop", "exit.json.$PPID"]
    {
        for rubbish in RUBBISH {
            let place = Place::new();
            let script = format!(
                "until [ -e $D/agent.json ]; do :; done; F=$D/{name}; {rubbish}; echo ready; \
                 until [ -e go ]; do :; done; exit 3"
            );
            let (dir, case) =
                (place.create(&place.in_folder(&script)), format!("{name}: {rubbish}"));
            let mut shim = start(&dir);
            let mut attachment = Attachment::open(&dir, Position::START).unwrap();
            assert_eq!(line(&mut attachment).await, "ready", "{case}");
            let standing = probe(&dir).unwrap();
            assert!(matches!(standing, Standing::Running(_)), "{case}: {standing:?}");
            let mut fresh = Attachment::open(&dir, attachment.position()).unwrap();
            assert!(is_waiting(&mut fresh).await, "{case}");
            std::fs::write(place.path().join("go"), "").unwrap();
            let Event::Ended(record) = next(&mut attachment).await else { panic!("{case}") };
            assert_eq!(record.end, End::Exited { code: 3 }, "{case}");
            assert!(shim.wait().success(), "{case}");
            assert_eq!(probe(&dir).unwrap(), Standing::Ended(record), "{case}");
        }
    }
}

#[tokio::test]
async fn a_folder_that_the_agent_has_made_a_file_gets_its_record() {
    let place = Place::new();
    let dir = place.create(&place.in_folder("rm -rf $D; echo x > $D; exit 3"));
    let mut shim = start(&dir);
    assert!(shim.wait().success());
    assert_eq!(outcome(&dir).await.record.end, End::Exited { code: 3 });
}

#[tokio::test]
async fn an_end_is_told_when_the_shim_is_gone_and_not_before() {
    for _ in 0..20 {
        let place = Place::new();
        let dir = place.create(&place.shell("exit 0"));
        let mut shim = start(&dir);
        outcome(&dir).await;
        assert!(matches!(probe(&dir).unwrap(), Standing::Ended(_)));
        shim.wait();
    }
}

#[tokio::test]
async fn a_damaged_spool_is_told_once_and_then_the_end_when_it_comes() {
    let place = Place::new();
    for (name, rubbish) in [
        ("letters", "yes | head -c 200 > $D/spool"),
        ("folder", "rm $D/spool; mkdir $D/spool"),
        ("fifo", "rm $D/spool; mkfifo $D/spool"),
    ] {
        let script = format!("{rubbish}; touch {name}; until [ -e go-{name} ]; do :; done; exit 3");
        let mut request = place.in_folder(&script);
        request.id = place.id(name);
        let dir = place.create(&request);
        let _shim = start(&dir);
        while !place.path().join(name).exists() {
            tokio::task::yield_now().await;
        }
        let mut attachment = Attachment::open(&dir, Position::START).unwrap();
        let error = attachment.next().await.unwrap_err();
        assert!(matches!(error, AttachError::Spool(_)), "{name}: {error:?}");
        assert!(matches!(probe(&dir).unwrap(), Standing::Running(_)));
        assert!(is_waiting(&mut attachment).await, "{name}");
        std::fs::write(place.path().join(format!("go-{name}")), "").unwrap();
        let Event::Ended(record) = next(&mut attachment).await else { panic!("{name}") };
        assert_eq!(record.end, End::Exited { code: 3 });
        // Whoever reads what is stored comes to an end too.
        let stored = Frames::open(&dir, Position::START).map(Iterator::count);
        assert!(!matches!(stored, Ok(2..)), "{name}: {stored:?}");
    }
}

#[tokio::test]
async fn the_end_of_a_shim_can_be_waited_for_without_reading_anything() {
    let place = Place::new();
    let dir = place.create(&place.shell("echo ready; exec sleep 1000"));
    // Nobody holds it yet, and a wait does not keep the shim from starting.
    await_shim_end(&dir).unwrap();
    let mut shim = start(&dir);
    line(&mut Attachment::open(&dir, Position::START).unwrap()).await;
    let waits: Vec<_> = (0..3)
        .map(|_| {
            let dir = dir.clone();
            tokio::task::spawn_blocking(move || await_shim_end(&dir).and_then(|()| probe(&dir)))
        })
        .collect();
    shim.kill();
    for wait in waits {
        assert_eq!(wait.await.unwrap().unwrap(), Standing::Lost(Lost::ShimDied));
    }
}

#[tokio::test]
async fn a_record_of_another_kind_that_nobody_stands_behind_is_damage() {
    for rubbish in RUBBISH {
        let place = Place::new();
        let script = format!("F=$D/exit.json; {rubbish}; kill -9 $PPID");
        let dir = place.create(&place.in_folder(&script));
        start(&dir).wait();
        assert_eq!(probe(&dir).unwrap(), Standing::Lost(Lost::Damaged), "{rubbish}");
    }
}

#[tokio::test]
async fn a_start_whose_traces_the_agent_removes_is_not_forgotten() {
    for lost in ["started.json agent.json", "started.json agent.json lock"] {
        let place = Place::new();
        let script = format!(
            "echo run >> runs; until [ -e $D/agent.json ]; do :; done; cd $D; rm {lost}; kill -9 $PPID"
        );
        let dir = place.create(&place.in_folder(&script));
        start(&dir).wait();
        let standing = ratchet_spawn::abandon(&dir).unwrap();
        assert_eq!(standing, Standing::Lost(Lost::ShimDied), "{lost}");
        assert!(!start(&dir).wait().success());
        assert_eq!(std::fs::read_to_string(place.path().join("runs")).unwrap(), "run\n");
    }
}

#[tokio::test]
async fn a_shim_that_cannot_begin_says_so_in_a_record_and_in_its_log() {
    let place = Place::new();
    let dir = place.create(&place.shell("echo ran > ran"));
    assert_eq!(dir.last_complaint(), None);
    std::fs::remove_file(dir.path().join("bell")).unwrap();
    assert!(start(&dir).wait().success());
    let End::NotStarted { reason, message, code: 1 } = outcome(&dir).await.record.end else {
        panic!("it is started")
    };
    assert_eq!(reason, NotStarted::Refused);
    assert!(message.starts_with("cannot open the bell: "), "{message}");
    assert_eq!(dir.last_complaint(), Some(message));
    assert!(!place.path().join("ran").exists());
}

#[test]
fn the_last_complaint_is_the_last_line_however_long_the_log_and_harmless_to_a_terminal() {
    let place = Place::new();
    let dir = place.create(&place.shell("exit 0"));
    std::fs::write(dir.shim_log(), "first\nsecond \u{1b}[2J\n\n").unwrap();
    assert_eq!(dir.last_complaint().as_deref(), Some("second \u{fffd}[2J"));
    std::fs::write(dir.shim_log(), "x".repeat(100_000)).unwrap();
    assert_eq!(dir.last_complaint().unwrap().len(), 4096);
    std::fs::remove_file(dir.shim_log()).unwrap();
    std::fs::create_dir(dir.shim_log()).unwrap();
    assert_eq!(dir.last_complaint(), None);
}
