//! Intents on disk: written once, found again, damaged, of another version.

use std::fs;

use ratchet_engine::settings::GateMode;
use ratchet_engine::transition::StepKind;

use super::*;
use crate::store::journal::with_lock;
use crate::store::testing::Scene;

fn intent(spawn: &str) -> Inflight {
    let key = StepKey::from_text("a");
    let task = Task::Step(StepTask {
        subject: Subject {
            key: key.clone(),
            kind: StepKind::Apply,
            gate: GateMode::AfterPropose,
            is_reply: true,
        },
        change: Some(ChangeName::parse("a").unwrap()),
        before: Some(ChangeFacts { exists: true, has_plan: true, ..ChangeFacts::default() }),
        agent: AgentName::new("claude"),
        model: None,
        via: None,
    });
    let spawn = SpawnId::parse(spawn).unwrap();
    Inflight::new(
        spawn,
        key,
        task,
        Place { locus: Locus::Local, spawns: "/h/spawns".into() },
        Timestamp::from_unix_ms(0),
    )
}

fn write(scene: &Scene, intent: &Inflight) -> Result<(), InflightError> {
    with_lock(&scene.run(), |writer| intent.write(writer))
}

fn put(scene: &Scene, text: &str) {
    fs::create_dir_all(scene.run().dir()).unwrap();
    fs::write(scene.run().inflight(), text).unwrap();
}

#[test]
fn an_intent_is_read_as_it_was_written_and_gone_once_cleared() {
    let scene = Scene::new();
    assert_eq!(Inflight::read(&scene.run()).unwrap(), None);
    write(&scene, &intent("s1")).unwrap();
    assert_eq!(Inflight::read(&scene.run()).unwrap(), Some(intent("s1")));
    let clear = |spawn: &str| {
        let spawn = SpawnId::parse(spawn).unwrap();
        with_lock(&scene.run(), |writer| Inflight::clear(writer, &spawn)).unwrap();
    };
    clear("s2");
    assert!(scene.run().inflight().exists(), "that is another spawn's");
    clear("s1");
    clear("s1");
    assert!(!scene.run().inflight().exists());
}

#[test]
fn an_intent_that_was_not_concluded_is_not_overwritten() {
    let scene = Scene::new();
    write(&scene, &intent("s1")).unwrap();
    let error = write(&scene, &intent("s2")).unwrap_err();
    assert!(matches!(error, InflightError::Unfinished { .. }), "{error:?}");
    let same = Inflight { reach: Some("container-1".to_owned()), ..intent("s1") };
    write(&scene, &same).unwrap();
    assert_eq!(Inflight::read(&scene.run()).unwrap(), Some(same));
}

#[test]
fn a_newer_format_is_read_if_it_can_be_and_never_written_back() {
    let scene = Scene::new();
    let mut value = serde_json::to_value(intent("s1")).unwrap();
    value["version"] = 2.into();
    value["colour"] = "red".into();
    put(&scene, &value.to_string());
    let read = Inflight::read(&scene.run()).unwrap().unwrap();
    assert_eq!((read.version, read.spawn.as_str()), (2, "s1"));
    assert!(matches!(write(&scene, &intent("s1")), Err(InflightError::Newer { .. })));
    put(&scene, r#"{"version":9,"what":"else"}"#);
    let error = Inflight::read(&scene.run()).unwrap_err();
    assert!(matches!(error, InflightError::Newer { version: 9, .. }), "{error:?}");
}

#[test]
fn a_damaged_intent_is_an_error_and_can_be_discarded() {
    let scene = Scene::new();
    for broken in ["", "{\"version\":1", "null", "{\"version\":1}"] {
        put(&scene, broken);
        let error = Inflight::read(&scene.run()).unwrap_err();
        assert!(matches!(error, InflightError::Broken { .. }), "{broken:?}: {error:?}");
        assert!(write(&scene, &intent("s1")).is_err(), "{broken:?}");
    }
    with_lock(&scene.run(), discard).unwrap();
    write(&scene, &intent("s1")).unwrap();
}

#[test]
fn an_intent_cannot_name_a_folder_elsewhere() {
    let scene = Scene::new();
    for (member, text) in [("/spawn", "../../etc"), ("/task/step/change", "../x")] {
        let mut value = serde_json::to_value(intent("s1")).unwrap();
        *value.pointer_mut(member).unwrap() = text.into();
        put(&scene, &value.to_string());
        let error = Inflight::read(&scene.run()).unwrap_err();
        assert!(matches!(error, InflightError::Broken { .. }), "{member}: {error:?}");
    }
}
