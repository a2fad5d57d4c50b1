//! Faults in the user's own tree (`--in-place`): undone after every attempt, repaired after a kill, and never on top of what
//! somebody has worked on.

use std::fs;

use ratchet_tests::{TestEnv, wait};
use rustix::process::Signal;

use super::{mutate, outcome, seeder, shop_with, tree, verdicts};

/// The tree without what git keeps and without times: a file that was restored is younger than it was.
fn contents(env: &TestEnv) -> Vec<String> {
    let line = |line: &String| {
        let mut words = line.splitn(4, ' ');
        let (name, mode) = (words.next()?, words.next()?);
        let _time = words.next();
        let content = words.next().unwrap_or_default();
        let ours = name == ".git" || name.starts_with(".git/");
        (!ours).then(|| format!("{name} {mode} {content}"))
    };
    tree(env).iter().filter_map(line).collect()
}

#[test]
fn the_known_answers_are_found_in_place_too_and_everything_is_undone() {
    let env = shop_with("test -d build && sh tests/weak.sh", 5, 3);
    fs::create_dir_all(env.path("build/empty")).expect("a folder is made");
    env.write("build/out", "ignored\n");
    fs::create_dir_all(env.path(".ratchet/standards")).expect("a folder is made");
    let before = contents(&env);
    let index = env.read_bytes(".git/index");
    let result = outcome(&env, &seeder(), &["--in-place"]);
    assert_eq!(verdicts(&result), ["killed", "survived", "killed", "survived", "killed"]);
    assert_eq!(contents(&env), before);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert!(!index.is_empty());
    assert!(!env.path(".git/ratchet/mutation-guard.json").exists());
}

#[test]
fn an_agent_that_commits_in_place_ends_the_run_and_the_branch_is_back() {
    let env = shop_with("sh tests/strong.sh", 2, 1);
    let (before, head) = (contents(&env), env.git(&["rev-parse", "HEAD"]));
    let agent = format!("{}; git -c user.name=a -c user.email=a@b commit -qam x", seeder());
    let result = outcome(&env, &agent, &["--in-place"]);
    assert_eq!(result["outcome"]["status"], "unevaluable");
    let evidence = result["outcome"]["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("could not run") && evidence.contains("moved HEAD"), "{evidence}");
    assert_eq!((contents(&env), env.git(&["rev-parse", "HEAD"])), (before, head));
}

/// Kills an evaluation in place while the tests run on a planted fault.
fn killed_with_a_fault(env: &TestEnv) {
    let mut running = mutate(env, &seeder(), &["--in-place"]).start();
    wait::until("a fault to be judged", || {
        running.has_ended() || env.base().join("home/judging").exists()
    });
    running.signal(Signal::KILL);
    drop(running.wait());
    env.wait_until_empty();
}

/// Passes at once without a fault, and takes long with one.
const SLOW_ON_FAULTS: &str = "sh tests/strong.sh || { touch $HOME/judging; sleep 3; exit 1; }";

#[test]
fn a_kill_in_place_is_repaired_by_the_next_evaluation() {
    let env = shop_with(SLOW_ON_FAULTS, 1, 1);
    let before = contents(&env);
    killed_with_a_fault(&env);
    assert_ne!(contents(&env), before, "the fault is there");
    let finished = mutate(&env, "true", &[]).ok();
    assert!(finished.stderr().contains("repaired: run "), "{}", finished.stderr());
    assert_eq!(contents(&env), before);
    assert!(!env.path(".git/ratchet/mutation-guard.json").exists());
}

#[test]
fn what_somebody_has_worked_on_after_a_kill_is_not_touched() {
    let env = shop_with(SLOW_ON_FAULTS, 1, 1);
    killed_with_a_fault(&env);
    env.write("src/price.sh", "# mine\n");
    let before = contents(&env);
    let result = outcome(&env, "true", &[]);
    let evidence = result["outcome"]["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("git restore") && evidence.contains(".patch"), "{evidence}");
    assert_eq!(contents(&env), before);
}
