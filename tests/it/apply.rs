//! `batch apply` as a command: what it prints, what it refuses, what it leaves.

use ratchet_tests::script::SCRIPT_VAR;
use ratchet_tests::{Action, Manifest, Phase, Script};
use serde_json::Value;

use crate::{apply, shop, with};

// B-V01 B-I05
#[test]
fn a_finished_batch_has_nothing_to_do_and_starts_no_agent() {
    let env = shop();
    env.add_done("shop", "add-api");
    apply(&env, &Script::honest());
    let again = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).ok();
    again.says("Nothing to do").says("all changes are done.");
    assert_eq!(env.agent_runs(), 0);
}

// B-V07 B-K01 B-J09 B-J10
#[test]
fn the_json_document_is_the_step_alone_and_live_output_goes_to_standard_error() {
    let env = shop();
    let script = Script::honest().on(
        ratchet_tests::asked::Kind::Propose,
        [
            Action::say("{\"not\": \"the result\"}"),
            Action::Plan { change: None, tasks: 1 },
            Action::complete("planned"),
        ],
    );
    let finished = env.ratchet(["batch", "apply", "--json"]).agent(&env.agent(&script)).ok();
    let step = finished.json();
    assert_eq!(step["state"], "advanced");
    assert_eq!(step["message"], "planned");
    assert_eq!(step["agentOverride"], true);
    assert!(step["journalRefs"].as_array().is_some_and(|refs| !refs.is_empty()), "{step:#}");
    assert!(finished.stderr().contains("not\": \"the result"), "{finished}");
}

// B-K15 B-Q19
#[test]
fn each_line_of_the_agent_is_on_the_terminal_while_it_works() {
    let env = shop();
    let script = Script::always([
        Action::say("the first line"),
        Action::wait_for("go-on"),
        Action::say("the second line"),
    ]);
    let mut running = env.ratchet(["batch", "apply"]).agent(&env.agent(&script)).start();
    ratchet_tests::wait::until("the first line", || {
        running.stdout_so_far().contains("the first line")
    });
    assert!(!running.stdout_so_far().contains("the second line"));
    env.write("go-on", "");
    running.wait().says("the second line");
}

// B-E19 B-E20 B-P10
#[test]
fn people_are_told_the_posture_and_the_override_and_programs_are_not() {
    let env = shop();
    let shown = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).ok();
    let shown = shown
        .says("permissions: repo-sandboxed-permissive (default scope)")
        .says("agent overridden by RATCHET_BATCH_AGENT_CMD")
        .says("Ran: add-api (propose)")
        .says("advanced");
    assert!(!shown.stdout().contains('\u{1b}'), "escape codes in a pipe:\n{shown}");
    let json = env.ratchet(["batch", "apply", "--json"]).agent(&env.agent(&Script::honest())).ok();
    assert!(!json.stdout().contains("permissions:"), "{json}");
}

// B-K09 B-D18
#[test]
fn an_unknown_agent_is_named_with_those_that_exist_before_anything_starts() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]).setting("agent: nobody"));
    let step = env.ratchet(["batch", "apply"]).json();
    assert_eq!(step["state"], "blocked");
    let blocker = step["blocker"].as_str().unwrap_or_default();
    assert!(blocker.contains("Unknown agent adapter 'nobody'"), "{step:#}");
    assert!(
        ["claude", "codex", "cursor", "gemini", "opencode"]
            .iter()
            .all(|name| blocker.contains(name)),
        "{step:#}"
    );
    assert!(env.journal("shop").is_empty());
}

// B-V39
#[test]
fn an_agent_that_is_not_installed_blocks_the_step_and_is_named() {
    let env = shop();
    let step = env.ratchet(["batch", "apply"]).json();
    assert_eq!(step["state"], "blocked", "{step:#}");
    assert!(step.to_string().contains("claude"), "{step:#}");
}

