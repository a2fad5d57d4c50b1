//! Test commands that hang, fork, flood, need a build, or cannot run.

use serde_json::Value;

use super::{assert_nothing_left, outcome, shop_with, verdicts};

/// Breaks the price list so that whoever sources it runs this.
fn planting(line: &str) -> String {
    format!("echo '{line}' >> src/price.sh")
}

/// What the tests come to on a fault that makes them do something.
#[track_caller]
fn cause(line: &str, more: &[&str]) -> Value {
    let env = shop_with("sh tests/strong.sh", 1, 1);
    let result = outcome(&env, &planting(line), more);
    assert_nothing_left(&env);
    let attempt = &result["outcomes"]["attempts"][0];
    assert_eq!(attempt["verdict"], "killed", "{result:#}");
    attempt["cause"].clone()
}

#[test]
fn how_the_tests_ended_is_told_beside_the_kill() {
    assert_eq!(cause("exit 3", &[])["code"], 3);
    assert_eq!(cause("exit 127", &[])["kind"], "cannot-run");
    assert_eq!(cause("exit 126", &[])["kind"], "cannot-run");
    let signal = cause("kill -9 $$", &[]);
    // bash gives the signal of its last command as an exit code, unless it replaced itself with it.
    assert!(signal["kind"] == "signal" || signal["code"] == 137, "{signal}");
}

#[test]
fn tests_that_hang_are_ended_with_all_they_started_and_count_as_killed() {
    let hang = "sleep 1000 & setsid sleep 1000 & sleep 1000";
    let cause = cause(hang, &["--test-timeout-ms", "1500"]);
    assert_eq!((cause["kind"].as_str(), cause["limit"].as_str()), (Some("timeout"), Some("wall")));
}

#[test]
fn tests_that_fall_silent_are_ended_when_that_was_asked_for() {
    let cause = self::cause("sleep 1000", &["--test-idle-ms", "1500"]);
    assert_eq!((cause["kind"].as_str(), cause["limit"].as_str()), (Some("timeout"), Some("idle")));
}

#[test]
fn tests_that_never_stop_printing_are_ended() {
    assert_eq!(cause("yes", &[])["kind"], "output-limit");
}

#[test]
fn tests_that_take_all_memory_are_stopped_at_their_limit() {
    let env = shop_with("bash tests/strong.sh", 1, 1);
    // A text that doubles: bash gives up when it gets no more.
    let agent = planting("x=xxxxxxxx; while :; do x=$x$x; done");
    let result = outcome(&env, &agent, &["--memory-mib", "64"]);
    assert_eq!(verdicts(&result), ["killed"], "{result:#}");
    assert_nothing_left(&env);
}

#[test]
fn what_tests_leave_running_is_ended_before_the_next_attempt() {
    let env = shop_with("sh tests/linger.sh", 2, 2);
    let linger = "(while sleep 0.1; do echo x >> src/price.sh; done) & sh tests/strong.sh";
    env.write("tests/linger.sh", linger);
    super::commit(&env);
    let agent = format!(
        "{}; echo \"# f $n\" >> src/price.sh; echo \"f$n() {{ :; }}\" >> src/price.sh",
        super::NUMBER
    );
    let result = outcome(&env, &agent, &[]);
    assert_eq!(verdicts(&result), ["survived", "survived"], "{result:#}");
    assert_nothing_left(&env);
}

#[test]
fn what_tests_write_is_not_in_the_next_fault() {
    let test = "echo x > report.txt; echo y >> src/log.sh; sh tests/strong.sh";
    let env = shop_with(test, 2, 1);
    let result = outcome(&env, "true", &[]);
    assert_eq!(verdicts(&result), ["no-change", "no-change"]);
}

/// A build that, like `make`, compares times, and tests of what was built: a stale build would pass over every fault.
const BUILD: &str = "set -eu
mkdir -p build
if [ ! -e build/price.sh ] || [ src/price.sh -nt build/price.sh ]; then
    cp src/price.sh build/price.sh
    echo x >> $HOME/builds
fi
sed 's|src/price.sh|build/price.sh|' tests/weak.sh > build/weak.sh
sed 's|tests/weak.sh|build/weak.sh|' tests/strong.sh > build/strong.sh
sh build/strong.sh
";

fn with_a_build(budget: u32) -> ratchet_tests::TestEnv {
    let env = shop_with("sh tests/build.sh", budget, budget);
    env.write("tests/build.sh", BUILD);
    super::commit(&env);
    env
}

#[test]
fn a_build_of_one_fault_is_not_there_for_the_next_and_the_clean_one_is_made_once() {
    let env = with_a_build(5);
    let result = outcome(&env, &super::seeder(), &[]);
    assert_eq!(verdicts(&result), ["killed"; 5], "{result:#}");
    let builds = std::fs::read_to_string(env.base().join("home/builds")).expect("it was built");
    // Once without a fault, once for each; the second baseline and the last look find the first build.
    assert_eq!(builds.lines().count(), 6);
}

#[test]
fn a_build_that_the_user_has_is_used_and_never_written_to() {
    let env = with_a_build(1);
    env.write("build/price.sh", env.read("src/price.sh"));
    let before = super::tree(&env);
    let result = outcome(&env, &super::seeder(), &[]);
    assert_eq!(verdicts(&result), ["killed"], "{result:#}");
    assert_eq!(super::tree(&env), before);
    let builds = std::fs::read_to_string(env.base().join("home/builds")).expect("it was built");
    assert_eq!(builds.lines().count(), 1, "only for the fault");
}

#[test]
fn ignored_files_can_be_shared_or_left_out() {
    let env = shop_with("test -e build/dep && sh tests/strong.sh", 1, 1);
    env.write("build/dep", "x");
    let linked = outcome(&env, &super::seeder(), &["--ignored", "link"]);
    assert_eq!(verdicts(&linked), ["killed"]);
    let without = outcome(&env, &super::seeder(), &["--ignored", "none"]);
    let evidence = without["outcome"]["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("not green") && evidence.contains("--ignored none"), "{evidence}");
}

#[test]
fn tests_that_cannot_even_start_are_red_at_the_baseline() {
    let env = shop_with("no-such-runner --all", 1, 1);
    let result = outcome(&env, &super::seeder(), &[]);
    let evidence = result["outcome"]["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("exit 127") && evidence.contains("not green"), "{evidence}");
}

#[test]
fn tests_that_hang_without_a_fault_are_red_too() {
    let env = shop_with("sleep 1000", 1, 1);
    let result = outcome(&env, &super::seeder(), &["--test-timeout-ms", "300"]);
    let evidence = result["outcome"]["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("not green") && evidence.contains("timeout"), "{evidence}");
    assert_nothing_left(&env);
}
