//! Parks on disk: set, answered, cleared, and what survives a rewrite or a crash.

use std::fs;

use ratchet_engine::park::NewPark;
use ratchet_engine::time::Timestamp;

use super::*;
use crate::store::journal::with_lock;
use crate::store::testing::{Scene, scene_of_parent};

fn key(text: &str) -> StepKey {
    StepKey::from_text(text)
}

fn new_park(of: &str, kind: ParkKind, reason: &str) -> Park {
    let reason = reason.to_owned();
    let park = NewPark {
        key: key(of),
        kind,
        reason,
        transition: StepKind::Apply,
        retry: false,
        cause: None,
        retry_at: None,
    };
    park.at(Timestamp::from_unix_ms(0))
}

fn with_state(bytes: &[u8]) -> Scene {
    let scene = Scene::with_journal(b"");
    fs::write(scene.run().state(), bytes).unwrap();
    scene
}

fn change(scene: &Scene, act: impl FnOnce(&mut RunState)) {
    with_lock(&scene.run(), |writer| {
        let mut state = RunState::read(&scene.run())?;
        act(&mut state);
        state.write(writer)
    })
    .unwrap();
}

fn text(scene: &Scene) -> String {
    fs::read_to_string(scene.run().state()).unwrap()
}

// B-G02
#[test]
fn a_park_takes_an_answer_and_stays() {
    let scene = Scene::new();
    change(&scene, |state| state.set(&new_park("a", ParkKind::Blocked, "Which yarn?")));
    change(&scene, |state| assert!(state.answer(&key("a"), "blue")));
    let park = RunState::read(&scene.run()).unwrap().park(&key("a")).unwrap();
    assert_eq!((park.kind, park.answer.as_deref()), (ParkKind::Blocked, Some("blue")));
    let expected = r#"{
  "parked": {
    "a": {
      "parkedAt": "1970-01-01T00:00:00.000Z",
      "change": "a",
      "kind": "blocked",
      "reason": "Which yarn?",
      "answer": "blue",
      "transition": "apply"
    }
  }
}
"#;
    assert_eq!(text(&scene), expected);
}

// B-G03
#[test]
fn a_reject_stores_its_feedback() {
    let scene = Scene::new();
    change(&scene, |state| state.set(&new_park("a", ParkKind::AwaitingApproval, "done")));
    change(&scene, |state| assert!(state.reject(&key("a"), "no")));
    let park = RunState::read(&scene.run()).unwrap().park(&key("a")).unwrap();
    assert_eq!((park.feedback.as_deref(), park.approved), (Some("no"), Some(false)));
}

// B-G04
#[test]
fn clearing_removes_the_park() {
    let scene = Scene::new();
    change(&scene, |state| state.set(&new_park("a", ParkKind::AwaitingApproval, "done")));
    change(&scene, |state| assert!(state.clear(&key("a")) && !state.clear(&key("b"))));
    assert!(RunState::read(&scene.run()).unwrap().parks().is_empty());
    assert_eq!(text(&scene), "{\n  \"parked\": {}\n}\n");
}

#[test]
fn parking_again_forgets_the_old_answer() {
    let scene = Scene::new();
    change(&scene, |state| state.set(&new_park("a", ParkKind::Blocked, "one?")));
    change(&scene, |state| assert!(state.answer(&key("a"), "blue")));
    change(&scene, |state| state.set(&new_park("a", ParkKind::Blocked, "two?")));
    assert_eq!(RunState::read(&scene.run()).unwrap().park(&key("a")).unwrap().answer, None);
}

#[test]
fn a_decision_about_a_step_that_is_not_parked_is_refused() {
    let mut state = RunState::default();
    assert!(!state.answer(&key("a"), "x") && !state.reject(&key("a"), "x"));
}

