//! `propose`, `apply`, `verify` and `report` without a batch.

use ratchet_tests::{Action, Script};

use crate::empty;

// B-X05 B-X06 B-X01 B-X16
// C-O01 C-O06
#[test]
fn a_proposal_is_named_after_its_objective_and_runs_one_agent() {
    let env = empty();
    let step = env
        .ratchet(["propose", "Add a Shopping Cart!"])
        .agent(&env.agent(&Script::honest()))
        .json();
    assert_eq!(
        (&step["state"], &step["transition"]),
        (&"advanced".into(), &"propose".into()),
        "{step:#}"
    );
    assert_eq!(step["change"], "add-a-shopping-cart");
    assert!(env.path(".ratchet/changes/add-a-shopping-cart/.run/journal.jsonl").exists());
    assert!(!env.path(".ratchet/batches").exists());
    assert_eq!(env.agent_runs(), 1);
}

// B-X03
// C-O01
#[test]
fn a_given_name_wins() {
    let env = empty();
    let step = env
        .ratchet(["propose", "Add a cart", "--name", "cart"])
        .agent(&env.agent(&Script::honest()))
        .json();
    assert_eq!(step["change"], "cart");
}

// B-X02
// C-O01
#[test]
fn an_objective_without_a_word_needs_a_name() {
    let env = empty();
    let error = env.ratchet(["propose", " !? "]).agent(&env.agent(&Script::honest())).refused();
    assert!(error.contains("Could not derive a change name"), "{error}");
    assert_eq!(env.agent_runs(), 0);
}

// B-X04
// C-O01
#[test]
fn an_existing_change_is_not_proposed_again() {
    let env = empty();
    env.add_plan("cart", 1, 0);
    let error = env.ratchet(["propose", "Cart"]).agent(&env.agent(&Script::honest())).refused();
    assert!(error.contains("already exists") && error.contains("--name"), "{error}");
    assert_eq!(env.agent_runs(), 0);
}

// B-X07 B-X10
// C-O02 C-O03
#[test]
fn a_missing_change_is_neither_applied_nor_verified_even_by_force() {
    let env = empty();
    for arguments in [
        ["apply", "gone"].as_slice(),
        &["apply", "gone", "--force"],
        &["verify", "gone"],
        &["verify", "gone", "--force"],
    ] {
        let error = env.ratchet(arguments).agent(&env.agent(&Script::honest())).refused();
        assert!(error.contains("does not exist"), "{error}");
    }
    assert_eq!(env.agent_runs(), 0);
}

// B-X08
// C-O02
#[test]
fn a_change_without_a_plan_is_applied_only_by_force() {
    let env = empty();
    env.write(".ratchet/changes/cart/notes.md", "");
    let error = env.ratchet(["apply", "cart"]).agent(&env.agent(&Script::honest())).refused();
    assert!(error.contains("no plan.md") && error.contains("--force"), "{error}");
    let script = Script::always([Action::ran("forced")]);
    env.ratchet(["apply", "cart", "--force"]).agent(&env.agent(&script)).ok();
    assert_eq!(env.agent_runs(), 1);
}

// B-X11
// C-O03
#[test]
fn a_change_with_open_tasks_is_verified_only_by_force() {
    let env = empty();
    env.add_plan("cart", 3, 1);
    let error = env.ratchet(["verify", "cart"]).agent(&env.agent(&Script::honest())).refused();
    assert!(error.contains("unfinished tasks (1/3 done)") && error.contains("--force"), "{error}");
    env.ratchet(["verify", "cart", "--force"]).agent(&env.agent(&Script::honest())).ok();
    assert_eq!(env.agent_runs(), 1);
}

// B-X09 B-X12
// C-O02
#[test]
fn a_planned_change_is_applied_and_then_verified() {
    let env = empty();
    env.add_plan("cart", 2, 0);
    let honest = || env.agent(&Script::honest());
    env.ratchet(["apply", "cart"])
        .agent(&honest())
        .ok()
        .says("Applied:")
        .says("change advanced through apply");
    env.ratchet(["verify", "cart"]).agent(&honest()).ok().says("Verified:").says("change verified");
}

// B-X13 B-N10 B-N16
// C-O04
#[test]
fn guidance_reaches_the_prompt_word_for_word() {
    let env = empty();
    env.add_plan("cart", 1, 0);
    let script = Script::always([Action::SavePrompt { path: "prompt".to_owned() }]);
    env.ratchet(["apply", "cart", "-m", "Use \"two\"\n  spaces", "-m", " ", "-m", "no new crates"])
        .agent(&env.agent(&script))
        .ok();
    let prompt = env.read("prompt");
    assert!(prompt.contains("Additional guidance:"), "{prompt}");
    assert!(prompt.contains("Use \"two\"\n  spaces\n\nno new crates"), "{prompt}");
}

