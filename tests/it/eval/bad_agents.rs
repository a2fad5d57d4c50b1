//! Agents that do what they were told not to: every row of the edge cases that is about them.

use serde_json::{Value, json};

use super::{assert_nothing_left, mutate, outcome, shop_with, tree, verdicts};

/// What one attempt of such an agent comes to. The user's tree is untouched, and nothing is left running.
#[track_caller]
fn attempt(agent: &str) -> Value {
    attempt_with(agent, &[])
}

#[track_caller]
fn attempt_with(agent: &str, more: &[&str]) -> Value {
    let env = shop_with("sh tests/strong.sh", 1, 1);
    env.write("build/out", "built\n");
    let before = tree(&env);
    let result = outcome(&env, agent, more);
    assert_eq!(tree(&env), before, "the user's tree was written to");
    assert_nothing_left(&env);
    result["outcomes"]["attempts"][0].clone()
}

const FAULT: &str = "sed -i 's/-ge 10000/-gt 10000/' src/price.sh";

#[track_caller]
fn note(attempt: &Value) -> String {
    attempt["notes"][0].as_str().unwrap_or_default().to_owned()
}

// E-A06
#[test]
fn one_that_changes_nothing_leaves_nothing_to_judge_and_nothing_to_remember() {
    let env = shop_with("sh tests/strong.sh", 2, 1);
    let document = mutate(&env, "true", &[]).json();
    let result = &document["results"][0];
    assert_eq!(verdicts(result), ["no-change"; 2]);
    assert_eq!(result["outcome"]["status"], "unevaluable");
    assert_eq!(result["outcome"].get("artifacts"), None);
    let run = document["runId"].as_str().expect("a run has an id");
    let folder = env.path(&format!(".ratchet/evals/runs/{run}/artifacts/invariants/no-bugs"));
    assert!(!folder.join("outcome.json").exists());
}

#[test]
fn one_that_commits_its_fault_is_void_and_the_users_branch_stays_where_it_is() {
    for agent in [
        format!("{FAULT}; git -c user.name=a -c user.email=a@b commit -qam x"),
        format!("{FAULT}; git -c user.name=a -c user.email=a@b commit -q --amend -am x"),
        format!("git checkout -q -b other; {FAULT}"),
        format!("{FAULT}; git -c user.name=a -c user.email=a@b stash -q"),
        format!("{FAULT}; rm -rf .git"),
    ] {
        let attempt = attempt(&agent);
        assert_eq!(attempt["verdict"], "voided", "{agent}: {attempt:#}");
    }
}

#[test]
fn one_that_touches_tests_configuration_or_comments_is_out_of_scope_with_the_reason() {
    for (agent, reason) in [
        ("echo 'exit 0' > tests/strong.sh", "tests/strong.sh is part of the test command"),
        ("echo 'exit 0' > tests/weak.sh", "tests/weak.sh is a test"),
        ("echo '*' > .gitignore; echo x > src/new.sh", ".gitignore is configuration"),
        ("echo '# a comment' >> src/price.sh", "only comments or blanks differ"),
        ("echo stale > build/out", "only ignored files differ, the first is build/out"),
        ("echo x > .ratchet/evals/invariants.yaml", ".ratchet/evals/invariants.yaml is ratchet's"),
    ] {
        let attempt = attempt(agent);
        assert_eq!(attempt["verdict"], "out-of-scope", "{agent}: {attempt:#}");
        assert_eq!(attempt["reason"], reason);
    }
}

#[test]
fn one_that_leaves_locks_hooks_and_settings_behind_hides_nothing() {
    for agent in [
        format!("touch .git/index.lock; {FAULT}"),
        format!(
            "mkdir -p .git/hooks; printf '#!/bin/sh\\nexit 1' > .git/hooks/post-index-change; {FAULT}"
        ),
        format!("git config diff.external true; git config core.fsmonitor /bin/false; {FAULT}"),
        format!("git update-index --assume-unchanged src/price.sh; {FAULT}"),
    ] {
        assert_eq!(attempt(&agent)["verdict"], "killed", "{agent}");
    }
}

#[test]
fn new_removed_and_renamed_files_are_faults() {
    assert_eq!(attempt("echo 'x() { :; }' > src/new.sh")["verdict"], "survived");
    assert_eq!(attempt("rm src/price.sh")["verdict"], "killed");
    let renamed = attempt("mv src/price.sh src/prices.sh");
    assert_eq!(renamed["verdict"], "killed");
    assert_eq!(renamed["files"], json!(["src/price.sh", "src/prices.sh"]));
    assert!(note(&renamed).contains("2 files differ"), "{renamed:#}");
}

