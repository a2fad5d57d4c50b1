//! Where a run of several steps halts that would otherwise go round in circles or lose what it did, and what a person sees
//! of a step that waits, runs, or never began.

use ratchet_tests::asked::Kind;
use ratchet_tests::{Action, Manifest, Phase, Script, wait};
use serde_json::Value;

use crate::{shop, status, with};

fn one_empty_phase() -> ratchet_tests::TestEnv {
    with(&Manifest::new("shop").phase(Phase::new("p1")))
}

fn decomposes(actions: impl IntoIterator<Item = Action>) -> Script {
    let all = [Action::ran("decompose")].into_iter().chain(actions);
    Script::honest().on(Kind::Decompose, all)
}

fn run(env: &ratchet_tests::TestEnv, script: &Script) -> ratchet_tests::Finished {
    env.ratchet(["batch", "run", "--json", "--exit-code"]).agent(&env.agent(script)).run()
}

#[test]
fn a_run_does_not_start_a_second_agent_for_a_decomposition_that_wrote_nothing() {
    let env = one_empty_phase();
    let finished = run(&env, &decomposes([Action::complete("all authored")])).assert_code(10);
    let ran = finished.json();
    assert_eq!(env.agent_runs(), 1);
    assert_eq!(ran["steps"][0]["state"], "advanced", "{ran:#}");
    assert_eq!(ran["halted"]["reason"], "stalled", "{ran:#}");
    let hint = ran["halted"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("ratchet batch log shop --last"), "{ran:#}");
}

#[test]
fn a_run_that_ends_in_an_error_still_tells_the_steps_that_it_recorded() {
    let env = one_empty_phase();
    let spoil = Action::write(".ratchet/batches/shop/batch.yaml", "phases: [");
    let finished = run(&env, &decomposes([spoil, Action::complete("all authored")])).assert_code(1);
    let ran = finished.json();
    assert_eq!(ran["steps"].as_array().map(Vec::len), Some(1), "{ran:#}");
    assert_eq!(ran["halted"]["reason"], "error", "{ran:#}");
    assert_eq!(ran["halted"]["code"], "invalid-manifest", "{ran:#}");
    assert!(finished.stderr().contains("Error: Failed to parse batch manifest YAML"), "{finished}");
}

#[test]
fn an_agent_that_is_not_installed_is_named_and_so_is_where_it_was_looked_for() {
    let env = shop();
    let applied = env.ratchet(["batch", "apply"]).run().assert_code(0);
    let applied = applied.says("Not started: add-api (propose)").says("cannot run claude");
    let applied = applied.says("not found on PATH (").says("run it again");
    assert!(!applied.stdout().contains("Ran:"), "{applied}");
    let park = status(&env)["phases"][0]["changes"][0]["parked"].clone();
    assert!(park["reason"].as_str().is_some_and(|reason| reason.contains("cannot run claude")));
    // Once it is there, nobody has to answer anything.
    env.install_agent("claude");
    let step = env
        .ratchet(["batch", "apply"])
        .var(ratchet_tests::script::SCRIPT_VAR, env.script(&Script::honest()))
        .json();
    assert_eq!(step["state"], "advanced", "{step:#}");
}

#[test]
fn a_step_that_runs_is_shown_to_whoever_looks() {
    let env = shop();
    assert_eq!(status(&env).get("running"), None::<&Value>);
    let script = Script::always([Action::write("agent-is-here", ""), Action::wait_for("go")]);
    let running = env.ratchet(["batch", "apply"]).agent(&env.agent(&script)).start();
    wait::until_exists(&env.path("agent-is-here"));
    let seen = status(&env)["running"].clone();
    assert_eq!((&seen["change"], &seen["transition"]), (&"add-api".into(), &"propose".into()));
    env.ratchet(["batch", "status"]).ok().says("Running: propose of add-api");
    env.ratchet(["batch", "log"]).ok().says("Running: propose of add-api");
    env.write("go", "");
    running.wait();
    assert_eq!(status(&env).get("running"), None::<&Value>);
}

#[test]
fn an_agent_cannot_take_a_persons_decision() {
    let env =
        with(&Manifest::of_changes("shop", &["add-api", "add-web"]).setting("gate: after-propose"));
    let honest = Script::honest();
    env.ratchet(["batch", "apply"]).agent(&env.agent(&honest)).ok();
    let approves = Action::run("ratchet batch approve shop --change add-api 2>refused; true");
    let meddles = Script::honest().on(Kind::Propose, [Action::ReadPrompt, approves]);
    env.ratchet(["batch", "apply"]).agent(&env.agent(&meddles)).ok();
    assert!(env.read("refused").contains("only a person can approve"), "{}", env.read("refused"));
    assert_eq!(env.park("shop", "add-api")["kind"], "awaiting-approval");
    env.ratchet(["batch", "approve", "--change", "add-api"]).ok();
}

#[test]
fn a_state_has_one_exit_code_however_often_it_is_met() {
    let env = shop();
    let asks = Script::always([Action::ReadPrompt, Action::blocker("which table?")]);
    for verb in ["apply", "apply", "run"] {
        let call = env.ratchet(["batch", verb, "--exit-code"]).agent(&env.agent(&asks));
        call.run().assert_code(10);
    }
    let failing = with(
        &Manifest::new("shop")
            .phase(Phase::new("p1").proof("exit 3", "exit code 0").change("only")),
    );
    failing.add_done("shop", "only");
    for verb in ["apply", "apply", "run"] {
        let finished = failing.ratchet(["batch", verb, "--exit-code"]).run().assert_code(13);
        finished.says("ratchet batch rerun-proof shop --phase p1");
    }
}

#[test]
fn a_pull_request_that_waits_is_shown_with_its_question() {
    let env = with(&Manifest::of_changes("shop", &["only"]).setting("prGrouping: whole-batch"));
    env.add_done("shop", "only");
    let asks = Script::honest().on(Kind::Pr, [Action::report("--needs-input", "which remote?")]);
    env.ratchet(["batch", "run"]).agent(&env.agent(&asks)).ok();
    let due = status(&env)["pullRequest"].clone();
    assert_eq!((&due["key"], &due["held"]), (&"pr:shop".into(), &true.into()), "{due:#}");
    assert_eq!(due["parked"]["reason"], "which remote?");
    let shown = env.ratchet(["batch", "status"]).ok();
    shown.says("which remote?").says("ratchet batch report shop --change pr:shop --answer");
}
