//! What an agent is told. Facts and order are held here, wording is the engine's.

use ratchet_tests::{Action, Manifest, Script, TestEnv};

use crate::{shop, with};

fn prompt_of(env: &TestEnv) -> String {
    let script = Script::always([Action::SavePrompt { path: "prompt".to_owned() }]);
    env.ratchet(["batch", "apply"]).agent(&env.agent(&script)).ok();
    env.read("prompt")
}

// B-N01 B-N04 B-N08 B-N09 B-N17 B-Q07
#[test]
fn a_prompt_says_what_to_do_how_to_report_and_what_done_means() {
    let env = shop();
    let prompt = prompt_of(&env);
    for words in [
        "shop",
        "PROPOSE",
        "add-api",
        "reach p1",
        "p1 is reached",
        "Definition of done: add-api works",
        "rct:propose add-api",
        "ratchet batch report shop --change add-api --complete",
        "--status",
        "--blocker",
        "--needs-input",
    ] {
        assert!(prompt.contains(words), "`{words}` is missing:\n{prompt}");
    }
    let duty = prompt.find("--complete").expect("the duty to report");
    assert!(duty < prompt.len() / 2, "the duty to report stands too far down:\n{prompt}");
    assert!(!prompt.contains("Additional guidance:"));
}

// B-N05 B-N20
#[test]
fn apply_and_verify_are_delegated_the_same_way_and_verify_asks_for_a_verdict() {
    for (ticked, capitals, invocation) in
        [(0, "APPLY", "rct:apply add-api"), (1, "VERIFY", "rct:verify add-api")]
    {
        let env = shop();
        env.add_plan("add-api", 1, ticked);
        let prompt = prompt_of(&env);
        assert!(prompt.contains(capitals) && prompt.contains(invocation), "{prompt}");
        assert_eq!(prompt.contains("Ready for archive"), ticked == 1, "{prompt}");
    }
}

#[test]
fn nothing_in_a_prompt_needs_a_shells_substitution() {
    let prompt = prompt_of(&shop());
    assert!(!prompt.contains("$(") && !prompt.contains('`'), "{prompt}");
}

// B-N03
#[test]
fn no_coding_agent_is_named_in_a_prompt() {
    let prompt = prompt_of(&shop()).to_lowercase();
    // What is to be run or read stands indented, and is no prose: the path of a command's file is its agent's.
    let prose: Vec<&str> = prompt.lines().filter(|line| !line.starts_with("    ")).collect();
    let prompt = prose.join("\n");
    for agent in ["claude", "codex", "gemini", "cursor", "opencode"] {
        assert!(!prompt.contains(agent), "{agent} is named:\n{prompt}");
    }
}

#[test]
fn the_file_that_a_prompt_names_is_there() {
    let env = shop();
    let prompt = prompt_of(&env);
    let file = ".claude/commands/rct/propose.md";
    assert!(prompt.contains(&format!("\n    {file}\n")), "{prompt}");
    assert!(env.read(file).contains("Propose a change"));
}

#[test]
fn the_strategy_shapes_only_the_proposal() {
    let prompts: Vec<String> = ["vertical-slice", "feature"]
        .iter()
        .map(|strategy| {
            prompt_of(&with(
                &Manifest::of_changes("shop", &["add-api"])
                    .setting(&format!("strategy: {strategy}")),
            ))
        })
        .collect();
    assert_ne!(prompts[0], prompts[1]);
}
