//! The walls of a container, as the engine and as the agent see them.

use serde_json::json;

use super::{inspected, world};
use crate::runtime::{HONEST, blocker};

// B-R07 B-C06
#[test]
fn the_walls_are_up_by_default_and_batch_config_says_so() {
    let world = world(&[]);
    let found = inspected(&world, world.env.ratchet(["batch", "apply"]));
    let walls = &found["HostConfig"];
    assert_eq!(walls["CapDrop"], json!(["ALL"]));
    assert_eq!(walls["SecurityOpt"], json!(["no-new-privileges"]));
    assert_eq!(walls["Init"], true);
    assert_eq!(walls["Memory"], 2_i64 << 30);
    assert_eq!(walls["MemorySwap"], 2_i64 << 30);
    assert_eq!(walls["PidsLimit"], 512);
    assert_eq!(walls["NetworkMode"], "bridge");
    assert_eq!(walls["Privileged"], false);
    let told = world.env.ratchet(["batch", "config", "shop"]).json();
    let text = told["isolation"]["description"].to_string();
    for word in [
        "memory 2g",
        "pids 512",
        "network bridge",
        "no capabilities",
        "no new privileges",
        "seccomp",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

// B-R07
#[test]
fn every_knob_is_turned() {
    let world = world(&[
        "dockerUser: '12345:54321'",
        "dockerMemory: 256m",
        "dockerPidsLimit: 99",
        "dockerCpus: 0.5",
        "network: none",
        "dockerReadOnly: true",
    ]);
    std::os::unix::fs::chown(world.env.root(), Some(12_345), Some(54_321))
        .expect("root may give away");
    let found = inspected(&world, world.env.ratchet(["batch", "apply"]));
    let walls = &found["HostConfig"];
    assert_eq!(found["Config"]["User"], "12345:54321");
    assert_eq!(walls["Memory"], 256_i64 << 20);
    assert_eq!(walls["PidsLimit"], 99);
    assert_eq!(walls["NanoCpus"], 500_000_000);
    assert_eq!(walls["NetworkMode"], "none");
    assert_eq!(walls["ReadonlyRootfs"], true);
}

// B-R02
#[test]
fn no_value_of_a_variable_is_known_to_the_engine_and_the_labels_say_what_it_is_for() {
    let world = world(&[]);
    let call = world.env.ratchet(["batch", "apply"]).var("ANTHROPIC_API_KEY", "sk-planted-secret");
    let found = inspected(&world, call);
    assert!(!found.to_string().contains("sk-planted-secret"), "{found:#}");
    let labels = &found["Config"]["Labels"];
    assert_eq!(labels["dev.ratchet.batch"], "shop");
    assert_eq!(labels["dev.ratchet.step"], "propose add-api");
    assert_eq!(labels["dev.ratchet.project"].as_str(), world.env.root().to_str());
    let spawn = labels["dev.ratchet.spawn"].as_str().expect("a text");
    assert_eq!(found["Name"], format!("/ratchet-{spawn}"));
}

#[test]
fn the_agent_has_no_capability_and_cannot_get_one() {
    let world = world(&[]);
    world.step("grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status");
    let status = String::from_utf8(world.output()).expect("text");
    let value = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).unwrap_or_default().to_owned()
    };
    for name in ["CapEff:", "CapPrm:", "CapBnd:"] {
        assert_eq!(value(name), "0000000000000000", "{status}");
    }
    assert_eq!((value("NoNewPrivs:").as_str(), value("Seccomp:").as_str()), ("1", "2"), "{status}");
}

#[test]
fn without_a_network_the_agent_reaches_nothing_but_itself() {
    let world = world(&["network: none"]);
    let script = "ls /sys/class/net; nc -w 1 1.1.1.1 53 < /dev/null && echo reached; \
        nc -w 1 172.17.0.1 22 < /dev/null && echo reached; ping -c 1 -W 1 127.0.0.1 > /dev/null; true";
    world.step(script);
    let output = String::from_utf8(world.output()).expect("text");
    assert_eq!(output.trim(), "lo", "{output}");
}

#[test]
fn a_read_only_root_leaves_the_project_the_home_and_tmp_to_write() {
    let world = world(&["dockerReadOnly: true"]);
    let script = format!(
        "touch /x 2> /dev/null && echo root; touch /usr/local/bin/ratchet 2> /dev/null && echo ratchet; \
         touch /tmp/x && touch \"$HOME/x\" && touch x && echo three; {HONEST} > /dev/null"
    );
    let step = world.step(&script);
    assert_eq!(step["state"], "advanced", "{step:#}");
    assert_eq!(world.output(), b"three\n");
}

#[test]
fn the_engines_socket_is_not_inside() {
    let world = world(&[]);
    world.step("ls /var/run/docker.sock /run/docker.sock 2> /dev/null; find / -name '*.sock' 2> /dev/null; true");
    assert_eq!(world.output(), b"");
}

#[test]
fn the_pids_limit_stops_a_fork_bomb_and_the_step_ends() {
    let world = world(&["dockerPidsLimit: 40", "agentTimeoutMs: 4000"]);
    let step = world.step("i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done; wait");
    blocker(&step);
    world.assert_clean();
}

#[test]
fn running_out_of_memory_is_told_as_that() {
    let world = world(&["dockerMemory: 64m"]);
    let step =
        world.step("head -c 400000000 /dev/zero | tail -c 300000000 > /dev/null; kill -9 $$");
    // What the kernel killed is a child; a shell that goes on is not the one that ran out.
    blocker(&step);
    world.assert_clean();
    let world = super::world(&["dockerMemory: 64m"]);
    let step = world.step("exec tail -c 300000000 /dev/zero");
    assert!(blocker(&step).contains("memory"), "{step:#}");
    world.assert_clean();
}
