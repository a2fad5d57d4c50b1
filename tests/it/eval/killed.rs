//! SIGKILL at random instants: the user's tree is as it was, and the next evaluation leaves nothing of the last one.

use std::time::Duration;

use ratchet_tests::{TestEnv, wait};
use rustix::process::Signal;

use super::{assert_nothing_left, mutate, outcome, seeder, shop_with, tree, verdicts};

/// How many instants; `RATCHET_KILLS` asks for more.
fn rounds() -> u32 {
    std::env::var("RATCHET_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

fn kill_after(env: &TestEnv, delay: Duration) {
    let mut running = mutate(env, &format!("sleep 0.02; {}", seeder()), &["--jobs", "2"]).start();
    wait::within(delay, || running.has_ended());
    if !running.has_ended() {
        running.signal(Signal::KILL);
    }
    drop(running.wait());
}

#[test]
fn a_kill_at_any_instant_leaves_the_users_tree_as_it_was_and_the_next_run_nothing_of_the_last() {
    let env = shop_with("sleep 0.02; sh tests/strong.sh", 5, 5);
    let before = tree(&env);
    let mut dice = fastrand::Rng::with_seed(7);
    for round in 0..rounds() {
        kill_after(&env, Duration::from_millis(dice.u64(0..900)));
        assert_eq!(tree(&env), before, "round {round}");
    }
    let result = outcome(&env, &seeder(), &[]);
    assert_eq!(verdicts(&result), ["killed"; 5]);
    assert_eq!(tree(&env), before);
    assert_nothing_left(&env);
}

#[test]
fn an_interrupt_stops_everything_and_the_run_can_go_on() {
    let env = shop_with("sh tests/strong.sh", 5, 5);
    let before = tree(&env);
    let agent = format!(
        "{}; test $n != 2 || sleep 1000; sh {}/faults/$n.sh",
        super::NUMBER,
        super::fixture().display()
    );
    let mut running = mutate(&env, &agent, &[]).start();
    let runs = env.path(".ratchet/evals/runs");
    wait::until("two attempts to be judged", || running.has_ended() || judged(&runs) == 2);
    running.signal(Signal::INT);
    let finished = running.wait();
    assert!(finished.stderr().contains("--resume"), "{}", finished.stderr());
    assert_eq!(tree(&env), before);
    assert_nothing_left(&env);
    let run = std::fs::read_dir(&runs)
        .expect("there are runs")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .next()
        .expect("there is a run");
    let whole = outcome(&env, &seeder(), &["--resume", &run]);
    assert_eq!(verdicts(&whole), ["killed"; 5]);
}

/// How many attempts are on disk.
fn judged(runs: &std::path::Path) -> usize {
    let mut found = 0;
    let mut folders = vec![runs.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if name.starts_with("attempt-") && name.ends_with(".json") {
                found += 1;
            }
        }
    }
    found
}
