//! Projects whose true answer is known (`fixtures/mutants`): the harness must find it, and a sabotaged oracle must not get
//! away with it.

use std::fs;

use serde_json::{Value, json};

use super::{assert_nothing_left, fixture, mutate, outcome, seeder, shop_with, tree, verdicts};

fn survivors(result: &Value) -> Vec<u64> {
    let attempts = result["outcomes"]["attempts"].as_array().expect("there were attempts");
    let survived = attempts.iter().filter(|one| one["verdict"] == "survived");
    survived.map(|one| one["index"].as_u64().expect("an attempt has a number")).collect()
}

// E-A09 E-B01
#[test]
fn a_strong_suite_lets_nothing_survive_and_the_users_tree_is_never_written_to() {
    let env = shop_with("sh tests/strong.sh", 5, 5);
    let before = tree(&env);
    let result = outcome(&env, &seeder(), &[]);
    assert_eq!(result["outcome"]["status"], "pass", "{result:#}");
    assert_eq!(verdicts(&result), ["killed"; 5]);
    assert_eq!(tree(&env), before);
    assert_nothing_left(&env);
}

#[test]
fn a_weak_suite_lets_exactly_the_planted_faults_survive_also_in_several_copies() {
    for jobs in ["1", "3"] {
        let env = shop_with("sh tests/weak.sh", 5, 3);
        let result = outcome(&env, &seeder(), &["--jobs", jobs]);
        assert_eq!(result["outcome"]["status"], "fail", "{result:#}");
        assert_eq!(survivors(&result), [1, 3], "--jobs {jobs}");
        let evidence = result["outcome"]["evidence"].as_str().expect("there is evidence");
        assert!(evidence.contains("2 of 5") && evidence.contains("attempt #1"), "{evidence}");
        assert!(evidence.contains("+    if [ \"$1\" -gt 10000 ]"), "{evidence}");
    }
}

#[test]
fn an_oracle_that_always_passes_is_found_out() {
    let env = shop_with("exit 0", 3, 3);
    let result = outcome(&env, &seeder(), &[]);
    assert_eq!(result["outcome"]["status"], "fail");
    assert_eq!(survivors(&result), [0, 1, 2]);
}

