//! Proof-of-work through the real binary: run once, judged by exit and output, recorded, gating the next phase.

use ratchet_tests::{Manifest, Phase, Script, TestEnv};
use serde_json::Value;

use crate::{apply, status, with};

/// Phase `p1` is done but unproven; `p2` waits behind it.
fn at_the_boundary(run: &str, pass: &str) -> TestEnv {
    at_the_boundary_with(Manifest::new("shop"), run, pass)
}

fn at_the_boundary_with(manifest: Manifest, run: &str, pass: &str) -> TestEnv {
    let env = with(
        &manifest
            .phase(
                Phase::new("p1")
                    .proof(&format!("echo x >> proofs.log; {run}"), pass)
                    .change("base"),
            )
            .phase(Phase::new("p2").change("top")),
    );
    env.add_done("shop", "base");
    env
}

fn proofs_run(env: &TestEnv) -> usize {
    std::fs::read_to_string(env.path("proofs.log")).map_or(0, |text| text.lines().count())
}

fn prove(env: &TestEnv) -> Value {
    let proof = apply(env, &Script::honest());
    assert_eq!(proof["state"], "proof-of-work", "{proof:#}");
    proof
}

// B-V09 B-M27 B-M29 B-I07 B-I08 B-I09 B-M36 B-H15
#[test]
fn a_passed_proof_is_run_once_and_opens_the_next_phase() {
    let env = at_the_boundary("echo all well", "contains:all well");
    let shown = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).ok();
    shown.says("Proof-of-work: p1 (hard-gate)").says("passed");
    let entries = env.journaled("shop", "proof-of-work:p1", "proof-of-work");
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["proof"]["passed"], true);
    assert_eq!(entries[0]["proof"]["conditionKind"], "contains");
    assert_eq!(entries[0]["proof"]["matchedExcerpt"], "all well");
    assert_eq!(status(&env)["phases"][1]["gated"], false);
    assert_eq!(status(&env)["next"]["change"], "top");
    assert_eq!(apply(&env, &Script::honest())["change"], "top");
    assert_eq!((proofs_run(&env), env.agent_runs()), (1, 1));
}

// B-V10 B-M28 B-M30 B-M35 B-H14 B-I10 B-M16
#[test]
fn a_failed_proof_keeps_the_next_phase_shut_and_is_cited() {
    let env = at_the_boundary("echo broken >&2; exit 4", "exit code 0");
    let proof = prove(&env);
    assert_eq!((&proof["passed"], &proof["gatePassed"]), (&false.into(), &false.into()));
    assert_eq!((&proof["phase"], &proof["policy"]), (&"p1".into(), &"hard-gate".into()));
    assert_eq!(proof["reason"], "nonzero-exit");
    assert_eq!(proof["detail"], "Proof-of-work failed: command exited 4");
    let second = apply(&env, &Script::honest());
    assert_eq!(second["state"], "nothing-ready");
    let message = second["message"].as_str().unwrap_or_default();
    assert!(message.contains("p1") && message.contains("proof-of-work failed"), "{second:#}");
    assert_eq!(status(&env)["phases"][1]["gated"], true);
    assert_eq!((proofs_run(&env), env.agent_runs()), (1, 0));
}

// B-M17
#[test]
fn exit_zero_without_the_words_keeps_the_next_phase_shut() {
    let env = at_the_boundary("echo some tests", "contains:all tests");
    let proof = prove(&env);
    assert_eq!(proof["reason"], "pass-condition-unmet");
    assert_eq!(status(&env)["phases"][1]["gated"], true);
}

// B-M37 B-M18 B-H17
#[test]
fn under_warn_a_failed_proof_is_shown_and_lets_the_next_phase_open() {
    let env = at_the_boundary_with(
        Manifest::new("shop").setting("proofOfWork: warn"),
        "false",
        "exit code 0",
    );
    let shown = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).ok();
    let shown = shown.says("Proof-of-work: p1 (warn)").says("failed (warn)");
    assert!(!shown.stdout().contains('✗'), "{shown}");
    assert_eq!(apply(&env, &Script::honest())["change"], "top");
}

// B-M15 B-I11
#[test]
fn a_regex_over_the_output_opens_the_next_phase() {
    let env = at_the_boundary("printf 'ok 12\\n'", "regex:ok [0-9]+");
    assert_eq!(prove(&env)["passed"], true);
    assert_eq!(apply(&env, &Script::honest())["change"], "top");
}