// B-E21 B-E22 B-E13
#[test]
fn a_manifest_that_asks_for_more_than_the_operator_gave_is_warned_about_and_held_back() {
    let env = with(
        &Manifest::of_changes("shop", &["add-api"])
            .setting("permissions: {posture: full-autonomy}"),
    );
    let call = |flags: &[&str]| {
        env.ratchet([&["batch", "apply"], flags].concat()).agent(&env.agent(&Script::honest())).ok()
    };
    let held = call(&[]);
    let held = held.says("permissions: repo-sandboxed-permissive");
    let text = held.stdout() + &held.stderr();
    for words in [
        "manifest requested posture 'full-autonomy'",
        "--allow-manifest-escalation",
        "user/project config",
    ] {
        assert!(text.contains(words), "`{words}` is missing:\n{held}");
    }
    let raised =
        call(&["--allow-manifest-escalation"]).says("permissions: full-autonomy (manifest scope)");
    assert!(!(raised.stdout() + &raised.stderr()).contains("requested posture"), "{raised}");
}

// B-I02 B-I06
#[test]
fn when_everything_waits_for_something_that_waits_for_a_person_nothing_runs() {
    let env = with(
        &Manifest::new("shop")
            .phase(Phase::new("p1").change("base").change_after("top", &["base"])),
    );
    let stuck =
        Script::always([Action::ran("any"), Action::ReadPrompt, Action::blocker("which one?")]);
    assert_eq!(apply(&env, &stuck)["state"], "blocked");
    let second = apply(&env, &stuck);
    assert_eq!(second["state"], "parked");
    assert_eq!(second["change"], "base");
    assert_eq!(env.agent_runs(), 1);
}

// B-I03
#[test]
fn a_parked_change_does_not_hold_up_a_free_one() {
    let env = with(&Manifest::of_changes("shop", &["asks", "free"]));
    apply(&env, &Script::always([Action::ReadPrompt, Action::blocker("which one?")]));
    let step = apply(&env, &Script::honest());
    assert_eq!(step["change"], "free", "{step:#}");
}

#[test]
fn exit_codes_tell_the_outcome_when_asked_to() {
    let env = shop();
    let code = |script: &Script| {
        env.ratchet(["batch", "apply", "--exit-code"]).agent(&env.agent(script)).run().code
    };
    assert_eq!(code(&Script::honest()), Some(0));
    assert_eq!(code(&Script::always([Action::ReadPrompt, Action::blocker("?")])), Some(10));
    env.add_done("shop", "add-api");
    assert_eq!(code(&Script::honest()), Some(0), "the proof passes");
    assert_eq!(code(&Script::honest()), Some(12));
}

#[test]
fn a_step_that_waits_for_approval_and_a_failed_proof_have_exit_codes_of_their_own() {
    let env = with(
        &Manifest::new("shop")
            .setting("gate: every-phase")
            .phase(Phase::new("p1").proof("false", "exit 0").change("a")),
    );
    let call = || {
        env.ratchet(["batch", "apply", "--exit-code"])
            .agent(&env.agent(&Script::honest()))
            .run()
            .code
    };
    assert_eq!(call(), Some(11));
    env.ratchet(["batch", "approve", "--change", "a"]).ok();
    env.add_done("shop", "a");
    assert_eq!(call(), Some(13));
}

// B-G08 B-G11
#[test]
fn a_second_apply_of_a_batch_is_refused_while_the_first_runs() {
    let env = shop();
    let script = Script::always([
        Action::ran("slow"),
        Action::write("agent-is-here", ""),
        Action::wait_for("go-on"),
    ]);
    let first = env.ratchet(["batch", "apply"]).embedded().agent(&env.agent(&script)).start();
    ratchet_tests::wait::until_exists(&env.path("agent-is-here"));
    let error = env.ratchet(["batch", "apply"]).agent(&env.agent(&Script::honest())).refused();
    assert!(error.contains("already running") && error.contains("shop"), "{error}");
    assert!(error.contains(&first.pid().to_string()), "{error}");
    env.write("go-on", "");
    first.wait().assert_code(0).says("blocked");
    assert_eq!(env.agent_runs(), 1);
}

