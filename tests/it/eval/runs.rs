//! `eval run` and what belongs to it: cases on fixtures, judges, invariants, baselines.

use std::fs;

use ratchet_tests::{Call, TestEnv};
use serde_json::{Value, json};

use crate::empty;

/// A world with two cases, bound to one fixture: `checked` by a command, `looked-at` by agents.
fn shop() -> TestEnv {
    let env = empty();
    env.write(
        ".ratchet/features/cart.feature",
        "Feature: Cart\n  Scenario: checked\n    Then it works\n  @holdout\n  Scenario: looked at\n    Then it works\n    And it is fast\n",
    );
    env.write(".ratchet/evals/fixtures/cart/works", "yes\n");
    bind(&env, "test -e works", "1");
    env
}

fn bind(env: &TestEnv, check: &str, votes: &str) {
    env.write(
        ".ratchet/evals/specs/cart.yaml",
        format!(
            "features/cart#checked:\n  kind: deterministic\n  fixture: cart\n  check: {{run: {}}}\n\
             features/cart#looked-at:\n  kind: llm-judge\n  fixture: cart\n  success: it works\n  jury: {{votes: {votes}}}\n",
            serde_json::to_string(check).expect("a text is JSON")
        ),
    );
}

const YES: &str = r#"echo 'I looked. [{"clause":"a","verdict":"yes","evidence":"works:1"},{"clause":"b","verdict":"yes","evidence":"works:1"}]'"#;
const NO: &str =
    r#"echo '[{"verdict":"yes","evidence":"x"},{"verdict":"no","evidence":"it is slow"}]'"#;

fn eval(env: &TestEnv, more: &[&str]) -> Call {
    let arguments = ["eval", "run"].iter().chain(more).copied();
    env.ratchet(arguments).var("RATCHET_EVAL_AGENT_CMD", YES)
}

fn run(env: &TestEnv, more: &[&str]) -> Value {
    eval(env, more).json()
}

#[track_caller]
fn case<'v>(document: &'v Value, id: &str) -> &'v Value {
    let cases = document["cases"].as_array().expect("there are cases");
    cases.iter().find(|case| case["id"] == id).unwrap_or_else(|| panic!("no {id}: {document:#}"))
}

#[track_caller]
fn contributor<'v>(document: &'v Value, id: &str) -> &'v Value {
    let all = document["contributors"].as_array().expect("there are contributors");
    all.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("no {id}: {document:#}"))
}

fn record(env: &TestEnv, document: &Value) -> Value {
    let run = document["runId"].as_str().expect("a run has an id");
    let text = env.read(&format!(".ratchet/evals/runs/{run}.json"));
    serde_json::from_str(&text).expect("a record is JSON")
}

// E-F11 E-F12 E-I12 E-I18 E-E12 E-H12
#[test]
fn cases_are_judged_in_copies_and_a_report_says_the_same_again() {
    let env = shop();
    bind(&env, "rm works; echo spoiled > new", "2");
    let document = run(&env, &[]);
    assert_eq!(document["overall"], "pass", "{document:#}");
    assert_eq!(document["scorecard"]["complete"], true);
    let judged = case(&document, "features/cart#looked-at");
    assert_eq!(judged["votes"].as_array().map(Vec::len), Some(2));
    assert_eq!(judged["rubric"], json!(["it works", "it is fast"]));
    assert_eq!(judged["source"], "features/cart.feature");
    assert_eq!(env.read(".ratchet/evals/fixtures/cart/works"), "yes\n");
    assert!(!env.path(".ratchet/evals/fixtures/cart/new").exists());
    let run = document["runId"].as_str().expect("a run has an id");
    let report = env.ratchet(["eval", "report", "--run", run]).json();
    for same in ["overall", "scorecard", "contributors", "cases", "invariants", "agentOverride"] {
        assert_eq!(report[same], document[same], "{same}");
    }
    assert_eq!(env.ratchet(["eval", "report"]).json(), report, "the newest is the default");
}

