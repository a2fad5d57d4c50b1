//! One trace per step, for each way in which a step can end and at each place: names, parents, links, what each span says.
//! Each test is kept beside this file as a tree.

use ratchet_tests::asked::Kind;
use ratchet_tests::{Action, Call, Manifest, Phase, Script, TestEnv};

use super::collector::{Collector, Way};
use super::story::{fact, hex, only, told};
use super::{here, traced};
use crate::crash::CRASH_VAR;
use crate::runtime::{HONEST, Place, World, at_each_place};
use crate::{shop, with};

#[track_caller]
fn is(name: &str, collector: &Collector) {
    let text = collector.look(|got| told(&got.spans));
    insta::with_settings!({
        snapshot_path => "../snapshots/telemetry",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}

fn apply(env: &TestEnv, collector: &Collector, script: &Script) -> Call {
    here(env, collector, &["batch", "apply", "--json"]).agent(&env.agent(script))
}

at_each_place! {
    a_step_that_advances
    a_step_whose_agent_fails
    a_step_that_runs_into_its_limit
    the_agent_hears_of_the_step_it_is_in
}

fn at(place: Place, settings: &[&str], script: &str, name: &str) {
    let world = World::with(place, settings);
    let collector = Collector::start();
    traced(world.apply(script).embedded(), &collector, Way::Http).ok();
    let place = match place {
        Place::Local => "local",
        Place::Docker => "docker",
        Place::Remote => "remote",
    };
    is(&format!("{name}_{place}"), &collector);
    world.assert_clean();
}

fn a_step_that_advances(place: Place) {
    at(place, &[], HONEST, "advanced");
}

fn a_step_whose_agent_fails(place: Place) {
    at(place, &[], "echo oh no >&2; exit 3", "failed");
}

fn a_step_that_runs_into_its_limit(place: Place) {
    at(place, &["agentStartTimeoutMs: 300"], "sleep 1000", "limit");
}

#[test]
fn a_question_of_the_agent() {
    let (env, collector) = (shop(), Collector::start());
    apply(&env, &collector, &Script::always([Action::blocker("which database?")])).ok();
    is("asked", &collector);
    collector.look(|got| {
        let leaked = got.bytes.windows(8).any(|window| window == b"database");
        assert!(!leaked, "what the agent wrote is in the telemetry");
    });
}

#[test]
fn a_completion_that_a_person_must_approve() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]).setting("gate: after-propose"));
    let collector = Collector::start();
    apply(&env, &collector, &Script::honest()).ok();
    is("awaiting_approval", &collector);
}

#[test]
fn a_completion_that_the_disk_contradicts_and_nothing_ready_after_it() {
    let (env, collector) = (shop(), Collector::start());
    let script = Script::always([Action::ReadPrompt, Action::complete("done")]);
    apply(&env, &collector, &script).ok();
    apply(&env, &collector, &script).ok();
    is("contradicted_then_parked", &collector);
}

#[test]
fn a_step_that_is_refused_before_anything_runs() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]).setting("agent: nobody"));
    let collector = Collector::start();
    here(&env, &collector, &["batch", "apply"]).run();
    is("refused", &collector);
}

#[test]
fn a_proof_that_passes_and_one_that_fails() {
    for (name, run) in [("proof_passed", "true"), ("proof_failed", "exit 1")] {
        let manifest = Manifest::new("shop")
            .phase(Phase::new("p1").change("add-api").proof(run, "exit 0"))
            .phase(Phase::new("p2").change("add-ui"));
        let env = with(&manifest);
        env.add_done("shop", "add-api");
        let collector = Collector::start();
        here(&env, &collector, &["batch", "apply"]).run();
        is(name, &collector);
    }
}

#[test]
fn the_steps_of_a_run_are_traces_of_their_own_and_link_to_it() {
    let (env, collector) = (shop(), Collector::start());
    let call = here(&env, &collector, &["batch", "run", "--max-steps", "2"]);
    call.agent(&env.agent(&Script::honest())).ok();
    is("run", &collector);
    let traces = collector.look(|got| {
        let asks = got.spans.iter().filter(|span| span.name == "ratchet ask");
        let mut traces: Vec<_> = asks.map(|span| span.trace_id.clone()).collect();
        traces.push(only(&got.spans, "ratchet batch run").trace_id.clone());
        traces.sort();
        traces.dedup();
        traces.len()
    });
    assert_eq!(traces, 3);
}

