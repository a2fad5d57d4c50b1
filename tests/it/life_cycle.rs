//! Whole batches, from the first step to the last.

use ratchet_tests::{Manifest, Phase, Script};
use serde_json::json;

use crate::{apply, change_status, empty, shop, status, with};

// B-H29 B-J06 B-K14 B-I13 B-V04
#[test]
fn a_change_is_proposed_applied_verified_and_its_phase_proven_one_step_a_call() {
    let env = shop();
    let honest = Script::honest();
    for (transition, after) in
        [("propose", "in-progress"), ("apply", "awaiting-verify"), ("verify", "done")]
    {
        let step = apply(&env, &honest);
        assert_eq!(step["state"], "advanced", "{step:#}");
        assert_eq!(step["transition"], transition);
        assert_eq!(step["change"], "add-api");
        assert_eq!(change_status(&env, "add-api")["status"], after);
    }
    assert_eq!(status(&env)["status"], "in-progress");
    assert_eq!(status(&env)["next"]["proof"], true);
    assert_eq!(apply(&env, &honest)["state"], "proof-of-work");
    assert_eq!(status(&env)["status"], "done");
    assert_eq!(apply(&env, &honest)["state"], "nothing-ready");
    assert_eq!(env.agent_runs(), 3);
}

#[test]
fn batch_run_goes_on_until_the_batch_is_done_and_says_why_it_halted() {
    let env = with(
        &Manifest::new("shop")
            .phase(
                Phase::new("p1")
                    .proof("echo one", "contains:one")
                    .change("add-api")
                    .change("add-docs"),
            )
            .phase(Phase::new("p2").change("ship")),
    );
    let run = env.ratchet(["batch", "run"]).agent(&env.agent(&Script::honest())).json();
    // Three changes of three steps each, and two proofs.
    assert_eq!(run["steps"].as_array().map(Vec::len), Some(11), "{run:#}");
    assert!(run["halted"]["reason"].is_string(), "{run:#}");
    assert_eq!(status(&env)["status"], "done");
    assert_eq!(env.agent_runs(), 9);
}

#[test]
fn batch_run_halts_at_the_step_that_needs_a_person() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]).setting("gate: after-propose"));
    let run = env.ratchet(["batch", "run"]).agent(&env.agent(&Script::honest())).json();
    assert_eq!(run["steps"].as_array().map(Vec::len), Some(1), "{run:#}");
    assert_eq!(run["steps"][0]["state"], "awaiting-approval");
}

#[test]
fn batch_run_halts_after_as_many_steps_as_allowed() {
    let env = shop();
    let run = env
        .ratchet(["batch", "run", "--max-steps", "2"])
        .agent(&env.agent(&Script::honest()))
        .json();
    assert_eq!(run["steps"].as_array().map(Vec::len), Some(2), "{run:#}");
    assert_eq!(env.agent_runs(), 2);
}

// B-V33
#[test]
fn a_newcomers_batch_is_made_looked_at_configured_and_worked_on() {
    let env = empty();
    env.ratchet(["batch", "new", "shop"]).ok();
    assert_eq!(status(&env)["name"], "shop");
    env.ratchet(["batch", "view", "shop"]).ok();
    env.ratchet(["batch", "config", "--set", "gate=after-propose"]).ok();
    let step = apply(&env, &Script::honest());
    assert_eq!(step["state"], "awaiting-approval");
    let change = step["change"].as_str().expect("a step has a change").to_owned();
    env.ratchet(["batch", "approve", "--change", &change]).ok();
    assert_eq!(apply(&env, &Script::honest())["transition"], "apply");
    env.ratchet(["batch", "report", "--change", &change, "--status", "looked at"]).ok();
    assert_eq!(env.journaled("shop", &change, "progress").len(), 1);
}

// B-A33
#[test]
fn a_manifest_written_by_hand_works_like_a_scaffolded_one() {
    let by_hand = shop();
    let scaffolded = empty();
    scaffolded.ratchet(["new", "batch", "shop"]).ok();
    for env in [by_hand, scaffolded] {
        env.ratchet(["validate", "shop"]).ok();
        assert_eq!(status(&env)["status"], "pending");
        assert_eq!(apply(&env, &Script::honest())["state"], "advanced");
    }
}

#[test]
fn changes_are_worked_on_in_the_order_of_their_edges() {
    let env = with(
        &Manifest::new("shop")
            .phase(Phase::new("p1").change_after("a-last", &["z-first"]).change("z-first")),
    );
    let mut order = Vec::new();
    for _step in 0..6 {
        order.push(apply(&env, &Script::honest())["change"].clone());
    }
    assert_eq!(
        json!(order),
        json!(["z-first", "z-first", "z-first", "a-last", "a-last", "a-last"])
    );
}

#[test]
fn the_journal_of_a_whole_batch_has_each_outcome_once() {
    let env = shop();
    env.ratchet(["batch", "run"]).agent(&env.agent(&Script::honest())).ok();
    let outcomes: Vec<_> = env
        .journal("shop")
        .into_iter()
        .filter_map(|entry| entry.get("transition").cloned())
        .collect();
    assert_eq!(json!(outcomes), json!(["propose", "apply", "verify"]));
    assert_eq!(env.journaled("shop", "proof-of-work:p1", "proof-of-work").len(), 1);
}
