//! Agents as they are on their worst day. Whatever they do: the step ends, its outcome is recorded once, nothing of
//! them is left, and the next step can run.

use ratchet_tests::asked::Kind;
use ratchet_tests::{Action, Manifest, Script, TestEnv};
use serde_json::Value;

use crate::{apply, shop, with};

/// A batch whose agents are ended after this many milliseconds.
fn limited(setting: &str) -> TestEnv {
    with(&Manifest::of_changes("shop", &["add-api"]).setting(setting))
}

fn assert_clean(env: &TestEnv) {
    env.wait_until_empty();
    let outcomes =
        env.journal("shop").iter().filter(|entry| entry.get("transition").is_some()).count();
    assert_eq!(outcomes, 1, "{:#?}", env.journal("shop"));
    assert!(!env.path(".ratchet/batches/shop/run/step.lock").exists());
    assert!(!env.path(".ratchet/batches/shop/run/inflight.json").exists());
}

fn blocked(step: &Value) -> String {
    assert_eq!(step["state"], "blocked", "{step:#}");
    step["blocker"].as_str().unwrap_or_default().to_owned()
}

fn proposes(
    before: impl IntoIterator<Item = Action>,
    after: impl IntoIterator<Item = Action>,
) -> Script {
    let work = [Action::Plan { change: None, tasks: 1 }, Action::complete("planned")];
    Script::default().on(Kind::Propose, before.into_iter().chain(work).chain(after))
}

// B-P14 B-P21 B-Q09
#[test]
fn one_that_hangs_is_ended_at_the_limit_and_never_called_a_wrong_model() {
    let env = with(
        &Manifest::of_changes("shop", &["add-api"])
            .setting("agentTimeoutMs: 300")
            .setting("agent: \"claude:some-model\""),
    );
    env.install_agent("claude");
    let script = env.script(&Script::always([Action::Hang]));
    let step =
        env.ratchet(["batch", "apply"]).var(ratchet_tests::script::SCRIPT_VAR, script).json();
    let text = blocked(&step);
    assert!(text.contains("timed out") && text.contains("300"), "{text}");
    assert!(!text.contains("some-model"), "{text}");
    assert_clean(&env);
}

// B-P15 B-C27 B-P09
#[test]
fn the_environments_limit_beats_the_projects() {
    let env = limited("agentTimeoutMs: 600000");
    let step = env
        .ratchet(["batch", "apply"])
        .agent(&env.agent(&Script::always([Action::Hang])))
        .var("RATCHET_AGENT_TIMEOUT_MS", "300")
        .json();
    assert!(blocked(&step).contains("timed out"));
    assert_clean(&env);
}

#[test]
fn one_that_falls_silent_is_ended_by_the_idle_limit_while_a_busy_one_is_not() {
    let env = limited("agentIdleTimeoutMs: 400");
    let busy = proposes([Action::PrintClock { count: 30, every_us: 30_000 }], []);
    assert_eq!(apply(&env, &busy)["state"], "advanced");
    let silent = Script::always([Action::say("working on it"), Action::Hang]);
    assert!(blocked(&apply(&env, &silent)).contains("idle"));
    env.wait_until_empty();
}

#[test]
fn one_that_never_says_anything_is_ended_by_the_start_limit() {
    let env = limited("agentStartTimeoutMs: 300");
    assert!(blocked(&apply(&env, &Script::always([Action::Hang]))).contains("start"));
    assert_clean(&env);
}

#[test]
fn one_that_never_reads_its_prompt_is_no_trouble_even_when_the_prompt_is_large() {
    let env = shop();
    let manifest = env.read(".ratchet/batches/shop/batch.yaml");
    env.write(
        ".ratchet/batches/shop/batch.yaml",
        manifest.replace("reach p1", &"very ".repeat(200_000)),
    );
    let step = apply(&env, &Script::always([Action::say("no time to read"), Action::exit(0)]));
    assert!(blocked(&step).contains("without reporting completion"), "{step:#}");
    assert_clean(&env);
}

#[test]
fn one_that_reads_to_the_end_gets_an_end() {
    let env = shop();
    assert_eq!(apply(&env, &proposes([Action::ReadPrompt], []))["state"], "advanced");
}

#[test]
fn one_that_asks_on_the_terminal_has_none_and_goes_on() {
    let env = shop();
    let question = Action::AskOnTerminal { question: "continue? [y/N] ".to_owned() };
    assert_eq!(apply(&env, &proposes([question], []))["state"], "advanced");
}

