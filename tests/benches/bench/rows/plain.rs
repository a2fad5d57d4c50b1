//! The commands that start nothing: they are called again and again, by people and by agents, and must feel instant.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::measure::{Line, medians, within};
use crate::world::World;

const FEATURE: &str = "Feature: cart\n  Scenario: shown\n    Given a cart\n    When it is opened\n    Then it is shown\n";
const PLAN: &str = "## Why\nShoppers lose their cart when the session ends, and do not come back.\n## What Changes\n- it \
    stays\n## Design\nA table.\n## Tasks\n- [ ] keep it\n";

pub(super) fn version(world: &World) -> Result<Vec<Line>> {
    let env = world.project(1, 0);
    let ours = || world.command(&env, &["--version"]);
    let (time, bare) = medians(51, ours, || world.in_project(&env, Path::new("/bin/true"), &[]))?;
    Ok(vec![within("--version, beside `true`", time, bare, Duration::from_millis(5))])
}

pub(super) fn init(world: &World) -> Result<Vec<Line>> {
    let env = world.project(1, 0);
    let ours = || {
        let mut files = vec![".gitignore".to_owned(), ".ratchet/evals/invariants.yaml".to_owned()];
        files.extend([".claude", ".codex"].map(str::to_owned));
        for file in files {
            let path = env.path(&file);
            // The first time there is none of them.
            drop(fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)));
        }
        world.command(&env, &["init", "--tools", "claude,codex"])
    };
    let (time, bare) = medians(21, ours, || world.in_project(&env, Path::new("/bin/true"), &[]))?;
    Ok(vec![within("init for two tools, beside `true`", time, bare, Duration::from_millis(100))])
}

pub(super) fn validate(world: &World) -> Result<Vec<Line>> {
    let env = world.project(1, 0);
    for number in 0..1_000 {
        let folder = format!(".ratchet/changes/change-{number}");
        env.write(&format!("{folder}/.ratchet.yaml"), "schema: ratchet\ncreated: 2026-01-01\n");
        env.write(&format!("{folder}/features/cart/cart.feature"), FEATURE);
        env.write(&format!("{folder}/plan.md"), PLAN);
    }
    let ours = || world.command(&env, &["validate", "--all", "--json"]);
    let (time, bare) = medians(21, ours, || world.in_project(&env, Path::new("/bin/true"), &[]))?;
    Ok(vec![within(
        "validate --all, 1,000 changes, beside `true`",
        time,
        bare,
        Duration::from_millis(300),
    )])
}
