//! What a session amounts to, as a user sees it: the same rules that the engine's tables hold, once each through the
//! real binary.

use ratchet_tests::asked::Kind;
use ratchet_tests::{Action, Manifest, Script};

use crate::{apply, shop, with};

fn blocker(step: &serde_json::Value) -> String {
    assert_eq!(step["state"], "blocked", "{step:#}");
    step["blocker"].as_str().expect("a blocked step says why").to_owned()
}

// B-K02
#[test]
fn a_blocker_of_the_agent_blocks_the_step_with_its_question() {
    let env = shop();
    let step = apply(&env, &Script::always([Action::ReadPrompt, Action::blocker("which table?")]));
    assert_eq!(blocker(&step), "which table?");
    assert_eq!(env.park("shop", "add-api")["reason"], "which table?");
}

#[test]
fn a_blocker_counts_even_beside_a_completion() {
    let env = shop();
    let script = Script::always([
        Action::ReadPrompt,
        Action::Plan { change: None, tasks: 1 },
        Action::complete("done"),
        Action::blocker("or is it?"),
    ]);
    assert_eq!(blocker(&apply(&env, &script)), "or is it?");
}

// B-K03 B-J11 B-L02
#[test]
fn a_failure_without_a_report_is_blocked_with_its_code_and_its_output() {
    let env = shop();
    let step = apply(&env, &Script::always([Action::say("no key found"), Action::exit(3)]));
    assert!(blocker(&step).contains("exited with code 3 without reporting completion"), "{step:#}");
    assert!(step["detail"].as_str().unwrap_or_default().contains("no key found"), "{step:#}");
    assert_eq!(env.journaled("shop", "add-api", "blocker").len(), 1);
}

// B-L01 B-L03 B-L04 B-L08
#[test]
fn silence_is_blocked_and_long_output_is_cut() {
    let env = shop();
    let step = apply(&env, &Script::always([Action::PrintLongLine { bytes: 5000 }]));
    assert!(blocker(&step).contains("without reporting completion"), "{step:#}");
    let detail = step["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("… (truncated)") && detail.chars().count() < 2200, "{step:#}");
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "again"]).ok();
    assert_eq!(apply(&env, &Script::always([]))["detail"].as_str().unwrap_or_default().trim(), "");
}

// B-L05 B-L06 B-L07
#[test]
fn silence_with_progress_names_the_progress_and_never_advances() {
    let env = shop();
    let silent = |action| Script::always([Action::ReadPrompt, action]);
    let answered =
        || env.ratchet(["batch", "report", "--change", "add-api", "--answer", "go on"]).ok();
    let proposed = blocker(&apply(&env, &silent(Action::Plan { change: None, tasks: 3 })));
    assert!(proposed.contains("plan.md"), "{proposed}");
    answered();
    let applied = blocker(&apply(&env, &silent(Action::Tick { change: None, tasks: Some(2) })));
    assert!(applied.contains("2 tasks"), "{applied}");
    answered();
    let idle = blocker(&apply(&env, &silent(Action::say("thinking"))));
    assert!(!idle.contains("task"), "{idle}");
}

// B-L09
#[test]
fn a_claimed_proposal_without_a_plan_disagrees_with_the_disk() {
    let env = shop();
    let step = apply(&env, &Script::always([Action::ReadPrompt, Action::complete("planned")]));
    assert_eq!(blocker(&step), "Reported complete but disk disagrees: no plan.md on disk.");
}

// B-L10
#[test]
fn a_claimed_apply_without_a_tick_disagrees_with_the_disk() {
    let env = shop();
    env.add_plan("add-api", 3, 1);
    let step = apply(&env, &Script::always([Action::ReadPrompt, Action::complete("did it")]));
    assert_eq!(
        blocker(&step),
        "Reported complete but disk disagrees: no tasks checked off this session."
    );
}

