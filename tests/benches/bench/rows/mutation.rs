//! Planted faults: what the harness itself takes for each, and what a second copy is worth.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ratchet_tests::TestEnv;
use serde_json::Value;

use crate::measure::{Line, at_most};
use crate::world::World;

/// Files of a repository of the usual size.
const FILES: usize = 5_000;
/// What the harness may take for one attempt, in milliseconds, beside what agent and tests take.
const MOST_MS: f64 = 60.0;
/// How much faster two copies are to be than one.
const LEAST_GAIN: f64 = 1.8;

/// What an attempt takes beside agent and oracle, in a repository of 5,000 files.
pub(super) fn overhead(world: &World) -> Result<Vec<Line>> {
    let env = repository(world, FILES, "true", 20)?;
    let (document, _) = mutate(world, &env, "1")?;
    let attempts = document["results"][0]["outcomes"]["attempts"].as_array();
    let mut taken: Vec<f64> = attempts
        .context("no attempts")?
        .iter()
        .filter(|attempt| attempt["verdict"] == "survived")
        .filter_map(|attempt| attempt["overheadMs"].as_f64())
        .collect();
    ensure!(taken.len() == 20, "an attempt planted nothing: {document:#}");
    taken.sort_by(f64::total_cmp);
    let line = at_most(
        "attempt beside agent and tests, 5,000 files (p50 of 20)",
        taken[10],
        MOST_MS,
        "ms",
    );
    Ok(vec![line])
}

/// How much faster two copies are than one, with tests that mostly wait.
pub(super) fn jobs(world: &World) -> Result<Vec<Line>> {
    let env = repository(world, 50, "sleep 0.5", 40)?;
    let (_, one) = mutate(world, &env, "1")?;
    let (_, two) = mutate(world, &env, "2")?;
    let gain = one.as_secs_f64() / two.as_secs_f64();
    Ok(vec![Line {
        what: "--jobs 2 beside --jobs 1, tests of half a second, 40 faults".to_owned(),
        ours: format!("{:.2} s", two.as_secs_f64()),
        baseline: format!("{:.2} s", one.as_secs_f64()),
        difference: format!("× {gain:.2}"),
        bar: format!("≥ × {LEAST_GAIN}"),
        holds: gain >= LEAST_GAIN,
    }])
}

fn repository(world: &World, files: usize, test: &str, budget: usize) -> Result<TestEnv> {
    let env = world.project(1, 0);
    for number in 0..files {
        env.write(
            &format!("src/part{}/file{number}.rs", number % 50),
            format!("pub fn f{number}() -> u32 {{ {number} }}\n"),
        );
    }
    env.write(
        ".ratchet/evals/invariants.yaml",
        format!("invariants:\n  - {{id: m, kind: mutation, active: true, test: '{test}', budget: {budget}, threshold: 1}}\n"),
    );
    env.write(".ratchet/.gitignore", "evals/runs/\n");
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "--message=x"]);
    Ok(env)
}

fn mutate(world: &World, env: &TestEnv, jobs: &str) -> Result<(Value, Duration)> {
    let agent = "n=$(grep -o 'attempt [0-9]*' | head -1 | cut -d' ' -f2); echo \"pub fn g$n() {}\" >> src/part0/file0.rs";
    let mut command =
        world.command(env, &["eval", "mutate", "--json", "--baseline-runs", "1", "--jobs", jobs]);
    command.env("RATCHET_EVAL_AGENT_CMD", agent);
    let begun = Instant::now();
    let output = command.output().context("cannot run eval mutate")?;
    let took = begun.elapsed();
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = env.path(".ratchet/evals/runs");
    fs::remove_dir_all(folder).context("there is no evidence")?;
    Ok((serde_json::from_slice(&output.stdout)?, took))
}