// B-X15 B-X14
// C-O05
#[test]
fn a_flag_beats_the_project_and_a_bad_one_starts_nothing() {
    let env = empty();
    env.add_plan("cart", 1, 0);
    env.write(".ratchet/config.yaml", "batch:\n  agent: claude\n");
    env.install_agent("codex");
    let script =
        env.script(&Script::always([Action::SaveArguments { path: "arguments".to_owned() }]));
    env.ratchet(["apply", "cart", "--agent", "codex"])
        .var(ratchet_tests::script::SCRIPT_VAR, script)
        .ok();
    assert!(env.read("arguments").contains("exec"));
    let error = env
        .ratchet(["apply", "cart", "--locus", "moon"])
        .agent(&env.agent(&Script::honest()))
        .refused();
    assert!(error.contains("Allowed values: local, docker, remote"), "{error}");
    assert_eq!(env.agent_runs(), 0);
}

// B-X17
#[test]
fn entries_of_earlier_steps_are_kept_and_only_new_ones_are_pointed_at() {
    let env = empty();
    env.add_plan("cart", 2, 0);
    env.ratchet(["report", "cart", "--status", "before"]).ok();
    let step = env.ratchet(["apply", "cart"]).agent(&env.agent(&Script::honest())).json();
    assert_eq!(step["journalRefs"], serde_json::json!([1]));
    assert_eq!(env.change_journal("cart")[0]["message"], "before");
}

// B-X18
#[test]
fn a_standalone_question_waits_for_its_answer() {
    let env = empty();
    env.add_plan("cart", 1, 0);
    let asks = Script::always([Action::ran("asks"), Action::ReadPrompt, Action::blocker("which?")]);
    env.ratchet(["apply", "cart"]).agent(&env.agent(&asks)).ok();
    let waiting = env.ratchet(["apply", "cart"]).agent(&env.agent(&Script::honest())).json();
    assert_ne!(waiting["state"], "advanced", "{waiting:#}");
    assert_eq!(env.agent_runs(), 1);
    env.ratchet(["report", "cart", "--answer", "the second"]).ok();
    let script = Script::always([Action::SavePrompt { path: "prompt".to_owned() }]);
    env.ratchet(["apply", "cart"]).agent(&env.agent(&script)).ok();
    assert!(env.read("prompt").contains("the second"));
}

// B-L24
#[test]
fn a_standalone_step_never_blames_the_model() {
    let env = empty();
    env.add_plan("cart", 1, 0);
    env.install_agent("claude");
    let script = env.script(&Script::always([Action::exit(1)]));
    let step = env
        .ratchet(["apply", "cart", "--agent", "claude:no-such-model"])
        .var(ratchet_tests::script::SCRIPT_VAR, script)
        .json();
    assert_eq!(step["state"], "blocked");
    assert!(!step.to_string().to_lowercase().contains("if this model id is invalid"), "{step:#}");
}

// B-X19 B-O09
#[test]
fn a_step_at_a_place_that_cannot_be_reached_is_blocked_and_starts_nothing() {
    let env = empty();
    env.add_plan("cart", 1, 0);
    let step = env
        .ratchet(["apply", "cart", "--locus", "remote"])
        .agent(&env.agent(&Script::honest()))
        .json();
    assert_eq!(step["state"], "blocked", "{step:#}");
    let blocker = step["blocker"].as_str().unwrap_or_default();
    assert!(blocker.contains("remote") && blocker.contains("local or docker"), "{step:#}");
    assert_eq!(env.agent_runs(), 0);
}

// B-X21
#[test]
fn a_proposal_may_report_before_its_folder_exists() {
    let env = empty();
    let script = Script::always([
        Action::ReadPrompt,
        Action::report("--status", "about to begin"),
        Action::Plan { change: None, tasks: 1 },
        Action::complete("planned"),
    ]);
    let step = env.ratchet(["propose", "Add a cart"]).agent(&env.agent(&script)).json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!(env.change_journal("add-a-cart")[0]["message"], "about to begin");
}

#[test]
fn a_report_on_a_change_that_is_not_there_creates_nothing() {
    let env = empty();
    env.ratchet(["report", "gone", "--status", "x"]).refused();
    assert!(!env.path(".ratchet").exists());
}
