//! Steps that wait for a person: asked, answered, approved, rejected.

use ratchet_tests::{Action, Manifest, Script};
use serde_json::Value;

use crate::{apply, change_status, shop, with};

fn gated(gate: &str) -> ratchet_tests::TestEnv {
    with(&Manifest::of_changes("shop", &["add-api"]).setting(&format!("gate: {gate}")))
}

fn asks() -> Script {
    Script::always([Action::ran("asks"), Action::ReadPrompt, Action::blocker("which table?")])
}

fn remembers() -> Script {
    Script::always([Action::ran("remembers"), Action::SavePrompt { path: "prompt".to_owned() }])
}

// B-V02 B-K05
#[test]
fn an_unanswered_question_stops_the_step_and_says_how_to_answer() {
    let env = shop();
    apply(&env, &asks());
    let stopped = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).ok();
    let stopped =
        stopped.says("Step 'add-api' did not advance (blocked: which table?).").says("To proceed:");
    stopped.says("ratchet batch report shop --change add-api --answer");
    assert_eq!(env.agent_runs(), 1);
}

// B-V08
#[test]
fn a_parked_step_is_one_json_document() {
    let env = shop();
    apply(&env, &asks());
    let parked = apply(&env, &Script::honest());
    assert_eq!(parked["state"], "parked");
    assert_eq!(parked["change"], "add-api");
    assert_eq!(parked["reason"], "blocked: which table?");
    assert!(parked["hint"].is_string(), "{parked:#}");
}

// B-K06 B-V04 B-V34 B-G02 B-N14
#[test]
fn an_answer_reaches_the_agents_prompt_and_the_park_goes_when_the_step_advances() {
    let env = shop();
    apply(&env, &asks());
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "the second one"]).ok();
    assert_eq!(env.park("shop", "add-api")["answer"], "the second one");
    assert_eq!(change_status(&env, "add-api")["parked"]["answer"], "the second one");
    apply(&env, &remembers());
    let prompt = env.read("prompt");
    assert!(prompt.contains("the second one") && prompt.contains("which table?"), "{prompt}");
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "yes"]).ok();
    assert_eq!(apply(&env, &Script::honest())["state"], "advanced");
    assert!(env.park("shop", "add-api").is_null());
}

// B-V05
#[test]
fn a_new_question_replaces_the_old_park_and_its_answer() {
    let env = shop();
    apply(&env, &asks());
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "the second one"]).ok();
    apply(&env, &Script::always([Action::ReadPrompt, Action::blocker("and the index?")]));
    let park = env.park("shop", "add-api");
    assert_eq!(park["reason"], "and the index?");
    assert_eq!(park.get("answer"), None::<&Value>);
}

// B-V03 B-K04 B-V06 B-H08 B-V38
#[test]
fn a_proposal_waits_for_approval_and_looks_different_from_a_question() {
    let env = gated("after-propose");
    let step = apply(&env, &Script::honest());
    assert_eq!(step["state"], "awaiting-approval");
    assert_eq!(step["approvalRequest"], "planned two tasks");
    let change = change_status(&env, "add-api");
    assert_eq!(change["status"], "awaiting-approval");
    assert_eq!((&change["awaitingApproval"], &change["blocked"]), (&true.into(), &false.into()));
    env.ratchet(["batch", "status"]).ok().says("⏸");
    let stopped = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).ok();
    let stopped = stopped.says("did not advance (awaiting approval: planned two tasks)");
    assert!(
        stopped.stdout().contains("approve") && stopped.stdout().contains("reject"),
        "{stopped}"
    );
    assert_eq!(env.agent_runs(), 1);
}

// B-G04
#[test]
fn an_approval_takes_the_park_away_and_the_next_step_follows() {
    for approve in [vec!["batch", "approve"], vec!["batch", "report", "--approve"]] {
        let env = gated("after-propose");
        apply(&env, &Script::honest());
        env.ratchet(approve).args(["--change", "add-api"]).ok();
        assert!(env.park("shop", "add-api").is_null());
        assert_eq!(env.journaled("shop", "add-api", "answer").len(), 1);
        assert_eq!(apply(&env, &Script::honest())["transition"], "apply");
    }
}