// E-A16 E-B07
#[test]
fn an_oracle_that_always_fails_is_found_out_before_anything_is_planted() {
    let env = shop_with("echo broken; exit 1", 3, 3);
    let result = outcome(&env, "touch $HOME/asked", &[]);
    assert_eq!(result["outcome"]["status"], "unevaluable");
    let evidence = result["outcome"]["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("not green") && evidence.contains("exit 1"), "{evidence}");
    assert!(!env.base().join("home/asked").exists(), "no agent was asked");
}

/// Green once, then red: its toss is kept outside of the copies, as a machine's mood is.
const MOODY: &str = "echo x >> $HOME/mood; test $(($(wc -l < $HOME/mood) % 2)) = 1";

#[test]
fn an_oracle_that_changes_its_mind_is_found_out_by_running_it_twice() {
    let env = shop_with(MOODY, 3, 3);
    let result = outcome(&env, "touch $HOME/asked", &[]);
    assert_eq!(result["outcome"]["status"], "unevaluable");
    let evidence = result["outcome"]["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("flaky"), "{evidence}");
    assert!(!env.base().join("home/asked").exists());
}

#[test]
fn an_oracle_that_breaks_for_good_kills_nothing() {
    // Green three times, then red for ever, whatever is planted.
    let env = shop_with("echo x >> $HOME/mood; test $(wc -l < $HOME/mood) -le 3", 2, 1);
    let result = outcome(&env, &seeder(), &["--baseline-runs", "3"]);
    assert_eq!(result["outcome"]["status"], "unevaluable", "{result:#}");
    let evidence = result["outcome"]["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("could not run") && evidence.contains("restored tree"), "{evidence}");
}

#[test]
fn the_evidence_of_a_run_is_on_disk_and_in_the_reports() {
    let env = shop_with("sh tests/weak.sh", 3, 1);
    let document = mutate(&env, &seeder(), &[]).json();
    let run = document["runId"].as_str().expect("a run has an id");
    let folder = env.path(&format!(".ratchet/evals/runs/{run}/artifacts/invariants/no-bugs"));
    let diff = fs::read_to_string(folder.join("mutant-1.diff")).expect("a diff is kept");
    assert!(diff.starts_with("diff --git a/src/price.sh b/src/price.sh"), "{diff}");
    let log = fs::read_to_string(folder.join("mutant-1.log")).expect("a log is kept");
    assert!(log.starts_with("exit code: 0\n\n--- stdout ---\n"), "{log}");
    let read = |name: &str| -> Value {
        let bytes = fs::read(folder.join(name)).expect("a report is kept");
        serde_json::from_slice(&bytes).expect("a report is JSON")
    };
    let outcomes = read("outcomes.json");
    assert_eq!(
        (&outcomes["schemaVersion"], &outcomes["totals"]["survived"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(outcomes, document["results"][0]["outcomes"]);
    let stryker = read("mutation-report.json");
    let file = &stryker["files"]["src/price.sh"];
    assert_eq!((&stryker["schemaVersion"], &file["language"]), (&json!("2"), &json!("bash")));
    let original = fs::read_to_string(fixture().join("project/src/price.sh")).expect("it is there");
    assert_eq!(file["source"], json!(original));
    let statuses: Vec<&Value> =
        file["mutants"].as_array().expect("a list").iter().map(|one| &one["status"]).collect();
    assert_eq!(statuses, ["Killed", "Survived", "Killed"]);
    assert_eq!(file["mutants"][1]["location"]["start"]["line"], 8);
    let kept = read("outcome.json");
    assert_eq!(kept["artifacts"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_stored_fault_is_tried_again_without_an_agent() {
    let env = shop_with("sh tests/weak.sh", 2, 1);
    let document = mutate(&env, &seeder(), &[]).json();
    let run = document["runId"].as_str().expect("a run has an id");
    let before = tree(&env);
    let agent = "touch $HOME/asked";
    let replay = |mutant: &str| {
        env.ratchet(["eval", "replay", run, mutant]).var("RATCHET_EVAL_AGENT_CMD", agent)
    };
    let killed = replay("0").json();
    assert_eq!((&killed["verdict"], &killed["before"]), (&json!("killed"), &json!("killed")));
    let survived = replay("1").json();
    assert_eq!(
        (&survived["verdict"], &survived["invariant"]),
        (&json!("survived"), &json!("no-bugs"))
    );
    replay("7").refused();
    assert!(!env.base().join("home/asked").exists());
    assert_eq!(tree(&env), before);
    assert_nothing_left(&env);
}

#[test]
fn a_run_that_was_begun_goes_on_and_judges_only_what_is_left() {
    let env = shop_with("sh tests/strong.sh", 5, 5);
    let first = mutate(&env, &seeder(), &["--shard", "1/2"]).json();
    let run = first["runId"].as_str().expect("a run has an id");
    assert_eq!(first["results"][0]["outcomes"]["totals"]["attempts"], 3);
    let counted = format!("{}; echo x >> $HOME/asked", seeder());
    let whole = outcome(&env, &counted, &["--resume", run]);
    assert_eq!(verdicts(&whole), ["killed"; 5]);
    assert_eq!(whole["outcome"]["status"], "pass", "{whole:#}");
    let asked = fs::read_to_string(env.base().join("home/asked")).expect("the agent was asked");
    assert_eq!(asked.lines().count(), 2);
    env.write("src/other.sh", "x");
    super::commit(&env);
    let moved = outcome(&env, &seeder(), &["--resume", run]);
    let evidence = moved["outcome"]["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("two commits do not add up"), "{evidence}");
}

#[test]
fn only_faults_in_what_differs_from_a_commit_count() {
    let env = shop_with("sh tests/strong.sh", 2, 1);
    env.write("src/new.sh", "new() { echo 1; }\n");
    super::commit(&env);
    let agent = format!(
        "{}; if [ $n = 0 ]; then sh {}/faults/0.sh; else echo 'new() {{ echo 2; }}' > src/new.sh; fi",
        super::NUMBER,
        fixture().display()
    );
    let result = outcome(&env, &agent, &["--in-diff", "HEAD~1"]);
    assert_eq!(verdicts(&result), ["out-of-scope", "survived"]);
    let nothing = outcome(&env, &agent, &["--in-diff", "HEAD"]);
    assert_eq!(nothing["outcome"]["status"], "unevaluable");
}
