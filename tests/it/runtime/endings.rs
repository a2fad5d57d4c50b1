//! How a command ends: by itself, by a signal, by a limit, by a person, and what it leaves behind.

use ratchet_tests::wait;

use super::{HONEST, Place, World, at_each_place, blocker};

at_each_place! {
    an_exit_code_is_told_as_it_is
    a_death_by_a_signal_is_told_as_one
    the_wall_limit_ends_it
    the_idle_limit_ends_it
    the_start_limit_ends_it
    the_output_limit_ends_it
    what_it_leaves_running_is_ended_and_told
    cancel_ends_it_and_everything_it_started
    one_that_ignores_the_request_is_killed_after_the_grace
    many_short_steps_leave_nothing
}

fn an_exit_code_is_told_as_it_is(place: Place) {
    let world = World::new(place);
    let step = world.step(&format!("{HONEST}; exit 42"));
    assert!(blocker(&step).contains("42"), "{step:#}");
    world.assert_clean();
}

fn a_death_by_a_signal_is_told_as_one(place: Place) {
    let world = World::new(place);
    let step = world.step("kill -9 $$");
    assert!(blocker(&step).contains("SIGKILL"), "{step:#}");
    assert_eq!(step.get("exitCode").filter(|code| !code.is_null()), None, "{step:#}");
    world.assert_clean();
}

fn the_wall_limit_ends_it(place: Place) {
    let world = World::with(place, &["agentTimeoutMs: 400"]);
    let step = world.step("while true; do echo busy; sleep 0.05; done");
    let text = blocker(&step);
    assert!(text.contains("timed out") && text.contains("400"), "{text}");
    world.assert_clean();
}

fn the_idle_limit_ends_it(place: Place) {
    let world = World::with(place, &["agentIdleTimeoutMs: 400"]);
    let step = world.step("echo working on it; sleep 1000");
    assert!(blocker(&step).contains("idle"), "{step:#}");
    world.assert_clean();
}

fn the_start_limit_ends_it(place: Place) {
    let world = World::with(place, &["agentStartTimeoutMs: 300"]);
    let step = world.step("sleep 1000");
    assert!(blocker(&step).contains("start"), "{step:#}");
    world.assert_clean();
}

fn the_output_limit_ends_it(place: Place) {
    let world = World::with(place, &["agentOutputLimitBytes: 10000"]);
    let step = world.step("yes");
    assert!(blocker(&step).contains("10000"), "{step:#}");
    assert_eq!(world.output().len(), 10_000);
    world.assert_clean();
}

fn what_it_leaves_running_is_ended_and_told(place: Place) {
    let world = World::new(place);
    let step = world.step(&format!("setsid sleep 1000 > /dev/null 2>&1 & {HONEST}"));
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert!(step["notes"].to_string().contains("left running"), "{step:#}");
    world.assert_clean();
}

fn cancel_ends_it_and_everything_it_started(place: Place) {
    let world = World::new(place);
    let running =
        world.apply("setsid sleep 1000 & nohup sleep 1000 & touch here; sleep 1000").start();
    wait::until_exists(&world.there("here"));
    let answer = world.env.ratchet(["batch", "cancel"]).json();
    assert_eq!(answer["state"], "stopped", "{answer:#}");
    running.wait();
    world.assert_clean();
    assert_eq!(world.outcomes().len(), 1, "{:#?}", world.outcomes());
}

fn one_that_ignores_the_request_is_killed_after_the_grace(place: Place) {
    let world = World::new(place);
    let running = world.apply("trap '' TERM; touch here; while true; do sleep 0.1; done").start();
    wait::until_exists(&world.there("here"));
    world.env.ratchet(["batch", "cancel"]).ok();
    running.wait();
    world.assert_clean();
}

fn many_short_steps_leave_nothing(place: Place) {
    let world = World::new(place);
    for _ in 0..3 {
        blocker(&world.step("true"));
        world.env.ratchet(["batch", "report", "--change", "add-api", "--answer", "again"]).ok();
    }
    world.assert_clean();
    assert_eq!(world.outcomes().len(), 3);
}