// B-Q14 B-Q18
#[test]
fn one_that_prints_what_is_no_text_is_kept_byte_for_byte() {
    let env = shop();
    let bytes: Vec<u8> = (0..=255).chain([0xe2, 0x82]).collect();
    apply(&env, &Script::always([Action::PrintBytes { bytes: bytes.clone() }, Action::say("")]));
    let log = env.ratchet(["batch", "log", "--last", "--raw"]).ok();
    assert_eq!(log.stdout, [&bytes[..], b"\n"].concat());
    assert_clean(&env);
}

// B-Q13
#[test]
fn one_that_prints_a_line_of_a_megabyte_is_shown_and_kept_whole() {
    let env = shop();
    let line = Action::PrintLongLine { bytes: 1 << 20 };
    let shown = env
        .ratchet(["batch", "apply"])
        .agent(&env.agent(&Script::always([line, Action::say("after it")])))
        .ok();
    shown.says("after it");
    let log = env.ratchet(["batch", "log", "--last", "--raw"]).ok();
    assert_eq!(log.stdout.len(), (1 << 20) + 1 + "after it\n".len());
}

#[test]
fn one_that_prints_beyond_its_limit_is_ended_and_the_step_says_so() {
    let env = limited("agentOutputLimitBytes: 100000");
    let text =
        blocked(&apply(&env, &Script::always([Action::Flood { bytes: 50_000_000 }, Action::Hang])));
    assert!(text.contains("100000") || text.contains("output"), "{text}");
    assert_clean(&env);
}

#[test]
fn what_one_leaves_running_is_ended_when_it_ends() {
    let daemon = |ready: &str| vec![Action::NewSession, Action::write(ready, ""), Action::Hang];
    for left in [
        Action::Background { actions: daemon("ready") },
        Action::Background {
            actions: vec![Action::NewSession, Action::Background { actions: daemon("ready") }],
        },
        Action::BackgroundUnmarked { actions: daemon("ready") },
        // Keeps the output open without leaving the session.
        Action::Background { actions: vec![Action::write("ready", ""), Action::Hang] },
    ] {
        let env = shop();
        let step = apply(&env, &proposes([left.clone(), Action::wait_for("ready")], []));
        assert_eq!(step["state"], "advanced", "{left:?}: {step:#}");
        assert_clean(&env);
    }
}

#[test]
fn one_that_takes_a_request_to_end_for_success_is_not_believed() {
    let env = limited("agentTimeoutMs: 500");
    let script = Script::default().on(
        Kind::Propose,
        [
            Action::Plan { change: None, tasks: 1 },
            Action::complete("planned"),
            Action::TrapTermAndExitZero { ready: "trapping".to_owned() },
        ],
    );
    let step = apply(&env, &script);
    assert_eq!(step["state"], "blocked", "exit 0 after our signal is no success: {step:#}");
    assert_clean(&env);
}

#[test]
fn one_that_is_deaf_to_requests_is_killed() {
    let env = limited("agentTimeoutMs: 300");
    let script = Script::always([Action::IgnoreTerm { actions: vec![Action::Hang] }]);
    assert!(blocked(&apply(&env, &script)).contains("timed out"));
    assert_clean(&env);
}

// B-K17
#[test]
fn one_that_dies_by_a_signal_is_blocked_with_the_signals_name() {
    for (signal, name) in [("KILL", "SIGKILL"), ("SEGV", "SIGSEGV"), ("TERM", "SIGTERM")] {
        let env = shop();
        let step = apply(&env, &Script::always([Action::DieBy { signal: signal.to_owned() }]));
        assert!(blocked(&step).contains(&format!("via signal {name}")), "{step:#}");
        assert_clean(&env);
    }
}

#[test]
fn one_that_reports_twice_counts_once() {
    let env = shop();
    let step = apply(&env, &proposes([], [Action::complete("planned, again")]));
    assert_eq!((&step["state"], &step["message"]), (&"advanced".into(), &"planned".into()));
    assert_clean(&env);
}

#[test]
fn a_report_after_the_end_does_not_change_the_outcome() {
    let env = shop();
    let late = Action::BackgroundUnmarked {
        actions: vec![
            Action::NewSession,
            Action::wait_for("never"),
            Action::Ratchet {
                arguments: ["batch", "report", "--change", "add-api", "--complete", "late"]
                    .map(str::to_owned)
                    .to_vec(),
            },
        ],
    };
    let step = apply(&env, &Script::always([late, Action::exit(1)]));
    assert_eq!(step["state"], "blocked");
    env.write("never", "");
    assert_clean(&env);
    env.ratchet(["batch", "report", "--change", "add-api", "--complete", "later still"]).ok();
    assert_eq!(crate::change_status(&env, "add-api")["status"], "blocked");
    assert!(!env.park("shop", "add-api").is_null());
}