// E-I20
#[test]
fn a_stand_in_for_the_agent_is_told_everywhere_and_a_blank_one_nowhere() {
    let env = shop();
    let finished = eval(&env, &[]).ok();
    assert!(finished.stdout().starts_with("⚠ agent overridden by RATCHET_EVAL_AGENT_CMD\n"));
    let document = run(&env, &[]);
    assert_eq!(document["agentOverride"], true);
    assert_eq!(record(&env, &document)["via"], "env-override");
    let blank = env
        .ratchet(["eval", "run", "--no-llm-judge", "--json"])
        .var("RATCHET_EVAL_AGENT_CMD", "  ")
        .ok()
        .json();
    assert!(blank.get("agentOverride").is_none());
    assert!(record(&env, &blank).get("via").is_none());
    env.write(".ratchet/config.yaml", "batch:\n  requireOverrideFlag: true\n");
    assert!(eval(&env, &[]).refused().contains("--allow-agent-override"));
    eval(&env, &["--allow-agent-override"]).ok();
}

// E-I12
#[test]
fn judges_that_disagree_judge_nothing_and_one_no_fails() {
    let env = shop();
    let failed = env.ratchet(["eval", "run"]).var("RATCHET_EVAL_AGENT_CMD", NO).json();
    assert_eq!(case(&failed, "features/cart#looked-at")["verdict"], "fail");
    assert_eq!(contributor(&failed, "llm-judge")["failing"], json!(["features/cart#looked-at"]));
    bind(&env, "true", "2");
    let moody = format!(
        "echo x >> $HOME/mood; if [ $(wc -l < $HOME/mood) = 1 ]; then {YES}; else {NO}; fi"
    );
    let split = env.ratchet(["eval", "run"]).var("RATCHET_EVAL_AGENT_CMD", moody).json();
    let judged = case(&split, "features/cart#looked-at");
    assert_eq!(judged["verdict"], "unjudged");
    assert_eq!(judged["clauses"][0]["clause"], "(jury sub-quorum)");
    assert_eq!(split["scorecard"]["complete"], false);
}

// E-I09 E-F11
#[test]
fn a_broken_fixture_fails_the_run_and_exits_zero_unless_asked() {
    let env = shop();
    fs::remove_file(env.path(".ratchet/evals/fixtures/cart/works")).expect("it is there");
    let finished = eval(&env, &["--only", "deterministic"]).ok();
    let text = finished.stdout();
    assert!(text.contains("[FAIL]") && text.contains("Contributors:"), "{text}");
    assert!(text.contains("deterministic: fail (features/cart#checked)"), "{text}");
    assert!(text.contains("Run is incomplete"), "{text}");
    eval(&env, &["--exit-code"]).run().assert_code(14);
}

// E-I05 E-I08 E-H16 E-H19
#[test]
fn what_does_not_count_is_not_judged() {
    let env = shop();
    let document = run(&env, &["--no-llm-judge", "--no-invariants"]);
    let left = case(&document, "features/cart#looked-at");
    assert_eq!(left["verdict"], "unjudged");
    let kept = record(&env, &document);
    let reason = kept["verdicts"]["features/cart#looked-at"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("llm-judge"), "{reason}");
    assert_eq!(kept["gate"], json!(["deterministic", "regression"]));
    assert_eq!(run(&env, &["--judge", "deterministic"])["scorecard"]["unjudged"], 1);
}

// E-I10 E-I03
#[test]
fn an_unknown_contributor_or_judge_is_refused_before_anything_is_kept() {
    let env = shop();
    let text = eval(&env, &["--gate", "nope"]).refused();
    assert!(text.contains("deterministic, llm-judge, invariants, regression"), "{text}");
    eval(&env, &["--judge", "nope"]).refused();
    assert!(!env.path(".ratchet/evals/runs").exists());
}

// E-E13 E-I13
#[test]
fn what_prepares_a_fixture_runs_once_for_all_its_cases() {
    let env = shop();
    let spec = "features/cart#checked: {kind: deterministic, fixture: cart, setup: 'echo x >> $HOME/setups; touch ready', check: {run: test -e ready}}\n\
        features/cart#looked-at: {kind: deterministic, fixture: cart, setup: 'echo x >> $HOME/setups; touch ready', check: {run: test -e ready}}\n";
    env.write(".ratchet/evals/specs/cart.yaml", spec);
    assert_eq!(run(&env, &[])["scorecard"]["pass"], 2);
    let setups = fs::read_to_string(env.base().join("home/setups")).expect("it was prepared");
    assert_eq!(setups.lines().count(), 1);
}

