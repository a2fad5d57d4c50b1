//! `batch config`: what is in force and why, and setting it without harm to the file.

use ratchet_tests::Manifest;

use crate::{empty, shop, with};

const CONFIG: &str = ".ratchet/config.yaml";

// B-V24 B-C01 B-C02 B-C03
#[test]
fn every_setting_names_the_scope_it_comes_from() {
    let env = with(&Manifest::of_changes("shop", &["a"]).setting("strategy: feature"));
    env.write(CONFIG, "batch:\n  gate: every-phase\n  strategy: vertical-slice\n");
    let config = env.ratchet(["batch", "config", "shop"]).json();
    assert_eq!(
        (&config["settings"]["gate"], &config["sources"]["gate"]),
        (&"every-phase".into(), &"project".into())
    );
    assert_eq!(
        (&config["settings"]["strategy"], &config["sources"]["strategy"]),
        (&"feature".into(), &"manifest".into())
    );
    assert_eq!(
        (&config["settings"]["locus"], &config["sources"]["locus"]),
        (&"local".into(), &"default".into())
    );
    env.ratchet(["batch", "config", "shop"])
        .ok()
        .says("every-phase")
        .says("[project]")
        .says("[manifest]");
}

// B-V25 B-C08 B-C09 B-C11 B-C12 B-C13 B-C14 B-C16 B-C17 B-D23
#[test]
fn a_refused_setting_leaves_the_file_byte_for_byte() {
    let env = empty();
    let text = "# mine\nbatch:\n  gate: voluntary   # for now\n";
    env.write(CONFIG, text);
    for assignment in [
        "gate=sometimes",
        "unknown=1",
        "gate",
        "locus=moon",
        "port=-1",
        "port=abc",
        "host= ",
        "authToken=",
        "image= ",
        "insecure=maybe",
        "agent={apply: ",
        "agent={cook: claude}",
        "agent=:m",
        "agentTimeoutMs=0",
    ] {
        let error = env.ratchet(["batch", "config", "--set", assignment]).refused();
        assert!(!error.is_empty());
        assert_eq!(env.read(CONFIG), text, "{assignment}");
    }
    let error = env.ratchet(["batch", "config", "--set", "gate=sometimes"]).refused();
    assert!(
        error.contains("Invalid value 'sometimes' for 'gate'. Allowed values: voluntary, after-propose, every-phase, autonomous"),
        "{error}"
    );
}

// B-C15 B-C18 B-C10 B-V26
#[test]
fn settings_are_written_with_their_types_and_read_back() {
    let env = empty();
    for assignment in [
        "gate=autonomous",
        "port=7431",
        "insecure=true",
        "agent={apply: codex}",
        "host=worker.example",
    ] {
        let answer = env.ratchet(["batch", "config", "--set", assignment]).json();
        assert_eq!(answer["ok"], true);
    }
    let settings = env.ratchet(["batch", "config"]).json()["settings"].clone();
    assert_eq!(settings["gate"], "autonomous");
    assert_eq!(settings["port"], 7431);
    assert_eq!(settings["insecure"], true);
    assert_eq!(settings["agent"]["apply"], "codex");
}

#[test]
fn setting_one_key_keeps_the_others_and_their_comments() {
    let env = empty();
    env.write(CONFIG, "# the project's own\nschema: spec-driven\nbatch:\n  gate: voluntary # for now\n  strategy: feature\n");
    env.ratchet(["batch", "config", "--set", "gate=every-phase"]).ok();
    let text = env.read(CONFIG);
    for words in
        ["# the project's own", "schema: spec-driven", "gate: every-phase", "strategy: feature"]
    {
        assert!(text.contains(words), "`{words}` is gone:\n{text}");
    }
}

// B-V26 B-V36 B-C23
#[test]
fn a_secret_is_stored_but_never_shown() {
    let env = empty();
    let set = env.ratchet(["batch", "config", "--set", "authToken=s3cr3t"]).ok();
    assert!(!(set.stdout() + &set.stderr()).contains("s3cr3t"), "{set}");
    assert!(env.read(CONFIG).contains("s3cr3t"));
    assert_eq!(env.ratchet(["batch", "config"]).json()["settings"]["authToken"], "***");
}

// B-V27 B-V28 B-E07
#[test]
fn permissions_isolation_and_enforcement_are_shown() {
    let env = shop();
    env.write(
        CONFIG,
        "batch:\n  agent: claude\n  permissions:\n    posture: curated-allowlist\n    allow: [Read]\n    deny: [WebFetch]\n    raw:\n      claude: [--api-key, hunter2]\n",
    );
    let shown = env.ratchet(["batch", "config"]).ok();
    let shown =
        shown.says("curated-allowlist").says("Read").says("WebFetch").says("enforced via flags");
    assert!(!shown.stdout().contains("hunter2"), "{shown}");
    let json = env.ratchet(["batch", "config"]).json();
    assert_eq!(json["isolation"]["locus"], "local");
    assert_eq!(json["enforcement"][0]["agent"], "claude");
}

#[test]
fn an_unknown_batch_has_no_config() {
    let error = shop().ratchet(["batch", "config", "gone"]).refused();
    assert!(error.contains("Batch 'gone' not found under .ratchet/batches."), "{error}");
}

// B-E04 B-E03 B-F05
#[test]
fn the_users_permissions_count_where_the_project_is_silent() {
    let env = shop();
    std::fs::create_dir_all(env.base().join("config/ratchet")).expect("a folder");
    std::fs::write(
        env.base().join("config/ratchet/config.json"),
        "{\"batch\": {\"permissions\": {\"posture\": \"full-autonomy\", \"deny\": [\"Bash(rm *)\"]}}}",
    )
    .expect("a user's configuration");
    let config = env.ratchet(["batch", "config"]).json();
    assert_eq!(config["settings"]["permissions"]["posture"], "full-autonomy");
    assert_eq!(config["sources"]["permissions"], "user");
    env.write(CONFIG, "batch:\n  permissions:\n    posture: curated-allowlist\n");
    let config = env.ratchet(["batch", "config"]).json();
    assert_eq!(config["settings"]["permissions"]["posture"], "curated-allowlist");
    assert_eq!(config["settings"]["permissions"]["deny"][0], "Bash(rm *)");
}

// B-F01 B-F02
#[test]
fn nobody_is_asked_for_a_posture_where_nobody_can_answer() {
    let env = shop();
    env.ratchet(["batch", "status"]).ok();
    assert!(!env.path(CONFIG).exists());
}
