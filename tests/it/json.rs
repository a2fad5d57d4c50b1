//! Every `--json` answer, once: one document that fits its schema in `docs/schemas`, and no schema without an answer.
//! ([`ratchet_tests::Finished::json`] holds every document that any test reads against its schema.)

use std::collections::BTreeSet;

use ratchet_tests::{Manifest, Script, Supervisor, Worker, schema};

use crate::{empty, with};

// B-J09 B-V07
#[test]
fn every_answer_to_a_program_fits_its_schema() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]).setting("gate: after-propose"));
    let mut seen = BTreeSet::new();
    let mut asks = |line: &str| {
        let call = env.ratchet(line.split(' ')).agent(&env.agent(&Script::honest()));
        let finished = call.args(["--json"]).ok();
        finished.json();
        seen.extend(schema::name_for(finished.arguments()).map(str::to_owned));
    };
    for line in [
        "batch list",
        "batch config",
        "batch config shop",
        "batch config --set strategy=feature",
        "validate shop",
        "batch status",
        "batch view",
        "batch log",
        "batch cancel",
        "batch apply",
        "batch status",
        "batch view",
        "batch apply",
        "batch approve --change add-api",
        "batch report --change add-api --status resting",
        "batch run",
        "batch apply",
        "batch status",
        "batch log",
        "batch rerun-proof --phase p1",
        "batch run --max-steps 1",
        "batch archive shop",
        "batch list",
        "new batch other",
        "batch new third",
        "propose cart",
        "apply cart",
        "verify cart",
        "report cart --status resting",
        "init --tools none",
        "update",
        "new change till",
        "status --change till",
        "instructions features --change till",
        "instructions apply --change till",
        "list",
        "list --specs",
        "view",
        "doctor",
        "archive till --yes --no-validate",
    ] {
        asks(line);
    }
    seen.extend(crate::eval::every_answer());
    let mut asks = |line: &str| {
        let finished = env.ratchet(line.split(' ')).args(["--json"]).ok();
        finished.json();
        seen.extend(schema::name_for(finished.arguments()).map(str::to_owned));
    };
    let _supervisor = (!Supervisor::is_asked_for()).then(|| env.start_supervisor());
    asks("supervisor status");
    asks("supervisor stop");
    let worker = Worker::start(&env, "one", "127.0.0.1:0", &[]);
    asks("batch config --set host=127.0.0.1");
    asks(&format!("batch config --set port={}", worker.address().port()));
    asks(&format!("batch config --set authTokenFile={}", worker.token_file().display()));
    asks("worker list");
    asks("worker check");
    asks("worker drain");
    asks("doctor --reap --dry-run");
    let doctor = ["doctor", "--locus", "docker", "--image", "ratchet-test:debian", "--json"];
    // No agent is in that image, which is an answer all the same.
    let examined = env.ratchet(doctor).run().assert_code(1);
    examined.json();
    seen.extend(schema::name_for(examined.arguments()).map(str::to_owned));
    let known: BTreeSet<String> = std::fs::read_dir(schema::folder())
        .expect("the schemas are there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .collect();
    assert_eq!(seen, known, "each schema describes an answer, each answer has a schema");
}

// A refusal prints no document; a manifest that is not valid is an answer all the same.
#[test]
fn an_invalid_manifest_is_an_answer_and_a_refusal_is_none() {
    let env = empty();
    env.write(".ratchet/batches/shop/batch.yaml", "name: shop\nphases: 3\n");
    let finished = env.ratchet(["validate", "shop", "--json"]).run().assert_code(1);
    assert_eq!(finished.json()["items"][0]["valid"], false, "{finished}");
    env.ratchet(["batch", "list"]).json();
    env.ratchet(["batch", "status", "--json"]).refused();
    env.ratchet(["batch", "stats", "--json"]).refused();
}
