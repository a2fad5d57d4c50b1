//! Trees that are not ones to begin with: nothing is started, and nothing is touched.

use std::fs;

use ratchet_tests::TestEnv;

use super::{commit, outcome, seeder, shop_with, tree, verdicts};

/// The reason for which a tree is not usable. No agent is asked, no test is run, nothing is written.
#[track_caller]
fn refused(env: &TestEnv) -> String {
    let before = tree(env);
    let result = outcome(env, "touch $HOME/asked", &[]);
    assert_eq!(result["outcome"]["status"], "unevaluable", "{result:#}");
    assert_eq!(result["outcome"].get("artifacts"), None);
    assert!(!env.base().join("home/asked").exists(), "an agent was asked");
    assert!(!env.base().join("home/tested").exists(), "the tests were run");
    assert_eq!(tree(env), before);
    let evidence = result["outcome"]["evidence"].as_str().expect("there is evidence").to_owned();
    assert!(evidence.contains("working tree was not usable"), "{evidence}");
    evidence
}

fn shop() -> TestEnv {
    shop_with("touch $HOME/tested; sh tests/strong.sh", 1, 1)
}

// E-A09 E-A12
#[test]
fn uncommitted_changes_are_named() {
    let env = shop();
    env.write("src/price.sh", "# mine\n");
    assert!(refused(&env).contains("uncommitted changes, the first is 'M src/price.sh'"));
    env.git(&["add", "--all"]);
    assert!(refused(&env).contains("src/price.sh"), "staged");
    env.git(&["reset", "--quiet", "--hard"]);
    env.write("notes.txt", "mine");
    assert!(refused(&env).contains("?? notes.txt"));
}

#[test]
fn untracked_files_are_seen_whatever_the_users_settings_say() {
    let env = shop();
    env.git(&["config", "status.showUntrackedFiles", "no"]);
    env.write("notes.txt", "mine");
    assert!(refused(&env).contains("?? notes.txt"));
}

// E-A10
#[test]
fn outside_of_git_there_is_nothing_to_plant_a_fault_on() {
    let env = shop();
    fs::rename(env.path(".git"), env.base().join("git")).expect("it can be moved");
    assert!(refused(&env).contains("no usable git work tree"));
}

#[test]
fn a_repository_without_a_commit_or_in_the_middle_of_something_is_refused() {
    let env = shop();
    for (file, what) in [
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("BISECT_LOG", "a bisection"),
        ("index.lock", "index.lock"),
    ] {
        env.write(&format!(".git/{file}"), "");
        assert!(refused(&env).contains(what), "{file}");
        fs::remove_file(env.path(&format!(".git/{file}"))).expect("it is there");
    }
    for folder in ["rebase-merge", "rebase-apply"] {
        fs::create_dir(env.path(&format!(".git/{folder}"))).expect("it is free");
        assert!(refused(&env).contains("a rebase"), "{folder}");
        fs::remove_dir(env.path(&format!(".git/{folder}"))).expect("it is there");
    }
    env.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    assert!(refused(&env).contains("no commit yet"));
}

#[test]
fn dirt_elsewhere_in_the_repository_of_a_project_below_its_top_is_seen() {
    let env = shop();
    let inner = env.path("services/api");
    fs::create_dir_all(&inner).expect("a folder is made");
    super::copy(&super::fixture().join("project"), &inner);
    for file in [".ratchet/evals/invariants.yaml", ".ratchet/.gitignore"] {
        env.write(&format!("services/api/{file}"), env.read(file));
    }
    commit(&env);
    let call = |agent: &str| {
        env.ratchet(["eval", "mutate"]).cwd(inner.clone()).var("RATCHET_EVAL_AGENT_CMD", agent)
    };
    let result = call(&seeder()).json()["results"][0].clone();
    assert_eq!(verdicts(&result), ["killed"], "{result:#}");
    assert_eq!(result["outcomes"]["attempts"][0]["files"][0], "services/api/src/price.sh");
    let outside = call("echo x >> ../../src/price.sh").json()["results"][0].clone();
    assert_eq!(verdicts(&outside), ["out-of-scope"]);
    env.write("src/price.sh", "# mine\n");
    let dirty = call("true").json()["results"][0].clone();
    assert_eq!(dirty["outcome"]["status"], "unevaluable");
}

// E-A11
#[test]
fn run_records_are_no_dirt_ignored_or_not_tracked_or_not() {
    let env = shop();
    env.write(".ratchet/.gitignore", "");
    commit(&env);
    // The evidence of this run lies in the tree, not ignored, when the next one begins.
    assert_eq!(verdicts(&outcome(&env, &seeder(), &[])), ["killed"]);
    assert_eq!(verdicts(&outcome(&env, "true", &[])), ["no-change"], "a record is no fault");
    env.write(".ratchet/evals/runs/old.json", "{}\n");
    commit(&env);
    env.write(".ratchet/evals/runs/old.json", "{\"edited\": true}\n");
    assert_eq!(verdicts(&outcome(&env, &seeder(), &[])), ["killed"]);
    assert_eq!(env.read(".ratchet/evals/runs/old.json"), "{\"edited\": true}\n");
}

#[test]
fn a_detached_head_a_linked_work_tree_and_a_sparse_checkout_are_fine() {
    let env = shop();
    env.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(verdicts(&outcome(&env, &seeder(), &[])), ["killed"]);
    let linked = env.base().join("linked");
    env.git(&["worktree", "add", "--quiet", linked.to_str().expect("a plain path")]);
    let document =
        env.ratchet(["eval", "mutate"]).cwd(linked).var("RATCHET_EVAL_AGENT_CMD", seeder()).json();
    assert_eq!(verdicts(&document["results"][0]), ["killed"]);
    env.write("docs/long.md", "x");
    commit(&env);
    env.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/docs"]);
    assert!(!env.path("docs/long.md").exists());
    assert_eq!(verdicts(&outcome(&env, &seeder(), &[])), ["killed"]);
}

#[test]
fn empty_folders_links_and_hidden_states_of_the_users_stay() {
    let env = shop();
    fs::create_dir_all(env.path(".ratchet/standards")).expect("a folder is made");
    std::os::unix::fs::symlink("src", env.path("link")).expect("the name is free");
    commit(&env);
    env.git(
        &["update-index", "--assume-unchanged", "run.sh"]
            .map(|word| if word == "run.sh" { "src/price.sh" } else { word }),
    );
    let before = tree(&env);
    assert_eq!(verdicts(&outcome(&env, &seeder(), &[])), ["killed"]);
    assert_eq!(tree(&env), before);
}

#[test]
fn evidence_that_cannot_be_kept_is_never_a_pass() {
    let env = shop();
    // In the place of the folder for runs there is a file: as good as a full disk.
    env.write(".ratchet/evals/runs", "");
    let result = outcome(&env, &seeder(), &[]);
    assert_eq!(result["outcome"]["status"], "unevaluable");
    let evidence = result["outcome"]["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("evidence could not be"), "{evidence}");
}
