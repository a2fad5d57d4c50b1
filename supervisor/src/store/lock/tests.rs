//! The lock of a step, across threads and processes.

use std::fs;
use std::io::Read as _;

use ratchet_engine::name::BatchName;

use super::*;
use crate::clock::Clock;
use crate::store::testing::{Scene, scene_of_parent};

fn acquire(scene: &Scene) -> Result<StepLock, LockError> {
    StepLock::acquire(&scene.layout, &scene.home, Clock::System.now())
}

fn leave(scene: &Scene, note: &str) {
    fs::create_dir_all(scene.run().dir()).unwrap();
    fs::write(scene.run().step_lock(), note).unwrap();
}

fn note(scene: &Scene) -> Note {
    serde_json::from_slice(&fs::read(scene.run().step_lock()).unwrap()).unwrap()
}

// B-G08 B-G11
#[test]
fn a_second_step_of_a_batch_is_refused_and_told_who_runs() {
    let scene = Scene::new();
    let _held = acquire(&scene).unwrap();
    let text = acquire(&scene).unwrap_err().to_string();
    let pid = format!("(pid {}, since 20", std::process::id());
    assert!(text.contains("already running for batch 'shop'"), "{text}");
    assert!(text.contains(&pid), "{text}");
}

// B-G09
#[test]
fn a_released_lock_can_be_taken_again_and_leaves_no_file() {
    let scene = Scene::new();
    drop(acquire(&scene).unwrap());
    assert!(!scene.run().step_lock().exists());
    drop(acquire(&scene).unwrap());
}

// B-G10
#[test]
fn two_batches_do_not_hinder_each_other() {
    let scene = Scene::new();
    let _one = acquire(&scene).unwrap();
    let other = BatchName::parse("other").unwrap();
    fs::create_dir(scene.layout.batch(&other)).unwrap();
    let home = RunHome::Batch(other);
    drop(StepLock::acquire(&scene.layout, &home, Clock::System.now()).unwrap());
}

#[test]
fn a_lock_that_is_no_file_is_named_and_not_taken_for_a_running_step() {
    let scene = Scene::new();
    fs::create_dir(scene.run().dir()).unwrap();
    let path = scene.run().step_lock();
    let refused = || {
        let error = acquire(&scene).unwrap_err();
        assert!(matches!(error, LockError::File(_)), "{error}");
        error.to_string()
    };
    std::os::unix::fs::symlink("gone/away", &path).unwrap();
    let text = refused();
    assert!(text.contains("step.lock: it is a link to something that is not there"), "{text}");
    fs::remove_file(&path).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let text = refused();
    assert!(text.contains("step.lock: something of another kind is in its place"), "{text}");
}

#[test]
fn a_lock_that_is_a_link_is_refused_and_what_it_leads_to_stays_as_it_is() {
    let scene = Scene::new();
    fs::create_dir(scene.run().dir()).unwrap();
    let path = scene.run().step_lock();
    let precious = scene.layout.root().join("precious");
    fs::write(&precious, "{\"precious\": true}").unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    let error = acquire(&scene).unwrap_err();
    assert!(error.to_string().ends_with("run/step.lock: it is a link"), "{error}");
    let LockError::File(error) = error else { panic!("{error}") };
    assert!(error.help().ends_with(&format!("'rm {}'", path.display())), "{}", error.help());
    // Nor does the opening follow one that comes in between.
    take_over(&path, &Note::default()).map(|_| ()).unwrap_err();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "{\"precious\": true}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = acquire(&scene).unwrap_err().to_string();
    assert!(error.ends_with("run/step.lock: something of another kind is in its place"), "{error}");
}

#[test]
fn a_note_that_nobody_stands_behind_is_taken_over_in_place() {
    let now = Clock::System.now();
    let pid = std::process::id();
    let long = format!("{{\"pid\":99999999,\"at\":\"{now}\",\"more\":\"{}\"}}", "x".repeat(300));
    let reused = format!("{{\"pid\":1,\"at\":\"{}\"}}", Timestamp::from_unix_ms(0));
    let other_boot = format!("{{\"pid\":1,\"at\":\"{now}\",\"bootId\":\"another\"}}");
    let our_own = format!("{{\"pid\":{pid},\"at\":\"{now}\"}}");
    let huge = "x".repeat(3 * MAX_BYTES);
    for stale in ["", "{half", "null", "{}", "\0\0", &long, &reused, &other_boot, &our_own, &huge] {
        let scene = Scene::new();
        leave(&scene, stale);
        let held = acquire(&scene).unwrap_or_else(|error| panic!("{stale:?}: {error}"));
        assert_eq!(note(&scene).pid, i64::from(pid), "{stale:?}");
        assert!(acquire(&scene).is_err());
        drop(held);
        assert!(!scene.run().step_lock().exists());
    }
}

#[test]
fn a_live_process_of_the_original_tool_is_respected() {
    let scene = Scene::new();
    let at = Clock::System.now();
    leave(&scene, &format!("{{\"pid\":1,\"at\":\"{at}\"}}"));
    let error = acquire(&scene).unwrap_err();
    assert!(error.to_string().contains(&format!("(pid 1, since {at})")), "{error}");
    assert!(scene.run().step_lock().exists());
}

#[test]
fn a_lock_ends_with_its_process_however_that_ends() {
    let scene = Scene::new();
    let test = "store::lock::tests::takes_the_lock_and_dies_by_the_hardest_signal";
    let output = scene.run_test("\"$@\"; true", test);
    assert!(output.status.success());
    assert!(scene.run().step_lock().exists(), "it had no time to tidy up");
    let died = note(&scene).pid;
    assert_ne!(died, i64::from(std::process::id()));
    drop(acquire(&scene).unwrap());
}

/// The other process of [`a_lock_ends_with_its_process_however_that_ends`].
#[test]
fn takes_the_lock_and_dies_by_the_hardest_signal() {
    let Some((layout, home)) = scene_of_parent() else { return };
    let _held = StepLock::acquire(&layout, &home, Clock::System.now()).unwrap();
    let this = rustix::process::getpid();
    rustix::process::kill_process(this, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn many_at_once_get_it_one_after_another_and_never_two_together() {
    let scene = Scene::new();
    let inside = std::sync::atomic::AtomicU32::new(0);
    let got = std::sync::atomic::AtomicU32::new(0);
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let Ok(held) = acquire(&scene) else { continue };
                    assert_eq!(inside.fetch_add(1, order), 0, "two held it together");
                    let mut text = String::new();
                    File::open(scene.run().step_lock()).unwrap().read_to_string(&mut text).unwrap();
                    assert!(serde_json::from_str::<Note>(&text).is_ok(), "{text:?}");
                    inside.fetch_sub(1, order);
                    got.fetch_add(1, order);
                    drop(held);
                }
            });
        }
    });
    assert!(got.load(order) > 0);
}
