//! Projects of the sizes that are measured, and commands in them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use ratchet_tests::script::SCRIPT_VAR;
use ratchet_tests::{Manifest, Phase, Programs, Script, TestEnv};

const PROGRAMS: Programs = Programs {
    ratchet: env!("CARGO_BIN_EXE_ratchet_under_test"),
    runtime_agent: env!("CARGO_BIN_EXE_runtime_agent_under_test"),
    fake_agent: env!("CARGO_BIN_EXE_fake_agent"),
    sample_agent: env!("CARGO_BIN_EXE_sample_agent"),
};

/// What every row needs.
pub(crate) struct World {
    /// The program that is measured.
    pub(crate) ratchet: PathBuf,
}

impl World {
    pub(crate) fn new() -> Result<Self> {
        let ratchet = match std::env::var_os("RATCHET_BIN") {
            Some(path) => PathBuf::from(path),
            None => release_folder()?.join("ratchet"),
        };
        ensure!(
            ratchet.is_file(),
            "{} is missing; build it with: cargo build --release -p ratchet --bin ratchet",
            ratchet.display()
        );
        Ok(Self { ratchet: fs::canonicalize(ratchet)? })
    }

    /// A project with one batch of so many changes and a journal of so many entries.
    pub(crate) fn project(&self, changes: usize, entries: usize) -> TestEnv {
        let names: Vec<String> = (0..changes).map(|number| format!("change-{number}")).collect();
        let phase = names.iter().fold(Phase::new("p1"), |phase, name| phase.change(name));
        let env = TestEnv::with_batch(PROGRAMS, &Manifest::new("shop").phase(phase));
        for name in &names {
            env.add_plan(name, 8, 4);
        }
        if entries > 0 {
            env.write(".ratchet/batches/shop/run/journal.jsonl", journal(&names, entries));
        }
        env
    }

    /// A project without batches, below a folder.
    pub(crate) fn empty_in(&self, folder: &Path) -> TestEnv {
        TestEnv::new_in(folder, PROGRAMS)
    }

    /// `ratchet` in a project.
    pub(crate) fn command(&self, env: &TestEnv, arguments: &[&str]) -> Command {
        self.in_project(env, &self.ratchet, arguments)
    }

    /// Any program in a project, in the same environment as `ratchet`.
    pub(crate) fn in_project(&self, env: &TestEnv, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(env.root()).env_clear().envs(env.variables());
        command
    }

    /// `batch apply` with an agent that obeys a script.
    pub(crate) fn apply(&self, env: &TestEnv, script: &Script) -> Command {
        let mut command = self.command(env, &["batch", "apply"]);
        command.env("RATCHET_BATCH_AGENT_CMD", format!("exec {}", env.agent(script)));
        command
    }

    /// `batch apply` with `claude`, which obeys a script.
    pub(crate) fn apply_claude(&self, env: &TestEnv, script: &Script) -> Command {
        env.install_agent("claude");
        let mut command = self.command(env, &["batch", "apply"]);
        command.env(SCRIPT_VAR, env.script(script));
        command
    }

    /// The agent alone, as the shell that `batch apply` starts would run it.
    pub(crate) fn bare_agent(&self, env: &TestEnv, script: &Script) -> Command {
        let line = format!("exec {}", env.agent(script));
        self.in_project(env, Path::new("/bin/bash"), &["-c", &line])
    }
}

/// Where Cargo puts this build's programs; the bench itself is in `deps` below it.
fn release_folder() -> Result<PathBuf> {
    let bench = std::env::current_exe()?;
    Ok(bench
        .parent()
        .and_then(Path::parent)
        .context("the bench runs from Cargo's folder")?
        .to_owned())
}

/// Lines of about 200 bytes each: of ten, six are an agent's reports, three conclude a step, and one is a proof.
fn journal(names: &[String], entries: usize) -> String {
    let mut text = String::with_capacity(entries * 240);
    for number in 0..entries {
        let name = &names[number % names.len()];
        let (key, kind, more) = match number % 10 {
            0..6 => (name.clone(), "progress", String::new()),
            6..9 => {
                let step = ["propose", "apply", "verify"][number % 3];
                let more = format!(
                    ",\"transition\":\"{step}\",\"spawn\":\"01a22e77-eee5-748b-a865-{number:012}\""
                );
                (name.clone(), "completion", more)
            }
            _ => {
                let phase = number % 7;
                let more = format!(
                    ",\"proof\":{{\"phase\":\"early-{phase}\",\"passed\":true,\"gatePassed\":true,\"policy\":\"hard-gate\",\"reason\":\"pass-condition-met\",\"detail\":\"exit code 0\"}}"
                );
                (format!("proof-of-work:early-{phase}"), "proof-of-work", more)
            }
        };
        let _infallible = writeln!(
            text,
            "{{\"at\":\"2026-01-02T03:04:{:02}.{:03}Z\",\"change\":\"{key}\",\"kind\":\"{kind}\",\"message\":\"step {number}: read the plan, changed two files, ran the tests and looked at what they said\"{more}}}",
            number / 1000 % 60,
            number % 1000
        );
    }
    text
}
