//! The reaper: what nobody uses any more goes, in whatever state; what is in use, young or not ours stays.

use ratchet_tests::engine::docker;
use ratchet_tests::wait;
use rustix::process::Signal;
use serde_json::Value;

use super::world;
use crate::runtime::World;

/// A container that looks like one of ours, made by hand.
fn planted(world: &World, name: &str, spawn: &str, command: &[&str], run: &str) -> String {
    let folder = format!("dev.ratchet.spawns={}", world.spawns());
    let spawn = format!("dev.ratchet.spawn={spawn}");
    let mut words = vec![run, "--name", name, "--label", &folder, "--label", &spawn];
    if run == "run" {
        words.push("--detach");
    }
    words.push("ratchet-test:busybox");
    words.extend(command);
    docker(words)
}

fn reap(world: &World, more: &[&str]) -> Vec<(String, String)> {
    let words = ["doctor", "--reap"].into_iter().chain(more.iter().copied());
    let found = world.env.ratchet(words).json();
    let mut own: Vec<(String, String)> = found["found"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            [&one["name"], &one["fate"]]
                .map(|text: &Value| text.as_str().unwrap_or_default().to_owned())
        })
        .map(|[name, fate]| (name, fate))
        .filter(|(name, _)| name.contains("reap-"))
        .collect();
    own.sort();
    own
}

#[test]
fn what_is_left_behind_goes_in_every_state_and_nothing_else() {
    let world = world(&[]);
    std::fs::create_dir_all(world.spawns()).expect("a folder");
    let unique = std::process::id();
    let name = |what: &str| format!("reap-{what}-{unique}");
    let [created, exited, running, foreign] = ["created", "exited", "running", "foreign"].map(name);
    planted(&world, &created, "s-created", &["true"], "create");
    planted(&world, &exited, "s-exited", &["true"], "run");
    planted(&world, &running, "s-running", &["sleep", "1000"], "run");
    docker(["run", "--detach", "--name", &foreign, "ratchet-test:busybox", "sleep", "1000"]);
    let network = name("network");
    let folder = format!("dev.ratchet.spawns={}", world.spawns());
    docker([
        "network",
        "create",
        "--label",
        &folder,
        "--label",
        "dev.ratchet.spawn=s-net",
        &network,
    ]);
    let volume = name("volume");
    docker(["volume", "create", "--label", &folder, "--label", "dev.ratchet.spawn=s-vol", &volume]);

    let states = |fate: &str| {
        let mut all = [&created, &exited, &running, &network, &volume]
            .map(|name| (name.clone(), fate.to_owned()));
        all.sort();
        all.to_vec()
    };
    let young: Vec<String> =
        reap(&world, &["--dry-run", "--grace", "1h"]).into_iter().map(|(_, fate)| fate).collect();
    assert_eq!(young.iter().filter(|fate| *fate == "kept").count(), 3, "{young:?}");
    assert_eq!(reap(&world, &["--dry-run", "--grace", "0s"]), states("removable"));
    assert_eq!(
        reap(&world, &["--dry-run", "--grace", "0s"]),
        states("removable"),
        "a dry run removes nothing"
    );
    assert_eq!(reap(&world, &["--grace", "0s"]), states("removed"));
    assert_eq!(reap(&world, &["--grace", "0s"]), []);
    let left = docker(["ps", "--quiet", "--filter", &format!("name={foreign}")]);
    docker(["rm", "--force", &foreign]);
    assert!(!left.is_empty(), "a container of somebody else was touched");
}

#[test]
fn a_container_whose_shim_lives_stays_and_one_whose_supervisor_died_goes_with_its_step() {
    let world = world(&[]);
    let running =
        world.apply("touch here; while [ ! -e go ]; do sleep 0.02; done").embedded().start();
    wait::until_exists(&world.env.path("here"));
    running.signal(Signal::KILL);
    running.wait();
    world.env.ratchet(["doctor", "--reap", "--grace", "0s"]).ok();
    assert_eq!(world.containers().len(), 1, "the shim lives");
    world.env.write("go", "");
    let container = world.containers().pop().expect("one container");
    wait::until("the step to end", || {
        docker(["inspect", "--format", "{{.State.Status}}", &container]) == "exited"
    });
    let text = world.env.ratchet(["doctor", "--reap", "--grace", "0s"]).ok();
    text.says("removed");
    assert_eq!(world.containers(), Vec::<String>::new());
}