#[test]
fn binary_files_and_bytes_that_are_no_text_are_kept_as_they_are() {
    let binary = attempt("printf '\\000\\001' > src/price.sh");
    assert_eq!(binary["verdict"], "killed");
    assert!(note(&binary).contains("binary"), "{binary:#}");
    assert_eq!(attempt("printf '\\377\\376 x\\n' >> src/price.sh")["verdict"], "killed");
    assert!(note(&attempt("chmod +x src/price.sh")).contains("only the mode"));
}

#[test]
fn a_repository_that_it_makes_inside_is_gone_afterwards() {
    let attempt = attempt("mkdir nested; cd nested; git init -q .; echo x > y");
    assert_eq!(attempt["verdict"], "survived", "{attempt:#}");
}

#[test]
fn one_that_fails_says_so_beside_its_fault_or_its_nothing() {
    let with = attempt(&format!("{FAULT}; echo no credit >&2; exit 7"));
    assert_eq!(with["verdict"], "killed");
    assert_eq!(note(&with), "the agent ended with exit 7: no credit");
    let without = attempt("echo no credit >&2; exit 7");
    assert_eq!(without["verdict"], "no-change");
    assert_eq!(note(&without), "the agent ended with exit 7: no credit");
}

#[test]
fn one_that_hangs_is_ended_with_everything_it_started() {
    let agent = "sleep 1000 & setsid sleep 1000 & cat; sleep 1000";
    let hung = attempt_with(agent, &["--agent-timeout-ms", "300"]);
    assert_eq!(hung["verdict"], "no-change");
    assert!(note(&hung).contains("timeout (wall, 300 ms)"), "{hung:#}");
}

#[test]
fn ignored_files_that_it_spoils_beside_its_fault_are_restored_before_the_tests_run() {
    let env = shop_with("sh tests/strong.sh && test $(cat build/out) = built", 1, 1);
    env.write("build/out", "built\n");
    let agent = "echo 'x() { :; }' >> src/price.sh; echo stale > build/out";
    let result = outcome(&env, agent, &[]);
    assert_eq!(verdicts(&result), ["survived"], "{result:#}");
    let text = note(&result["outcomes"]["attempts"][0]);
    assert!(text.contains("1 ignored file(s)") && text.contains("build/out"), "{text}");
}

#[test]
fn the_same_fault_in_other_words_is_a_duplicate() {
    let env = shop_with("sh tests/strong.sh", 2, 1);
    let agent =
        format!("{}; {FAULT}; test $n = 0 || echo '# again' >> src/price.sh", super::NUMBER);
    let result = outcome(&env, &agent, &[]);
    assert_eq!(verdicts(&result), ["killed", "duplicate"]);
    assert_eq!(result["outcomes"]["attempts"][1]["of"], 0);
}

#[test]
fn an_agent_that_is_not_there_or_not_known_decides_nothing() {
    for agent in ["codex", "nobody"] {
        let env = shop_with("sh tests/strong.sh", 1, 1);
        env.write(".ratchet/config.yaml", format!("batch:\n  agent: {agent}\n"));
        super::commit(&env);
        let before = tree(&env);
        let document = env.ratchet(["eval", "mutate"]).json();
        let outcome = &document["results"][0]["outcome"];
        assert_eq!(outcome["status"], "unevaluable");
        let evidence = outcome["evidence"].as_str().expect("there is evidence");
        assert!(evidence.contains("could not run") && evidence.contains(agent), "{evidence}");
        assert!(document.get("agentOverride").is_none());
        assert_eq!(tree(&env), before);
        assert_nothing_left(&env);
    }
}

#[test]
fn what_leads_git_to_the_users_repository_reaches_neither_agent_nor_tests() {
    let env = shop_with("sh tests/strong.sh", 1, 1);
    let before = tree(&env);
    let result = mutate(&env, &format!("{FAULT}; git add -A; test -z \"$GIT_DIR\""), &[])
        .var("GIT_DIR", env.path(".git"))
        .var("GIT_INDEX_FILE", env.path(".git/index"))
        .json();
    assert_eq!(verdicts(&result["results"][0]), ["killed"]);
    assert_eq!(tree(&env), before);
}
