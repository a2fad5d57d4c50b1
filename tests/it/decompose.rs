//! Phases without changes: an agent writes them into the manifest, and the batch goes on with what it wrote.

use ratchet_tests::asked::Kind;
use ratchet_tests::{Action, Manifest, Phase, Script};

use crate::{apply, status, with};

const NO_CHANGES: &str = "    changes: \\[\\]";

/// Writes one change into the last phase of the manifest.
fn decomposer() -> Script {
    let edit = format!(
        "sed -i 's/^{NO_CHANGES}$/    changes: [{{name: found-out, done: it works}}]/' .ratchet/batches/shop/batch.yaml"
    );
    Script::honest().on(
        Kind::Decompose,
        [
            Action::ran("decompose"),
            Action::SavePrompt { path: "prompt".to_owned() },
            Action::run(&edit),
            Action::complete("one change found"),
        ],
    )
}

fn empty_second_phase() -> ratchet_tests::TestEnv {
    with(&Manifest::new("shop").phase(Phase::new("p1").change("base")).phase(Phase::new("p2")))
}

// B-K25 B-K20 B-K22 B-I16 B-I17 B-V11 B-H19
#[test]
fn an_empty_later_phase_is_decomposed_after_the_proof_before_it_and_driven_to_done() {
    let env = empty_second_phase();
    env.add_done("shop", "base");
    assert_eq!(status(&env)["status"], "in-progress");
    assert_eq!(apply(&env, &decomposer())["state"], "proof-of-work");
    assert_eq!(status(&env)["next"]["decompose"], true);
    let step = apply(&env, &decomposer());
    assert_eq!(
        (&step["state"], &step["transition"], &step["change"]),
        (&"advanced".into(), &"decompose".into(), &"p2".into())
    );
    assert!(env.read("prompt").contains("base"), "what was shipped before is told");
    assert_eq!(status(&env)["next"]["change"], "found-out");
    for _step in 0..4 {
        apply(&env, &decomposer());
    }
    assert_eq!(status(&env)["status"], "done");
}

// B-H20
#[test]
fn an_empty_phase_behind_unfinished_work_is_not_offered() {
    let env = empty_second_phase();
    assert_eq!(status(&env)["next"]["change"], "base");
    assert_eq!(apply(&env, &decomposer())["change"], "base");
}

// B-K21
#[test]
fn a_decomposition_that_asked_is_resumed_with_the_answer() {
    let env = with(&Manifest::new("shop").phase(Phase::new("p1")));
    let asks =
        Script::default().on(Kind::Decompose, [Action::report("--needs-input", "how many?")]);
    assert_eq!(apply(&env, &asks)["blocker"], "how many?");
    assert_eq!(apply(&env, &asks)["state"], "parked");
    env.ratchet(["batch", "report", "--change", "p1", "--answer", "just one"]).ok();
    assert_eq!(apply(&env, &decomposer())["state"], "advanced");
    assert!(env.read("prompt").contains("just one"));
}

// B-L32
#[test]
fn a_decomposition_never_waits_for_approval() {
    let env = with(&Manifest::new("shop").setting("gate: every-phase").phase(Phase::new("p1")));
    assert_eq!(apply(&env, &decomposer())["state"], "advanced");
}

// B-K23
#[test]
fn the_command_file_of_a_decomposition_is_there_before_its_agent_starts() {
    let env = with(&Manifest::new("shop").phase(Phase::new("p1")));
    let looks =
        Script::always([Action::ReadPrompt, Action::run("ls .claude/commands/rct > commands")]);
    apply(&env, &looks);
    assert!(env.read("commands").contains("decompose-phase.md"));
}

// B-K24
#[test]
fn where_its_command_file_cannot_be_put_no_decomposition_starts() {
    let env = with(&Manifest::new("shop").setting("locus: remote").phase(Phase::new("p1")));
    let step = apply(&env, &decomposer());
    assert_eq!(step["state"], "blocked", "{step:#}");
    let blocker = step["blocker"].as_str().unwrap_or_default();
    for words in ["decompose-phase", "remote", "local or docker"] {
        assert!(blocker.contains(words), "`{words}` is missing: {step:#}");
    }
    assert_eq!(env.agent_runs(), 0);
}

// B-D19
#[test]
fn the_decompose_stage_has_an_agent_of_its_own() {
    let env =
        with(&Manifest::new("shop").setting("agent: {decompose: codex}").phase(Phase::new("p1")));
    env.install_agent("codex");
    let script = Script::always([Action::SaveArguments { path: "arguments".to_owned() }]);
    env.ratchet(["batch", "apply"])
        .var(ratchet_tests::script::SCRIPT_VAR, env.script(&script))
        .ok();
    assert!(env.read("arguments").contains("exec"));
}

#[test]
fn a_manifest_that_the_agent_broke_is_named_by_the_next_command() {
    let env = with(&Manifest::new("shop").phase(Phase::new("p1")));
    let breaks = Script::default().on(
        Kind::Decompose,
        [Action::write(".ratchet/batches/shop/batch.yaml", "name: [\n"), Action::complete("done")],
    );
    let finished = env.ratchet(["batch", "apply"]).agent(&env.agent(&breaks)).run();
    assert!(matches!(finished.code, Some(0 | 1)), "{finished}");
    assert!(env.ratchet(["batch", "status"]).refused().contains("batch.yaml"));
}