#[test]
fn a_step_that_is_found_again_is_a_new_span_with_a_link_to_the_old_one() {
    let (env, collector) = (shop(), Collector::start());
    let agent = env.agent(&Script::honest());
    let died =
        here(&env, &collector, &["batch", "apply"]).agent(&agent).var(CRASH_VAR, "act").run();
    assert!(died.signal.is_some(), "{died}");
    let intent: serde_json::Value =
        serde_json::from_str(&env.read(".ratchet/batches/shop/run/inflight.json")).expect("JSON");
    let original =
        intent["trace"]["traceparent"].as_str().expect("the intent keeps its span").to_owned();
    here(&env, &collector, &["batch", "apply"]).agent(&agent).ok();
    collector.look(|got| {
        let found = only(&got.spans, "ratchet reattach");
        let [link] = found.links.as_slice() else { panic!("{:?}", found.links) };
        assert_eq!(original, format!("00-{}-{}-01", hex(&link.trace_id), hex(&link.span_id)));
        assert_ne!(link.trace_id, found.trace_id);
        assert!(fact(found, "ratchet.downtime_ms").is_some());
    });
    is("reattached", &collector);
}

#[test]
fn a_tool_call_of_the_agent_is_a_span_and_after_64_only_counted() {
    const CALL: &str = r#"{"type":"assistant","message":{"id":"M1","content":[{"type":"tool_use","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":10,"output_tokens":5}}}"#;
    const ANSWER: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"x","is_error":false}]}}"#;
    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"S1","model":"opus"}"#;
    const END: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":0.05,"usage":{"input_tokens":10,"cache_read_input_tokens":900,"output_tokens":70}}"#;
    let (env, collector) = (shop(), Collector::start());
    env.install_agent("claude");
    let filler = "x".repeat(70 * 1024);
    let pairs = (0..66).flat_map(|_| [Action::say(CALL), Action::say(ANSWER)]);
    // The first calls come before as much as is kept for a person, the others after it.
    let mut actions =
        vec![Action::say(INIT), Action::say(CALL), Action::say(ANSWER), Action::say(&filler)];
    actions.extend(pairs);
    actions.push(Action::Plan { change: None, tasks: 1 });
    actions.push(Action::complete("planned"));
    actions.push(Action::say(END));
    let script = env.script(&Script::default().on(Kind::Propose, actions));
    here(&env, &collector, &["batch", "apply"]).var(ratchet_tests::script::SCRIPT_VAR, script).ok();
    collector.look(|got| {
        let tools = got.spans.iter().filter(|span| span.name == "execute_tool Bash").count();
        assert_eq!(tools, 64);
        let agent = only(&got.spans, "invoke_agent claude");
        for (name, value) in [
            ("ratchet.tools.dropped", "3"),
            ("gen_ai.conversation.id", "S1"),
            ("gen_ai.response.model", "opus"),
            ("gen_ai.provider.name", "anthropic"),
            ("gen_ai.usage.output_tokens", "70"),
            ("gen_ai.usage.cache_read.input_tokens", "900"),
            ("ratchet.usage.source", "stream"),
            ("ratchet.usage.cost_usd", "0.05"),
        ] {
            assert_eq!(fact(agent, name).as_deref(), Some(value), "{name}");
        }
        assert!(agent.events.iter().any(|event| event.name == "result_seen"));
    });
}

fn the_agent_hears_of_the_step_it_is_in(place: Place) {
    let world = World::new(place);
    let collector = Collector::start();
    let script = format!("{HONEST} && printf %s \"$TRACEPARENT\" > heard");
    traced(world.apply(&script).embedded(), &collector, Way::Grpc).ok();
    let heard = world.env.read("heard");
    collector.look(|got| {
        let step = only(&got.spans, "ratchet step propose");
        assert_eq!(heard, format!("00-{}-{}-01", hex(&step.trace_id), hex(&step.span_id)));
    });
}

#[test]
fn a_command_goes_on_in_the_trace_of_whoever_started_it() {
    let (env, collector) = (shop(), Collector::start());
    let above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    apply(&env, &collector, &Script::honest()).var("TRACEPARENT", above).ok();
    collector.look(|got| {
        let ask = only(&got.spans, "ratchet ask");
        assert_eq!(hex(&ask.trace_id), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(hex(&ask.parent_span_id), "b7ad6b7169203331");
    });
}

#[test]
fn a_step_of_a_supervisor_is_in_the_trace_of_the_command_that_asked() {
    let (env, collector) = (shop(), Collector::start());
    let supervisor = traced(env.ratchet(["supervisor", "run"]), &collector, Way::Grpc).start();
    ratchet_tests::wait::until("the supervisor to listen", || env.socket().exists());
    let ask = traced(env.ratchet(["batch", "apply"]), &collector, Way::Http);
    ask.agent(&env.agent(&Script::honest())).ok();
    env.ratchet(["supervisor", "stop"]).ok();
    supervisor.wait();
    is("supervisor", &collector);
}