// B-L11 B-L12 B-L13
#[test]
fn a_claimed_verify_needs_ticked_boxes_and_a_verdict() {
    let env = shop();
    env.add_plan("add-api", 1, 1);
    let verdict = |words: &str| Script::default().on(Kind::Verify, [Action::complete(words)]);
    let vague = apply(&env, &verdict("looks fine"));
    assert!(blocker(&vague).contains("no verification verdict"), "{vague:#}");
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "again"]).ok();
    let reopened = Script::default().on(
        Kind::Verify,
        [
            Action::run("sed -i 's/\\[x\\]/[ ]/' .ratchet/changes/add-api/plan.md"),
            Action::complete("Ready for archive."),
        ],
    );
    let reopened = apply(&env, &reopened);
    assert!(blocker(&reopened).contains("unchecked tasks remain"), "{reopened:#}");
    env.add_plan("add-api", 1, 1);
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "again"]).ok();
    assert_eq!(apply(&env, &verdict("2 critical issues found"))["state"], "advanced");
}

// B-L14
#[test]
fn a_claim_that_disagrees_with_the_disk_is_not_put_up_for_approval() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]).setting("gate: every-phase"));
    let step = apply(&env, &Script::always([Action::ReadPrompt, Action::complete("planned")]));
    assert!(blocker(&step).contains("disk disagrees"), "{step:#}");
}

// B-L15 B-L16
#[test]
fn a_completion_before_a_crash_is_not_believed_and_a_mismatch_is_named_first() {
    let env = shop();
    let crash = |plan: Vec<Action>| {
        let ends = [Action::complete("planned"), Action::exit(7)];
        Script::always([Action::ReadPrompt].into_iter().chain(plan).chain(ends))
    };
    let mismatch = blocker(&apply(&env, &crash(vec![])));
    assert!(mismatch.contains("disk disagrees"), "{mismatch}");
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "again"]).ok();
    let crashed = blocker(&apply(&env, &crash(vec![Action::Plan { change: None, tasks: 1 }])));
    assert_eq!(
        crashed,
        "Agent reported completion but exited with code 7 — the reported work may be incomplete; review and resume."
    );
}

// B-L18 B-L19 B-L21
#[test]
fn a_named_model_that_fails_at_once_is_hinted_at_with_its_scope() {
    let env = with(
        &Manifest::of_changes("shop", &["add-api"]).setting("agent: \"claude:no-such-model\""),
    );
    env.install_agent("claude");
    let fails = Script::always([
        Action::ran("claude"),
        Action::PrintError { text: "404\n".into() },
        Action::exit(1),
    ]);
    let step = env
        .ratchet(["batch", "apply"])
        .var(ratchet_tests::script::SCRIPT_VAR, env.script(&fails))
        .json();
    let text = blocker(&step);
    for words in ["\"propose\"", "\"claude\"", "\"no-such-model\"", "the batch manifest", "resume"]
    {
        assert!(text.contains(words), "`{words}` is missing: {text}");
    }
    assert!(text.to_lowercase().contains("if this model id is invalid"), "{text}");
    let detail = step["detail"].as_str().unwrap_or_default();
    let (hint, tail) = (detail.find("no-such-model"), detail.find("404"));
    assert!(hint.is_some() && tail.is_some() && hint < tail, "{step:#}");
    assert!(
        env.park("shop", "add-api")["reason"]
            .as_str()
            .unwrap_or_default()
            .contains("no-such-model")
    );
    assert_eq!(env.agent_runs(), 1);
}

// B-L22 B-L25
#[test]
fn no_model_is_hinted_at_for_a_bare_agent_or_a_killed_one() {
    for (setting, end) in [
        ("agent: claude", Action::exit(1)),
        ("agent: \"claude:m\"", Action::DieBy { signal: "KILL".to_owned() }),
    ] {
        let env = with(&Manifest::of_changes("shop", &["add-api"]).setting(setting));
        env.install_agent("claude");
        let script = env.script(&Script::always([end]));
        let step =
            env.ratchet(["batch", "apply"]).var(ratchet_tests::script::SCRIPT_VAR, script).json();
        assert!(!blocker(&step).to_lowercase().contains("model"), "{step:#}");
    }
}

// B-P08 B-K12
#[test]
fn a_failed_step_is_tried_again_by_a_fresh_agent() {
    let env = shop();
    apply(&env, &Script::always([Action::ran("fails"), Action::exit(1)]));
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "try again"]).ok();
    assert_eq!(apply(&env, &Script::honest())["state"], "advanced");
    assert_eq!(env.agent_runs(), 2);
    assert!(env.park("shop", "add-api").is_null());
}