// E-E14
#[test]
fn a_fixture_that_is_missing_or_cannot_be_prepared_leaves_its_case_unjudged_with_the_reason() {
    let env = shop();
    for (binding, reason) in [
        ("fixture: gone, check: {run: 'true'}", "not found"),
        ("fixture: ../specs, check: {run: 'true'}", "no fixture's name"),
        ("fixture: cart, setup: 'echo no >&2; exit 3', check: {run: 'true'}", "setup failed"),
    ] {
        let spec = format!("features/cart#checked: {{kind: deterministic, {binding}}}\n");
        env.write(".ratchet/evals/specs/cart.yaml", spec);
        let document = run(&env, &[]);
        let kept = record(&env, &document)["verdicts"]["features/cart#checked"].clone();
        assert_eq!(kept["verdict"], "unjudged");
        assert!(kept["reason"].as_str().expect("a reason").contains(reason), "{kept}");
    }
}

// E-I17 E-H17
#[test]
fn cases_that_are_skipped_are_not_judged_and_block_nothing() {
    let env = shop();
    env.write(".ratchet/config.yaml", "eval:\n  skip: ['*#looked-at']\n");
    let document = run(&env, &[]);
    assert_eq!(document["scorecard"]["skipped"], 1);
    assert_eq!(document["scorecard"]["complete"], true);
    let skipped = case(&document, "features/cart#looked-at");
    assert_eq!(skipped["skip"], json!({"source": "config", "detail": "*#looked-at"}));
    assert_eq!(run(&env, &["--include-skipped"])["scorecard"]["skipped"], 0);
}

