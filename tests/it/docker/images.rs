//! Which images do: one with nothing in it, one with a little, one with a distribution; and the trial of an image.

use ratchet_tests::engine;

use super::world;
use crate::runtime::{HONEST, Place, World};

/// The mounted ratchet itself stands in for an agent: nothing else is there to run.
const REPORTS: &str = "agents: {claude: {command: /usr/local/bin/ratchet, args: \
    [batch, report, shop, --change, add-api, --blocker, 'nothing here but ratchet']}}";

fn configured(world: &World, lines: &str) {
    world.env.write(".ratchet/config.yaml", format!("batch:\n  {lines}\n"));
}

#[test]
fn ratchet_reports_from_an_image_with_nothing_in_it() {
    let world = world(&["image: ratchet-test:scratch"]);
    configured(&world, REPORTS);
    // No flags that ratchet would not understand.
    world.env.write(
        ".ratchet/config.yaml",
        format!("batch:\n  {REPORTS}\n  permissions: {{posture: curated-allowlist}}\n  agent: opencode\n")
            .replace("{claude:", "{opencode:"),
    );
    let step = world.env.ratchet(["batch", "apply"]).json();
    assert!(step.to_string().contains("nothing here but ratchet"), "{step:#}");
    let reported = world.env.journaled("shop", "add-api", "blocker");
    assert_eq!(reported[0]["message"], "nothing here but ratchet", "{reported:#?}");
    world.assert_clean();
}

// B-R03
#[test]
fn a_step_of_this_machine_needs_neither_engine_nor_image() {
    let world = World::with(Place::Local, &["image: no-such-image", "dockerPidsLimit: 1"]);
    let call = world.env.ratchet(["batch", "apply"]).agent(HONEST);
    let step = call.var("DOCKER_HOST", "unix:///nowhere").json();
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert!(world.outcomes()[0].get("image").is_none(), "{:#?}", world.outcomes());
}

// B-R06
#[test]
fn without_a_setting_the_image_is_the_default_one() {
    let world = World::with(Place::Local, &["locus: docker", "dockerPull: never"]);
    let finished = world.env.ratchet(["batch", "apply"]).agent("true").run();
    if finished.code == Some(1) {
        assert!(finished.stderr().contains("python:3.12"), "{finished}");
    }
}

// B-R08
#[test]
fn ratchet_reports_from_busybox_and_from_debian_also_for_a_user_whom_the_image_does_not_know() {
    for image in ["image: ratchet-test:busybox", "image: ratchet-test:debian"] {
        let world = World::with(Place::Docker, &[image]);
        let step = world.step(&format!("{HONEST}; echo \"$FROM_THE_IMAGE\""));
        assert_eq!(step["state"], "advanced", "{image}: {step:#}");
        world.assert_clean();
    }
}

#[test]
fn what_an_image_sets_stays_visible_and_no_path_of_this_machine_is_passed() {
    let world = World::with(Place::Docker, &["image: ratchet-test:debian"]);
    world.step("echo \"$FROM_THE_IMAGE $PATH $HOME\"");
    let expected = "yes /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /home/agent\n";
    assert_eq!(String::from_utf8_lossy(&world.output()), expected);
}

#[test]
fn the_very_image_is_in_the_record_of_the_step() {
    let world = world(&[]);
    world.step(HONEST);
    let id = engine::docker(["image", "inspect", "--format", "{{.Id}}", "ratchet-test:busybox"]);
    assert_eq!(world.outcomes()[0]["image"], id, "{:#?}", world.outcomes());
    world.env.ratchet(["batch", "log"]).ok().says(&format!("  in {id}"));
}

#[test]
fn an_image_is_tried_once_for_each_program() {
    let world = world(&[]);
    let tried =
        |call: ratchet_tests::Call| call.agent("true").run().stderr().contains("trying 'bash'");
    assert!(tried(world.env.ratchet(["batch", "apply"])));
    world.env.ratchet(["batch", "report", "--change", "add-api", "--answer", "again"]).ok();
    assert!(!tried(world.env.ratchet(["batch", "apply"])));
}

#[test]
fn an_agent_of_the_image_runs_by_its_adapter() {
    let world = world(&[]);
    let call = world
        .env
        .ratchet(["batch", "apply"])
        .var("AGENT_DOES", HONEST)
        .var("RATCHET_AGENT_ENV_ALLOW", "AGENT_DOES");
    let step = call.json();
    assert_eq!(step["state"], "advanced", "{step:#}");
}

#[test]
fn the_doctor_says_what_is_in_an_image() {
    let world = world(&[]);
    configured(&world, "locus: docker\n  image: ratchet-test:debian\n  agent: claude");
    let found =
        world.env.ratchet(["doctor", "--locus", "docker", "--json"]).run().assert_code(1).json();
    assert!(
        found["engine"].as_str().is_some_and(|engine| engine.starts_with("Docker ")),
        "{found:#}"
    );
    let programs: Vec<String> = found["programs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|program| format!("{} {}", program["name"], program["state"]))
        .collect();
    assert_eq!(programs, [r#""claude" "missing""#, r#""git" "starts""#], "{found:#}");
    let text = world.env.ratchet(["doctor", "--locus", "docker"]).run().assert_code(1);
    text.says("✗ claude: ").says("✓ git: git version");
    assert_eq!(world.containers(), Vec::<String>::new());
}

#[test]
fn a_container_can_be_said_to_be_the_wall() {
    let world = world(&[]);
    configured(&world, "dockerAgentSandbox: container");
    let script = "tr '\\0' '\\n' < /proc/$PPID/cmdline > cmdline; env > env";
    // The adapter's own arguments are what is looked at.
    world
        .env
        .ratchet(["batch", "apply"])
        .var("AGENT_DOES", script)
        .var("RATCHET_AGENT_ENV_ALLOW", "AGENT_DOES")
        .ok();
    let env = world.env.read("env");
    assert!(env.contains("IS_SANDBOX=1"), "{env}");
    let told = world.env.ratchet(["batch", "config", "shop"]).ok().stdout();
    assert!(told.contains("the agent has full access inside"), "{told}");
}