// B-G09
#[test]
fn the_lock_is_free_again_after_every_outcome() {
    let env = shop();
    for script in [
        Script::always([Action::exit(3)]),
        Script::always([Action::DieBy { signal: "KILL".to_owned() }]),
        Script::always([Action::ReadPrompt, Action::blocker("?")]),
    ] {
        apply(&env, &script);
        assert!(!env.path(".ratchet/batches/shop/run/step.lock").exists());
        env.ratchet(["batch", "report", "--change", "add-api", "--answer", "go on"]).ok();
    }
}

// B-G10
#[test]
fn two_batches_run_at_the_same_time() {
    let env = shop();
    env.add_batch(&Manifest::of_changes("other", &["else"]));
    let script = Script::always([Action::append("here.log", "x"), Action::wait_for("go-on")]);
    let start =
        |name: &str| env.ratchet(["batch", "apply", name]).agent(&env.agent(&script)).start();
    let (first, second) = (start("shop"), start("other"));
    ratchet_tests::wait::until("both agents", || {
        std::fs::read_to_string(env.path("here.log")).is_ok_and(|text| text == "xx")
    });
    env.write("go-on", "");
    for running in [first, second] {
        running.wait().assert_code(0);
    }
}

// B-K10 B-K11
#[test]
fn a_proposal_is_stamped_once_and_a_stamp_that_is_there_is_left_alone() {
    let env = with(&Manifest::of_changes("shop", &["fresh", "stamped"]));
    env.write(".ratchet/changes/stamped/.ratchet.yaml", "schema: mine\n");
    apply(&env, &Script::honest());
    assert!(env.read(".ratchet/changes/fresh/.ratchet.yaml").contains("created"));
    env.add_done("shop", "fresh");
    assert_eq!(apply(&env, &Script::honest())["change"], "stamped");
    assert_eq!(env.read(".ratchet/changes/stamped/.ratchet.yaml"), "schema: mine\n");
}

// B-P16 B-P17 B-P18
#[test]
fn the_agent_gets_the_allowed_variables_and_no_others() {
    let env = shop();
    let script = Script::always([Action::SaveEnvironment { path: "env".to_owned() }]);
    env.ratchet(["batch", "apply"])
        .agent(&env.agent(&script))
        .var("PLANTED_SECRET", "s3cr3t")
        .var("ANTHROPIC_API_KEY", "key")
        .var("GH_TOKEN", "token")
        .var("LC_TIME", "C")
        .var("MINE", "mine")
        .var("RATCHET_AGENT_ENV_ALLOW", " MINE ,ABSENT")
        .ok();
    let bytes = env.read_bytes("env");
    let text = String::from_utf8_lossy(&bytes);
    let has = |entry: &str| text.split('\0').any(|variable| variable == entry);
    for entry in [
        "ANTHROPIC_API_KEY=key",
        "GH_TOKEN=token",
        "LC_TIME=C",
        "MINE=mine",
        "RATCHET_BATCH_NAME=shop",
    ] {
        assert!(has(entry), "{entry} did not arrive:\n{text}");
    }
    for name in ["PLANTED_SECRET=", "ABSENT="] {
        assert!(!text.split('\0').any(|variable| variable.starts_with(name)), "{name} in\n{text}");
    }
    assert!(text.split('\0').any(|variable| variable.starts_with("PATH=")), "{text}");
}

// B-D14 B-D15 B-P01 B-P04 B-O02 B-O08 B-E37
#[test]
fn an_installed_agent_is_called_with_its_own_flags_and_its_own_command_file() {
    let env = shop();
    env.install_agent("claude");
    let script = Script::always([
        Action::SaveArguments { path: "arguments".to_owned() },
        Action::SavePrompt { path: "prompt".to_owned() },
        Action::run("ls .claude/commands/rct > commands"),
        Action::Plan { change: None, tasks: 1 },
        Action::complete("planned"),
    ]);
    let step = env.ratchet(["batch", "apply"]).var(SCRIPT_VAR, env.script(&script)).json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!(step.get("agentOverride"), None::<&Value>);
    assert!(env.read("arguments").contains("stream-json"), "{}", env.read("arguments"));
    assert!(env.read("prompt").contains("/rct:propose add-api"), "{}", env.read("prompt"));
    assert!(env.read("commands").contains("propose.md"));
}