// E-H18 E-I02
#[test]
fn holding_out_shapes_the_run() {
    let env = shop();
    let ids = |flag: &str| -> Vec<String> {
        let document = run(&env, &[flag]);
        let cases = document["cases"].as_array().expect("cases").clone();
        cases.iter().map(|case| case["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids("--holdout"), ["features/cart#looked-at"]);
    assert_eq!(ids("--no-holdout"), ["features/cart#checked"]);
}

// E-I15 E-I06 E-I14 E-H08
#[test]
fn what_passed_in_the_baseline_and_fails_now_is_a_regression() {
    let env = shop();
    let first = run(&env, &[]);
    let id = first["runId"].as_str().expect("a run has an id");
    let forced = ["eval", "baseline", id, "--force"];
    assert_eq!(env.ratchet(forced).json(), json!({"baseline": {"runId": id}}));
    fs::remove_file(env.path(".ratchet/evals/fixtures/cart/works")).expect("it is there");
    let second = run(&env, &[]);
    assert_eq!(second["regressions"], json!(["features/cart#checked"]));
    assert_eq!(contributor(&second, "regression")["status"], "fail");
    let id = second["runId"].as_str().expect("a run has an id");
    let overrule = |verdict: &str, more: &[&str]| {
        let arguments = [
            "eval",
            "record",
            "--run",
            id,
            "--case",
            "features/cart#checked",
            "--verdict",
            verdict,
        ];
        env.ratchet(arguments.iter().chain(more).copied())
    };
    assert!(overrule("fail", &[]).refused().contains("requires --evidence"));
    assert_eq!(overrule("pass", &["--evidence", "seen"]).json()["source"], "manual");
    let report = env.ratchet(["eval", "report", "--run", id]).json();
    assert_eq!(report["diff"]["regressions"], json!([]));
    fs::remove_dir_all(env.path(".ratchet/evals/runs")).expect("records are there");
    assert_eq!(
        run(&env, &[])["regressions"],
        json!(["features/cart#checked"]),
        "without its record"
    );
}

// E-I16 E-H04
#[test]
fn an_incomplete_run_is_not_promoted() {
    let env = shop();
    let document = run(&env, &["--no-llm-judge"]);
    let id = document["runId"].as_str().expect("a run has an id");
    assert!(env.ratchet(["eval", "baseline", id]).refused().contains("incomplete"));
    assert!(!env.path(".ratchet/evals/baseline.json").exists());
    env.ratchet(["eval", "baseline", "gone"]).refused();
    env.ratchet(["eval", "baseline", "../x"]).refused();
}

fn invariants(env: &TestEnv, entries: &str) {
    env.write(".ratchet/evals/invariants.yaml", format!("invariants:\n{entries}"));
}

#[track_caller]
fn status(env: &TestEnv, entry: &str) -> (String, String) {
    invariants(env, &format!("  - {{id: i, active: true, {entry}}}\n"));
    let document = run(env, &["--only", "invariants"]);
    let outcome = &document["invariants"][0];
    let text = |key: &str| outcome[key].as_str().expect("an outcome is told").to_owned();
    (text("status"), text("evidence"))
}

// E-C01 E-C02 E-C03 E-C09
#[test]
fn commands_and_snapshots_are_judged_in_the_projects_root() {
    let env = shop();
    env.write("golden.txt", "one\n\n");
    let deterministic =
        |run: &str| status(&env, &format!("kind: deterministic, check: {{run: '{run}'}}"));
    assert_eq!(deterministic("test -e golden.txt").0, "pass");
    let (failed, evidence) = deterministic("echo why; exit 3");
    assert!(failed == "fail" && evidence.contains("nonzero-exit") && evidence.contains("why"));
    let snapshot = |golden: &str, run: &str| {
        status(&env, &format!("kind: snapshot, golden: {golden}, produce: {{run: '{run}'}}"))
    };
    assert_eq!(snapshot("golden.txt", "echo; echo one").0, "pass");
    assert!(snapshot("golden.txt", "echo two").1.contains("two"));
    assert_eq!(snapshot("gone.txt", "echo one").0, "unevaluable");
    assert_eq!(snapshot("golden.txt", "echo one; exit 1").0, "unevaluable");
}

// E-C04
#[test]
fn a_check_that_cannot_run_decides_nothing() {
    let env = shop();
    invariants(&env, "  - {id: i, kind: deterministic, active: true, check: {run: 'true'}}\n");
    let bin = env.base().join("bin");
    let document = eval(&env, &["--only", "invariants"]).var("PATH", bin).json();
    let outcome = &document["invariants"][0];
    assert_eq!(outcome["status"], "unevaluable", "{document:#}");
    let evidence = outcome["evidence"].as_str().expect("there is evidence");
    assert!(evidence.contains("could not run") && evidence.contains("bash"), "{evidence}");
}

// E-C05 E-C06 E-C07 E-C08
#[test]
fn a_number_must_not_fall_below_that_of_the_baseline() {
    let env = shop();
    let count = || status(&env, "kind: monotonic, measure: scenario-count");
    let (first, evidence) = count();
    assert!(first == "unevaluable" && evidence.contains("baseline missing"), "{evidence}");
    let complete = run(&env, &[]);
    let id = complete["runId"].as_str().expect("a run has an id");
    env.ratchet(["eval", "baseline", id, "--force"]).ok();
    assert_eq!(count().0, "pass");
    env.write(".ratchet/features/cart.feature", "Feature: Cart\n  Scenario: checked\n    Then x\n");
    let (fallen, evidence) = count();
    assert!(fallen == "fail" && evidence.contains("1 is below 2"), "{evidence}");
    assert!(status(&env, "kind: monotonic, measure: lines").1.contains("unknown measure"));
}

// E-I04 E-I11 E-C10 E-C16 E-C18 E-H13
#[test]
fn violated_invariants_come_first_and_inactive_ones_are_not_run() {
    let env = shop();
    assert_eq!(run(&env, &[])["invariants"], json!([]), "no manifest, nothing violated");
    invariants(
        &env,
        "  - {id: bad, kind: deterministic, active: true, check: {run: 'false'}}\n  - {id: off, kind: deterministic, active: false, check: {run: 'touch $HOME/ran'}}\n",
    );
    let text = eval(&env, &[]).ok().stdout();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}:\n{text}"));
    assert!(at("INVARIANT VIOLATIONS (1):") < at("Contributors:"));
    assert!(text.contains("- bad (deterministic: fail)"), "{text}");
    assert!(!env.base().join("home/ran").exists());
    assert_eq!(run(&env, &["--no-invariants"])["overall"], "pass");
    let sound = run(&env, &[]);
    invariants(&env, "  - {id: bad}\n");
    let document = run(&env, &[]);
    assert_eq!(contributor(&document, "invariants")["failing"], json!(["invariants.yaml"]));
    let error = document["invariantLoadError"].as_str().expect("it is told");
    assert!(error.contains("line 2, column"), "{error}");
    let id = sound["runId"].as_str().expect("a run has an id");
    let report = env.ratchet(["eval", "report", "--run", id]).json();
    assert_eq!(report.get("loadError"), None, "a report reads no manifest");
}

// E-I19 E-H11
#[test]
fn a_report_starts_nothing_and_touches_nothing() {
    let env = shop();
    invariants(
        &env,
        "  - {id: c, kind: deterministic, active: true, check: {run: 'echo x >> $HOME/count'}}\n",
    );
    let document = run(&env, &[]);
    let id = document["runId"].as_str().expect("a run has an id");
    let before = super::tree(&env);
    let counted = || fs::read_to_string(env.base().join("home/count")).expect("it was run");
    let count = counted();
    env.ratchet(["eval", "report", "--run", id]).ok();
    assert_eq!((counted(), super::tree(&env)), (count, before));
}

// E-B08 E-B09
#[test]
fn a_mutation_invariant_is_part_of_a_run_and_has_evidence_of_its_own_in_each() {
    let env = super::shop_with("sh tests/strong.sh", 1, 1);
    let evaluate = || {
        let call = env.ratchet(["eval", "run"]).var("RATCHET_EVAL_AGENT_CMD", super::seeder());
        call.json()
    };
    let (one, two) = (evaluate(), evaluate());
    for document in [&one, &two] {
        let outcome = &document["invariants"][0];
        assert_eq!(outcome["status"], "pass", "{document:#}");
        let run = document["runId"].as_str().expect("a run has an id");
        let path = outcome["artifacts"][0]["diffPath"].as_str().expect("a diff is kept");
        assert!(path.contains(run) && env.path(path).is_file(), "{path}");
    }
    assert_ne!(one["invariants"][0]["artifacts"], two["invariants"][0]["artifacts"]);
}

// E-D05 E-D07
#[test]
fn a_fresh_project_is_accepted() {
    let env = empty();
    env.ratchet(["init", "--tools", "none"]).ok();
    let document = run(&env, &[]);
    let ids: Vec<&Value> =
        document["invariants"].as_array().expect("a list").iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["spec-not-weakened"]);
    assert!(document.get("invariantLoadError").is_none());
    let warned = document["warnings"].to_string();
    assert!(warned.contains("there are no cases"), "{warned}");
}

// E-G02 E-G03 E-G04 E-F16
#[test]
fn a_browser_case_starts_its_application_waits_looks_and_stops_it() {
    let env = shop();
    let bind = |ready: &str, timeout: u32| {
        env.write(
            ".ratchet/evals/specs/cart.yaml",
            format!("features/cart#checked: {{kind: web, fixture: cart, start: 'touch up; sleep 1000', readiness: {{command: '{ready}', timeoutMs: {timeout}}}, spec: cart.spec.ts}}\n"),
        );
    };
    // Stands in for Playwright: the specification passes where the application is up.
    let npx = env.base().join("bin/npx");
    fs::write(&npx, "#!/bin/sh\necho \"$@\" >> $HOME/npx\ntest -e up\n").expect("it is written");
    fs::set_permissions(&npx, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    bind("test -e up", 20_000);
    let document = run(&env, &["--only", "deterministic"]);
    assert_eq!(case(&document, "features/cart#checked")["verdict"], "pass", "{document:#}");
    let called = fs::read_to_string(env.base().join("home/npx")).expect("it was called");
    assert_eq!(
        called,
        "playwright test cart.spec.ts --trace=retain-on-failure --reporter=list,json\n"
    );
    env.wait_until_empty();
    bind("false", 300);
    let late = run(&env, &["--only", "deterministic"]);
    let judged = case(&late, "features/cart#checked");
    assert_eq!(judged["verdict"], "fail");
    let evidence = judged["clauses"][0]["evidence"].as_str().expect("evidence");
    assert!(evidence.contains("readiness-timeout"), "{evidence}");
    let called = fs::read_to_string(env.base().join("home/npx")).expect("it was called");
    assert_eq!(called.lines().count(), 1, "the specification was not run");
    env.wait_until_empty();
}
