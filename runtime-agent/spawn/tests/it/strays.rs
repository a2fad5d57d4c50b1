//! What an agent leaves behind is found and ended, after every end and also after the shim's.

use ratchet_spawn::{
    Attachment, End, Event, Fate, Lost, MOST_STRAYS, Position, SpawnDir, Standing, Tie, end_strays,
    probe,
};

use crate::harness::{Place, is_alive, line, outcome, pids, rest, start};

/// Starts a daemon that is nobody's child, and waits until it has written down its number.
const DAEMON: &str = "setsid sh -c '(sh -c \"echo \\$\\$ > daemon.new; mv daemon.new daemon; exec sleep 1000\" &)'; \
                      until [ -e daemon ] && grep -q sleep /proc/$(cat daemon)/comm; do :; done; ";

#[tokio::test]
async fn a_daemon_that_outlives_a_normal_end_is_ended_and_named() {
    let place = Place::new();
    let outcome = place.run(&place.shell(&format!("{DAEMON} echo done; exit 7"))).await;
    assert_eq!(outcome.record.end, End::Exited { code: 7 });
    let daemon = pids(&place.path().join("daemon"))[0];
    let named: Vec<_> = outcome.record.strays.iter().map(|stray| (stray.pid, stray.fate)).collect();
    assert_eq!(named, [(daemon, Fate::Obeyed)]);
    assert_eq!(outcome.record.strays[0].program, "sleep");
    assert!(!is_alive(daemon));
}

#[tokio::test]
async fn a_daemon_that_clears_its_environment_and_ignores_term_is_killed() {
    let place = Place::new();
    let script = "env -i PATH=/usr/bin:/bin setsid sh -c 'trap \"\" TERM; (sh -c \"echo \\$\\$ > daemon.new; mv daemon.new daemon; while :; do sleep 0.1; done\" &)'; \
                  until [ -e daemon ]; do :; done";
    let record = place.run(&place.shell(script)).await.record;
    let daemon = pids(&place.path().join("daemon"))[0];
    let stray = record.strays.iter().find(|stray| stray.pid == daemon).expect("it is named");
    assert_eq!((stray.found_by, stray.fate), (Tie::Descent, Fate::Killed));
    assert!(!is_alive(daemon));
    assert!(record.leftover.is_empty());
}

#[tokio::test]
async fn a_background_child_that_keeps_the_output_open_does_not_hold_the_step() {
    let place = Place::new();
    let outcome = place.run(&place.shell("sleep 1000 & echo $! > child; echo said")).await;
    assert_eq!(outcome.record.end, End::Exited { code: 0 });
    assert_eq!(outcome.stdout, b"said\n");
    assert!(!is_alive(pids(&place.path().join("child"))[0]));
}

#[tokio::test]
async fn the_last_words_of_a_stray_are_kept() {
    let place = Place::new();
    let script = "sh -c 'trap \"echo last words; exit\" TERM; touch ready; while :; do sleep 0.01; done' & \
                  until [ -e ready ]; do :; done";
    assert_eq!(place.run(&place.shell(script)).await.stdout, b"last words\n");
}