// B-D16 B-D17 B-N06 B-N07
#[test]
fn a_stage_map_sends_each_step_to_its_own_agent() {
    let env = with(
        &Manifest::of_changes("shop", &["add-api"]).setting("agent: {apply: \"codex:some/model\"}"),
    );
    env.install_agent("claude");
    env.install_agent("codex");
    let honest = |action| {
        Script::always([
            Action::SaveArguments { path: "arguments".to_owned() },
            Action::ReadPrompt,
            action,
        ])
    };
    let run = |script: &Script| {
        env.ratchet(["batch", "apply"]).var(SCRIPT_VAR, env.script(script)).json()
    };
    run(&honest(Action::Plan { change: None, tasks: 1 }));
    assert!(
        env.read("arguments").contains("stream-json"),
        "propose was not claude's: {}",
        env.read("arguments")
    );
    env.ratchet(["batch", "report", "--change", "add-api", "--answer", "go on"]).ok();
    run(&honest(Action::SavePrompt { path: "prompt".to_owned() }));
    let arguments = env.read("arguments");
    assert!(
        arguments.contains("exec") && arguments.contains("some/model"),
        "apply was not codex's: {arguments}"
    );
    assert!(env.read("prompt").contains("rct-apply") && !env.read("prompt").contains("/rct:apply"));
}

/// What a real agent prints: a line that is no event, a piece of prose, a tool, the end.
const EVENTS: [&str; 4] = [
    "this is no event",
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look around."}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"src/cart.sh"}}]}}"#,
    r#"{"type":"result","subtype":"success","is_error":false,"result":"planned"}"#,
];

// B-K18 B-K19
#[test]
fn events_are_shown_as_prose_and_kept_as_they_came() {
    let env = shop();
    env.install_agent("claude");
    let script = Script::always(
        [Action::ReadPrompt]
            .into_iter()
            .chain(EVENTS.map(Action::say))
            .chain([Action::Plan { change: None, tasks: 1 }, Action::complete("planned")]),
    );
    let call = |call: ratchet_tests::Call| call.var(SCRIPT_VAR, env.script(&script));
    let shown = call(env.ratchet(["batch", "apply"])).ok();
    let shown = shown.says("this is no event").says("I look around.").says("src/cart.sh");
    assert!(!shown.stdout().contains("tool_use"), "events are not for people:\n{shown}");
    let kept = env.ratchet(["batch", "log", "--last", "--raw"]).ok();
    assert_eq!(kept.stdout(), EVENTS.map(|line| format!("{line}\n")).concat());

    // A stand-in's lines are its own, whatever they look like.
    env.add_done("shop", "add-api");
    env.add_batch(&Manifest::of_changes("other", &["else"]));
    env.ratchet(["batch", "apply", "other"]).agent(&env.agent(&script)).ok().says("tool_use");
}

// B-O09
#[test]
fn a_command_file_that_cannot_be_written_blocks_the_step_and_starts_nothing() {
    let env = shop();
    env.write(".claude", "a file where a folder is needed");
    let step = apply(&env, &Script::honest());
    assert_eq!(step["state"], "blocked", "{step:#}");
    let blocker = step["blocker"].as_str().unwrap_or_default();
    assert!(blocker.contains(".claude/commands/rct"), "{step:#}");
    assert_eq!(env.agent_runs(), 0);
    assert_eq!(env.read(".claude"), "a file where a folder is needed");
}

// B-Q06
#[test]
fn an_agent_works_in_the_projects_root_wherever_the_command_was_typed() {
    let env = shop();
    env.write("deep/er/file", "");
    let script = Script::always([Action::run("pwd -P > here")]);
    env.ratchet(["batch", "apply"]).cwd(env.path("deep/er")).agent(&env.agent(&script)).ok();
    assert_eq!(env.read("here").trim_end(), env.root().display().to_string());
}