// B-M31 B-M21 B-I12 B-H16
#[test]
fn a_failed_proof_is_run_again_when_asked_and_may_pass_then() {
    let env = at_the_boundary("test -e fixed", "exit code 0");
    assert_eq!(prove(&env)["passed"], false);
    env.write("fixed", "");
    let answer = env.ratchet(["batch", "rerun-proof", "--phase", "p1"]).json();
    assert_eq!(
        (&answer["batch"], &answer["phase"], &answer["invalidated"]),
        (&"shop".into(), &"p1".into(), &true.into())
    );
    assert_eq!(prove(&env)["passed"], true);
    assert_eq!(proofs_run(&env), 2);
}

// B-M32
#[test]
fn a_rerun_without_a_phase_or_with_an_unknown_one_writes_nothing() {
    let env = at_the_boundary("true", "exit code 0");
    prove(&env);
    let before = env.journal("shop");
    assert!(env.ratchet(["batch", "rerun-proof"]).refused().contains("--phase"));
    let unknown = env.ratchet(["batch", "rerun-proof", "--phase", "p9"]).refused();
    for words in ["p9", "shop", "p1", "p2"] {
        assert!(unknown.contains(words), "`{words}` is missing: {unknown}");
    }
    assert_eq!(env.journal("shop"), before);
}

// B-M33 B-M34
#[test]
fn a_rerun_without_a_record_says_that_there_is_nothing_to_invalidate() {
    let env = at_the_boundary("true", "exit code 0");
    let before = env.journal("shop");
    let answer = env.ratchet(["batch", "rerun-proof", "--phase", "p1"]).json();
    assert_eq!((&answer["batch"], &answer["invalidated"]), (&"shop".into(), &false.into()));
    assert_eq!(env.journal("shop"), before);
}

// B-H24 B-H25 B-H26
#[test]
fn the_last_phases_proof_decides_whether_the_batch_is_done() {
    for (run, done) in [("true", "done"), ("false", "in-progress")] {
        let env = with(
            &Manifest::new("shop").phase(Phase::new("p1").proof(run, "exit code 0").change("only")),
        );
        env.add_done("shop", "only");
        assert_eq!(status(&env)["status"], "in-progress");
        prove(&env);
        assert_eq!(status(&env)["status"], done);
    }
}

// B-M10
#[test]
fn only_standard_output_counts_and_the_environment_is_whole() {
    let env = at_the_boundary("echo hidden >&2; echo $PLANTED", "contains:planted value");
    let proof = env.ratchet(["batch", "apply"]).var("PLANTED", "planted value").json();
    assert_eq!(proof["passed"], true, "{proof:#}");
    let env = at_the_boundary("echo hid''den >&2", "contains:hidden");
    assert_eq!(prove(&env)["passed"], false);
}

#[test]
fn a_proof_that_waits_for_input_gets_none_and_goes_on() {
    let env = at_the_boundary("read answer; echo over", "contains:over");
    assert_eq!(prove(&env)["passed"], true);
}

#[test]
fn a_proof_that_hangs_is_ended_by_its_limit_and_is_an_error() {
    let env = at_the_boundary_with(
        Manifest::new("shop").setting("proofTimeoutMs: 300"),
        "exec sleep 600",
        "exit code 0",
    );
    let proof = prove(&env);
    assert_eq!((&proof["passed"], &proof["reason"]), (&false.into(), &"error".into()), "{proof:#}");
    env.wait_until_empty();
}

#[test]
fn two_applies_at_once_record_one_proof() {
    let env = at_the_boundary("while ! test -e go; do sleep 0.01; done", "exit code 0");
    let start =
        || env.ratchet(["batch", "apply", "--json"]).agent(&env.agent(&Script::honest())).start();
    let (first, second) = (start(), start());
    ratchet_tests::wait::until("a proof to run", || proofs_run(&env) > 0);
    env.write("go", "");
    for running in [first, second] {
        let finished = running.wait();
        assert!(matches!(finished.code, Some(0 | 1)), "{finished}");
    }
    assert_eq!(env.journaled("shop", "proof-of-work:p1", "proof-of-work").len(), 1);
}
