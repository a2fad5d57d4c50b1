//! The supervisor dies, the command does not: it is found again, its output whole, its outcome recorded once.

use ratchet_tests::wait;
use rustix::process::Signal;

use super::{HONEST, Place, World, at_each_place, blocker};
use crate::crash::CRASH_VAR;

at_each_place! {
    one_that_runs_is_found_again_and_its_output_is_whole
    one_that_ended_meanwhile_is_found_with_its_end
    an_intent_whose_command_never_started_starts_it_once
    one_whose_supervisor_died_after_the_start_is_not_started_again
    a_shim_that_was_killed_is_lost_and_leaves_nothing
    a_spawn_folder_that_was_removed_is_told_and_its_command_ended
}

fn one_that_runs_is_found_again_and_its_output_is_whole(place: Place) {
    let world = World::new(place);
    let script = format!(
        "echo one; touch here; while [ ! -e go ]; do sleep 0.02; done; echo two; {HONEST} > /dev/null"
    );
    let running = world.apply(&script).embedded().start();
    wait::until_exists(&world.there("here"));
    running.signal(Signal::KILL);
    running.wait();
    let again = world.apply("echo started again").start();
    wait::until_exists(&world.there("here"));
    std::fs::write(world.there("go"), "").expect("the agent is told to go on");
    again.wait().assert_code(0);
    assert_eq!(world.output(), b"one\ntwo\n");
    assert_eq!(world.outcomes().len(), 1, "{:#?}", world.outcomes());
    world.assert_clean();
}

fn one_that_ended_meanwhile_is_found_with_its_end(place: Place) {
    let world = World::new(place);
    let script =
        format!("touch here; while [ ! -e go ]; do sleep 0.02; done; {HONEST}; touch over");
    let running = world.apply(&script).embedded().start();
    wait::until_exists(&world.there("here"));
    running.signal(Signal::KILL);
    running.wait();
    std::fs::write(world.there("go"), "").expect("the agent is told to go on");
    wait::until_exists(&world.there("over"));
    let step = world.step("echo started again");
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!(world.outcomes().len(), 1, "{:#?}", world.outcomes());
    world.assert_clean();
}

fn an_intent_whose_command_never_started_starts_it_once(place: Place) {
    let world = World::new(place);
    let script = format!("echo ran >> runs; {HONEST}");
    world.apply(&script).embedded().var(CRASH_VAR, "intend").run();
    let step = world.step(&script);
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!(world.env.read("runs"), "ran\n");
    world.assert_clean();
}

fn one_whose_supervisor_died_after_the_start_is_not_started_again(place: Place) {
    let world = World::new(place);
    let script = format!("echo ran >> runs; {HONEST}");
    world.apply(&script).embedded().var(CRASH_VAR, "act").run();
    let step = world.step(&script);
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!(world.env.read("runs"), "ran\n");
    world.assert_clean();
}

fn a_shim_that_was_killed_is_lost_and_leaves_nothing(place: Place) {
    let world = World::new(place);
    let running = world.apply("touch here; sleep 1000").start();
    wait::until_exists(&world.there("here"));
    let shim = world.env.processes().into_iter().find(|process| {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"shim")
    });
    let shim = shim.expect("the shim is a process of this world");
    ratchet_tests::process::signal(shim.pid, Signal::KILL);
    let step = running.wait().assert_code(0);
    let entry = &world.outcomes()[0];
    assert!(entry["message"].to_string().contains("shim was killed"), "{entry:#}\n{step}");
    world.assert_clean();
}

fn a_spawn_folder_that_was_removed_is_told_and_its_command_ended(place: Place) {
    let world = World::new(place);
    let running = world.apply("touch here; sleep 1000").embedded().start();
    wait::until_exists(&world.there("here"));
    running.signal(Signal::KILL);
    running.wait();
    std::fs::remove_dir_all(world.spawns()).expect("the spawns can be removed");
    let step = world.step("echo started again");
    assert!(blocker(&step).contains("was removed"), "{step:#}");
    world.assert_clean();
}