#[test]
fn one_that_writes_its_own_verdict_into_the_journal_is_still_held_against_the_disk() {
    let env = shop();
    env.add_plan("add-api", 2, 0);
    let forged = "{\"at\":\"2026-01-01T00:00:00.000Z\",\"change\":\"add-api\",\"kind\":\"completion\",\"message\":\"Ready for archive.\",\"transition\":\"verify\"}\n";
    let script =
        Script::always([Action::append(".ratchet/batches/shop/run/journal.jsonl", forged)]);
    let step = apply(&env, &script);
    assert_eq!(step["state"], "blocked", "{step:#}");
    assert_ne!(crate::change_status(&env, "add-api")["status"], "done", "the boxes are open");
    env.wait_until_empty();
}

#[test]
fn one_that_empties_the_journal_takes_nothing_but_its_own_step_down() {
    let env = shop();
    env.ratchet(["batch", "report", "--change", "add-api", "--status", "before"]).ok();
    let script = Script::always([
        Action::ReadPrompt,
        Action::write(".ratchet/batches/shop/run/journal.jsonl", ""),
    ]);
    let step = apply(&env, &script);
    assert_eq!(step["state"], "blocked", "{step:#}");
    assert_clean(&env);
}

#[test]
fn one_that_deletes_the_run_folder_loses_its_report_and_still_gets_its_outcome_recorded() {
    let env = shop();
    let script = proposes([], [Action::Remove { path: ".ratchet/batches/shop/run".to_owned() }]);
    assert!(blocked(&apply(&env, &script)).contains("without reporting completion"));
    assert_clean(&env);
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "go on"]).ok();
    assert_eq!(apply(&env, &Script::honest())["transition"], "apply", "the plan is there");
}

#[test]
fn one_that_deletes_the_project_leaves_a_clear_error() {
    let env = shop();
    let script = Script::always([Action::Remove { path: ".".to_owned() }]);
    let finished = env.ratchet(["batch", "apply"]).agent(&env.agent(&script)).run();
    assert!(matches!(finished.code, Some(0 | 1)), "{finished}");
    assert!(!finished.stderr().contains("panicked"), "{finished}");
    env.wait_until_empty();
}

#[test]
fn one_that_deletes_its_spawn_folder_is_ended_and_named_lost_or_judged() {
    let env = shop();
    let script =
        Script::always([Action::run("rm -rf \"$HOME/../state/ratchet\""), Action::exit(5)]);
    let finished =
        env.ratchet(["batch", "apply", "--json"]).agent(&env.agent(&script)).run().assert_code(0);
    assert_eq!(finished.json()["state"], "blocked", "{finished}");
    assert_clean(&env);
}

#[test]
fn one_that_cannot_be_started_is_blocked_with_the_reason() {
    let env = shop();
    let step = env.ratchet(["batch", "apply"]).agent("/nowhere/agent").json();
    assert!(blocked(&step).contains("exited with code 127"), "{step:#}");
    assert_clean(&env);
}

#[test]
fn one_that_prints_its_final_event_and_lingers_is_ended_and_counts_by_its_report() {
    let env = shop();
    env.install_agent("claude");
    let script = Script::always([
        Action::ReadPrompt,
        Action::Plan { change: None, tasks: 1 },
        Action::complete("planned"),
        Action::say(
            "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"planned\"}",
        ),
        Action::Hang,
    ]);
    let step = env
        .ratchet(["batch", "apply"])
        .var(ratchet_tests::script::SCRIPT_VAR, env.script(&script))
        .json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_clean(&env);
}

#[test]
fn one_whose_flags_do_not_fit_points_at_the_table_to_override() {
    let env = shop();
    env.install_agent("claude");
    let script = Script::always([
        Action::PrintError { text: "error: unknown option '--verbose'\n".into() },
        Action::exit(1),
    ]);
    let step = env
        .ratchet(["batch", "apply"])
        .var(ratchet_tests::script::SCRIPT_VAR, env.script(&script))
        .json();
    assert!(step.to_string().contains("batch.agents.claude.args"), "{step:#}");
}