// B-L31 B-L34
#[test]
fn under_every_phase_each_transition_waits_and_an_approval_frees_only_its_own() {
    let env = gated("every-phase");
    for (transition, title) in [("propose", "Propose"), ("apply", "Apply"), ("verify", "Verify")] {
        let step = apply(&env, &Script::honest());
        assert_eq!(
            (&step["state"], &step["transition"]),
            (&"awaiting-approval".into(), &transition.into()),
            "{step:#}"
        );
        assert_eq!(step["message"], format!("{title} complete; awaiting approval."));
        env.ratchet(["batch", "approve", "--change", "add-api"]).ok();
    }
    assert_eq!(change_status(&env, "add-api")["status"], "done");
}

#[test]
fn a_verified_change_that_waits_for_approval_is_not_done() {
    let env = gated("every-phase");
    env.add_plan("add-api", 1, 1);
    assert_eq!(apply(&env, &Script::honest())["state"], "awaiting-approval");
    assert_eq!(change_status(&env, "add-api")["status"], "awaiting-approval");
    assert_eq!(crate::status(&env)["doneCount"], 0);
}

// B-K08 B-L29
#[test]
fn an_autonomous_batch_waits_for_nobody_but_a_blocked_agent() {
    let env = gated("autonomous");
    assert_eq!(apply(&env, &Script::honest())["state"], "advanced");
    assert_eq!(apply(&env, &asks())["state"], "blocked");
}

// B-L30
#[test]
fn after_propose_waits_only_after_the_proposal() {
    let env = gated("after-propose");
    env.add_plan("add-api", 1, 0);
    assert_eq!(apply(&env, &Script::honest())["state"], "advanced");
}

// B-G03 B-K07 B-L35 B-L36 B-N15 B-V17
#[test]
fn a_rejected_step_runs_again_with_the_feedback_and_nothing_rolled_back() {
    let env = gated("every-phase");
    apply(&env, &Script::honest());
    env.ratchet(["batch", "approve", "--change", "add-api"]).ok();
    apply(&env, &Script::honest());
    env.ratchet(["batch", "report", "--change", "add-api", "--reject", "name it better"]).ok();
    let park = env.park("shop", "add-api");
    assert_eq!((&park["feedback"], &park["approved"]), (&"name it better".into(), &false.into()));
    env.ratchet(["batch", "status"]).ok().says("reject");
    let script = Script::always([
        Action::SavePrompt { path: "prompt".to_owned() },
        Action::run("printf -- '- [x] renamed\\n' >> .ratchet/changes/add-api/plan.md"),
        Action::complete("renamed it"),
    ]);
    let again = apply(&env, &script);
    assert_eq!(
        (&again["state"], &again["transition"]),
        (&"advanced".into(), &"apply".into()),
        "{again:#}"
    );
    let prompt = env.read("prompt");
    assert!(
        prompt.contains("name it better")
            && prompt.contains("APPLY")
            && !prompt.contains("PROPOSE"),
        "{prompt}"
    );
    assert!(env.read(".ratchet/changes/add-api/plan.md").contains("- [x] task 1"));
}

#[test]
fn a_rejected_proposal_is_proposed_again() {
    let env = gated("after-propose");
    apply(&env, &Script::honest());
    env.ratchet(["batch", "report", "--change", "add-api", "--reject", "smaller"]).ok();
    let again = apply(&env, &Script::honest());
    assert_eq!(
        (&again["state"], &again["transition"]),
        (&"advanced".into(), &"propose".into()),
        "{again:#}"
    );
}

#[test]
fn an_approval_survives_a_restart_because_it_is_on_disk() {
    let env = gated("after-propose");
    apply(&env, &Script::honest());
    let before = env.read(".ratchet/batches/shop/run/state.json");
    crate::status(&env);
    apply(&env, &Script::honest());
    assert_eq!(
        env.read(".ratchet/batches/shop/run/state.json"),
        before,
        "looking at a park changes nothing"
    );
}