#[tokio::test]
async fn the_arguments_of_a_stray_are_not_told() {
    let place = Place::new();
    let script = "sh -c 'touch ready; while :; do sleep 0.01; done' --token=s3cret & until [ -e ready ]; do :; done";
    let record = place.run(&place.shell(script)).await.record;
    assert!(!record.strays.is_empty());
    assert!(!format!("{record:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_spawn_whose_shim_was_killed_is_lost_its_agent_dies_and_its_strays_can_be_ended() {
    let place = Place::new();
    let script = format!("{DAEMON} echo $$; exec sleep 1000");
    let dir = place.create(&place.shell(&script));
    let mut shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    let agent: i32 = line(&mut attachment).await.parse().unwrap();
    shim.kill();
    let (_, last) = rest(&mut attachment).await;
    assert_eq!(last, Event::Lost(Lost::ShimDied));
    let daemon = pids(&place.path().join("daemon"))[0];
    assert!(is_alive(daemon));
    let ended = end_strays(&dir).unwrap();
    assert!(
        ended.iter().any(|stray| stray.pid == daemon && stray.fate == Fate::Obeyed),
        "{ended:?}"
    );
    assert!(!is_alive(agent) && !is_alive(daemon));
    assert_eq!(end_strays(&dir).unwrap(), []);
    assert_eq!(probe(&dir).unwrap(), Standing::Lost(Lost::ShimDied));
}

#[tokio::test]
async fn a_crowd_of_strays_is_ended_to_the_last_and_the_list_of_them_is_bounded() {
    let place = Place::new();
    let script = "i=0; while [ $i -lt 100 ]; do setsid sleep 1000 & echo $! >> crowd; i=$((i+1)); done; \
                  until [ $(cat crowd | wc -l) = 100 ]; do :; done";
    let record = place.run(&place.shell(script)).await.record;
    assert_eq!(record.strays.len(), MOST_STRAYS);
    assert_eq!(record.notes, ["36 more strays were ended"]);
    assert!(!pids(&place.path().join("crowd")).into_iter().any(is_alive));
}

#[tokio::test]
async fn a_daemon_that_hides_from_every_other_tie_is_found_by_its_cgroup_when_the_shim_is_dead() {
    let place = Place::new();
    // It starts when the agent has been moved into the cgroup, which takes a moment.
    let script = "until grep -q \"ratchet-\" /proc/self/cgroup || [ -e skip ]; do :; done; \
                  env -i PATH=/usr/bin:/bin setsid sh -c '(sh -c \"echo \\$\\$; exec sleep 1000\" &)'; \
                  exec sleep 1000";
    let dir = place.create(&place.shell(script));
    let mut shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    if !can_make_cgroups() {
        // Here the agent could never be moved; what is looked for cannot be had.
        std::fs::write(place.path().join("skip"), "").unwrap();
    }
    let daemon: i32 = line(&mut attachment).await.parse().unwrap();
    shim.kill();
    let ended = end_strays(&dir).unwrap();
    if can_make_cgroups() {
        assert!(ended.iter().any(|stray| stray.pid == daemon), "{ended:?}");
        assert!(!is_alive(daemon));
    } else {
        let pid = rustix::process::Pid::from_raw(daemon).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Tells whether this user may make a cgroup below this process's own.
fn can_make_cgroups() -> bool {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let point = mount.and_then(|line| line.split(' ').nth(4));
    let probe = point.map(|point| format!("{point}{own}/ratchet-probe-{}", std::process::id()));
    probe.is_some_and(|probe| {
        let made = std::fs::create_dir(&probe).is_ok();
        let _ = std::fs::remove_dir(probe);
        made
    })
}

#[tokio::test]
async fn nothing_is_hunted_while_the_shim_lives() {
    let place = Place::new();
    let dir = place.create(&place.shell("echo ready; exec sleep 1000"));
    let mut shim = start(&dir);
    let mut attachment = Attachment::open(&dir, Position::START).unwrap();
    line(&mut attachment).await;
    assert_eq!(end_strays(&dir).unwrap(), []);
    assert!(matches!(probe(&dir).unwrap(), Standing::Running(Some(_))));
    ratchet_spawn::request_stop(
        &dir,
        &ratchet_spawn::StopRequest { by: "test".into(), grace_ms: None },
    )
    .unwrap();
    outcome(&dir).await;
    shim.wait();
}

#[tokio::test]
async fn another_spawns_processes_are_left_alone() {
    let place = Place::new();
    let mut other = place.shell("echo ready; exec sleep 1000");
    other.id = place.id("0");
    let other: SpawnDir = place.create(&other);
    let _other_shim = start(&other);
    let mut attachment = Attachment::open(&other, Position::START).unwrap();
    line(&mut attachment).await;
    // The one id is the beginning of the other.
    assert!(place.run(&place.shell("exit 0")).await.record.strays.is_empty());
    assert!(matches!(probe(&other).unwrap(), Standing::Running(_)));
    ratchet_spawn::request_stop(
        &other,
        &ratchet_spawn::StopRequest { by: "test".into(), grace_ms: None },
    )
    .unwrap();
    outcome(&other).await;
}

#[tokio::test]
async fn the_strays_of_a_spawn_whose_files_are_damaged_are_ended_too() {
    for damage in [
        "rm $D/request.json",
        "rm -rf $D/*",
        "echo x > $D/exit.json",
        "rm $D/started.json $D/agent.json",
        "for f in started agent; do echo '{\"shim\":1}' > $D/$f.json; done",
    ] {
        let place = Place::new();
        let script =
            format!("{DAEMON} until [ -e $D/agent.json ]; do :; done; {damage}; kill -9 $PPID");
        let dir = place.create(&place.in_folder(&script));
        let mut shim = start(&dir);
        let mut attachment = Attachment::open(&dir, Position::START).unwrap();
        let (_, last) = rest(&mut attachment).await;
        assert!(matches!(last, Event::Lost(Lost::Damaged | Lost::ShimDied)), "{damage}: {last:?}");
        shim.wait();
        let daemon = pids(&place.path().join("daemon"))[0];
        assert!(is_alive(daemon), "{damage}");
        let ended = end_strays(&dir).unwrap();
        assert!(ended.iter().any(|stray| stray.pid == daemon), "{damage}: {ended:?}");
        assert!(!is_alive(daemon), "{damage}");
    }
}
