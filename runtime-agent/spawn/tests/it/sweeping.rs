//! What is swept away, and what never is.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use ratchet_spawn::retention::{Keep, sweep};
use ratchet_spawn::{
    Attachment, Position, SpawnDir, StopRequest, abandon, end_strays, launch, request_stop,
};

use crate::harness::{Place, environment, line, outcome, shim_command, start};

const EVERYTHING: Keep = Keep { max_age: Some(Duration::ZERO), max_total_bytes: None };

async fn ended(place: &Place, name: &str) -> SpawnDir {
    let mut request = place.shell("echo output");
    request.id = place.id(name);
    place.run(&request).await;
    SpawnDir::open(&place.root(), &request.id).unwrap()
}

fn tomorrow() -> SystemTime {
    SystemTime::now() + Duration::from_secs(86_400)
}

#[tokio::test]
async fn ended_and_abandoned_spawns_go_running_and_coming_ones_stay() {
    let place = Place::new();
    ended(&place, "ended").await;
    let mut request = place.shell("exit 0");
    request.id = place.id("abandoned");
    let _ = abandon(&place.create(&request)).unwrap();
    request.id = place.id("coming");
    let coming = place.create(&request);
    let mut running = place.shell("echo ready; exec sleep 1000");
    running.id = place.id("running");
    let running = place.create(&running);
    let _shim = start(&running);
    line(&mut Attachment::open(&running, Position::START).unwrap()).await;

    let swept = sweep(&place.root(), tomorrow(), &EVERYTHING, &BTreeSet::new()).unwrap();
    let removed: BTreeSet<_> = swept.removed.into_iter().collect();
    assert_eq!(removed, BTreeSet::from([place.id("ended"), place.id("abandoned")]));
    assert!(running.path().exists() && coming.path().exists());
    request_stop(&running, &StopRequest { by: "test".into(), grace_ms: None }).unwrap();
    outcome(&running).await;
}

#[tokio::test]
async fn what_is_young_or_wanted_stays() {
    let place = Place::new();
    ended(&place, "one").await;
    ended(&place, "two").await;
    let hour = Keep { max_age: Some(Duration::from_secs(3600)), max_total_bytes: None };
    let now = SystemTime::now();
    assert_eq!(sweep(&place.root(), now, &hour, &BTreeSet::new()).unwrap().removed, []);
    let wanted = BTreeSet::from([place.id("one")]);
    let swept = sweep(&place.root(), tomorrow(), &hour, &wanted).unwrap();
    assert_eq!(swept.removed, [place.id("two")]);
}

#[tokio::test]
async fn the_oldest_go_first_until_the_rest_fits() {
    let place = Place::new();
    for name in ["a-first", "b-second", "c-third"] {
        ended(&place, name).await;
    }
    let nothing = Keep { max_age: None, max_total_bytes: None };
    let all = sweep(&place.root(), tomorrow(), &nothing, &BTreeSet::new()).unwrap();
    assert_eq!(all.removed, []);
    let most = Keep { max_age: None, max_total_bytes: Some(all.left_bytes - 1) };
    let swept = sweep(&place.root(), tomorrow(), &most, &BTreeSet::new()).unwrap();
    assert_eq!(swept.removed, [place.id("a-first")]);
    assert!(swept.left_bytes < all.left_bytes);
}

#[test]
fn a_root_that_is_not_there_holds_nothing() {
    let place = Place::new();
    let swept = sweep(&place.root(), tomorrow(), &EVERYTHING, &BTreeSet::new()).unwrap();
    assert_eq!((swept.removed.len(), swept.left_bytes), (0, 0));
}

#[tokio::test]
async fn what_somebody_still_needs_is_never_swept() {
    let place = Place::new();
    let needed_by = place.path().join("inflight.json");
    let mut request = place.shell("echo output");
    request.needed_by = Some(needed_by.clone());
    place.run(&request).await;
    let nothing = Keep { max_age: Some(Duration::ZERO), max_total_bytes: Some(0) };
    let sweep = || sweep(&place.root(), tomorrow(), &nothing, &BTreeSet::new()).unwrap().removed;
    // It names the spawn somewhere in the first mebibyte.
    std::fs::write(&needed_by, format!("{{\"spawn\":\"{}\"}}", request.id)).unwrap();
    assert_eq!(sweep(), []);
    let far = |blanks: usize| " ".repeat(blanks) + request.id.as_str();
    std::fs::write(&needed_by, far((1 << 20) - request.id.as_str().len())).unwrap();
    assert_eq!(sweep(), []);
    std::fs::write(&needed_by, far(1 << 20)).unwrap();
    assert_eq!(sweep(), std::slice::from_ref(&request.id));
}

#[tokio::test]
async fn what_nobody_needs_any_more_is_swept() {
    let place = Place::new();
    let mut request = place.shell("echo output");
    request.needed_by = Some(place.path().join("inflight.json"));
    let sweep = || sweep(&place.root(), tomorrow(), &EVERYTHING, &BTreeSet::new()).unwrap().removed;
    for (name, content) in [("gone", None), ("another", Some("{\"spawn\":\"another\"}"))] {
        request.id = place.id(name);
        place.run(&request).await;
        if let Some(content) = content {
            std::fs::write(place.path().join("inflight.json"), content).unwrap();
        }
        assert_eq!(sweep(), std::slice::from_ref(&request.id));
    }
}

#[tokio::test]
async fn a_spawn_whose_asker_died_before_it_meant_it_goes_and_never_starts() {
    let place = Place::new();
    let needed_by = place.path().join("inflight.json");
    let mut request = place.shell("echo output");
    request.needed_by = Some(needed_by.clone());
    let dir = place.create(&request);
    let sweep = |now| sweep(&place.root(), now, &EVERYTHING, &BTreeSet::new()).unwrap().removed;
    assert_eq!(
        sweep(SystemTime::now() + Duration::from_secs(60)),
        [],
        "it may be about to be meant"
    );
    std::fs::write(&needed_by, request.id.as_str()).unwrap();
    assert_eq!(sweep(tomorrow()), [], "it is meant, and may start any time");
    std::fs::remove_file(&needed_by).unwrap();
    assert_eq!(sweep(tomorrow()), std::slice::from_ref(&request.id));
    assert!(launch(&dir, &shim_command(), environment()).is_err(), "there is nothing to start");
}

#[tokio::test]
async fn a_lost_spawn_stays_as_long_as_something_of_it_lives() {
    let place = Place::new();
    let hidden =
        "setsid sh -c 'echo $$ > pid; exec sleep 1000' > /dev/null 2>&1 & echo ready; wait";
    let dir = place.create(&place.shell(hidden));
    let mut shim = start(&dir);
    line(&mut Attachment::open(&dir, Position::START).unwrap()).await;
    let file = place.path().join("pid");
    while std::fs::read_to_string(&file).unwrap_or_default().is_empty() {
        tokio::task::yield_now().await;
    }
    shim.kill();
    let sweep = || sweep(&place.root(), tomorrow(), &EVERYTHING, &BTreeSet::new()).unwrap().removed;
    assert_eq!(sweep(), []);
    assert!(!end_strays(&dir).unwrap().is_empty());
    assert_eq!(sweep(), std::slice::from_ref(dir.id()));
}