#[test]
fn a_broken_file_is_empty_and_kept_before_it_is_replaced() {
    let park = r#"{"parked":{"a":{"kind":"blocked","reason":"?"}}}"#;
    let marked = format!("\u{feff}{park}");
    for broken in ["{\"parked\": {\"a\": {\"kind\": \"blo", "[]", "7", "\0\0\0", &marked] {
        let scene = with_state(broken.as_bytes());
        let read = RunState::read(&scene.run()).unwrap();
        assert!(read.is_broken() && read.parks().is_empty(), "{broken:?}");
        for of in ["a", "b"] {
            change(&scene, |state| state.set(&new_park(of, ParkKind::Blocked, "?")));
        }
        assert_eq!(fs::read_to_string(scene.run().broken_state(1)).unwrap(), broken);
        assert!(!scene.run().broken_state(2).exists());
        fs::write(scene.run().state(), "again").unwrap();
        change(&scene, |state| state.set(&new_park("a", ParkKind::Blocked, "?")));
        assert_eq!(fs::read_to_string(scene.run().broken_state(2)).unwrap(), "again");
    }
}

#[test]
fn an_empty_file_and_null_are_no_parks_and_not_worth_keeping() {
    for empty in ["", "null", "{}", r#"{"parked":null}"#] {
        let scene = with_state(empty.as_bytes());
        assert!(RunState::read(&scene.run()).unwrap().parks().is_empty(), "{empty:?}");
        change(&scene, |state| state.set(&new_park("a", ParkKind::Blocked, "?")));
        assert!(!scene.run().broken_state(1).exists(), "{empty:?}");
    }
}

#[test]
fn what_other_versions_wrote_survives_a_rewrite() {
    let scene = with_state(
        br#"{"version":3,"parked":{"b":{"kind":"resting","until":5},"c":"odd",
            "d":{"kind":"blocked","reason":"?","colour":"red"}}}"#,
    );
    let parks = RunState::read(&scene.run()).unwrap().parks();
    assert_eq!(parks.keys().map(StepKey::as_str).collect::<Vec<_>>(), ["d"]);
    change(&scene, |state| assert!(state.answer(&key("d"), "yes")));
    let value: Value = serde_json::from_str(&text(&scene)).unwrap();
    assert_eq!(value["version"], 3);
    assert_eq!(value["parked"]["b"]["until"], 5);
    assert_eq!(value["parked"]["c"], "odd");
    assert_eq!(value["parked"]["d"]["colour"], "red");
    assert_eq!(value["parked"]["d"]["answer"], "yes");
}

#[test]
fn a_file_that_says_what_it_is_to_say_is_not_touched() {
    let scene = with_state(b"{\"parked\":{}}");
    change(&scene, |state| assert!(!state.clear(&key("a"))));
    assert_eq!(text(&scene), "{\"parked\":{}}");
}

#[test]
fn clearing_makes_the_file_as_the_original_tool_does() {
    let scene = Scene::new();
    change(&scene, |state| assert!(!state.clear(&key("a"))));
    assert_eq!(text(&scene), "{\n  \"parked\": {}\n}\n");
}

#[test]
fn a_process_that_dies_beside_the_file_leaves_the_old_one_whole() {
    let scene = with_state(b"{\"parked\":{}}");
    let output = scene.run_test("\"$@\"; true", "store::run_state::tests::dies_before_the_rename");
    assert!(output.status.success());
    assert_eq!(text(&scene), "{\"parked\":{}}");
    change(&scene, |state| state.set(&new_park("a", ParkKind::Blocked, "?")));
    assert_eq!(RunState::read(&scene.run()).unwrap().parks().len(), 1);
}

/// The other process of [`a_process_that_dies_beside_the_file_leaves_the_old_one_whole`].
#[test]
fn dies_before_the_rename() {
    let Some((layout, home)) = scene_of_parent() else { return };
    let run = layout.run(&home);
    with_lock(&run, |_| -> Result<(), FileError> {
        let mut beside = crate::store::file::beside(run.dir(), 0o666).unwrap();
        std::io::Write::write_all(&mut beside, b"{\"parked\": {\"a\"").unwrap();
        let this = rustix::process::getpid();
        rustix::process::kill_process(this, rustix::process::Signal::KILL).unwrap();
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_state_of_any_size_is_an_error_and_not_nothing() {
    let scene = with_state(b"");
    let file = fs::File::options().write(true).open(scene.run().state()).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = RunState::read(&scene.run()).unwrap_err();
    assert!(error.to_string().ends_with("state.json: it is larger than 64 MiB"), "{error}");
}
