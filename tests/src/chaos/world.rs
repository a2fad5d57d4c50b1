//! The world of one round: its projects and batches, who runs in it, and what it has on disk.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::dice::Dice;
use super::scenery::Batch;
use super::temper::{Diary, decomposed_file};
use crate::call::Call;
use crate::env::{Programs, TestEnv};
use crate::process::{self, Process};

/// The world of one round.
#[derive(Debug)]
pub(super) struct World {
    pub(super) env: TestEnv,
    pub(super) batches: Vec<Batch>,
    pub(super) diary: Diary,
}

/// A live shim, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shim {
    pub(super) pid: i32,
    pub(super) spawn: String,
}

impl World {
    /// Makes one up: one to three batches in one or two projects.
    pub(super) fn random(programs: Programs, dice: &mut Dice) -> Self {
        let env = TestEnv::new(programs);
        let log = env.base().join("log");
        fs::create_dir(&log).expect("a fresh world takes a folder");
        let mut world = Self { batches: Vec::new(), diary: Diary::in_folder(&log), env };
        let roots = [world.env.root(), world.env.base().join("elsewhere")];
        fs::create_dir(&roots[1]).expect("a fresh world takes a folder");
        for number in 1..=dice.number(1..=3) {
            let root = &roots[usize::from(dice.chance(30))];
            let (proofs, calm) = (world.diary.proofs(), world.calm());
            let batch = Batch::random(root, &format!("b{number}"), &proofs, &calm, dice);
            fs::create_dir_all(batch.path("")).expect("a batch's folder is made");
            write(&batch.path("batch.yaml"), &batch.manifest.to_yaml());
            write(&decomposed_file(&batch), &batch.decomposed.to_yaml());
            world.batches.push(batch);
        }
        world
    }

    /// A call of `ratchet batch VERB NAME …`.
    pub(super) fn batch(&self, batch: &Batch, verb: &str, more: &[&str]) -> Call {
        self.env.ratchet(["batch", verb, &batch.name]).args(more).cwd(batch.root.clone())
    }

    /// What makes every proof pass.
    pub(super) fn calm(&self) -> PathBuf {
        self.env.base().join("calm")
    }

    /// Every shim that lives.
    pub(super) fn shims(&self) -> Vec<Shim> {
        let shim = |process: Process| {
            let words = process::command_line(process.pid);
            let [.., verb, dir] = &words[..] else { return None };
            let spawn = Path::new(dir).file_name()?.to_str()?.to_owned();
            (verb == "shim").then_some(Shim { pid: process.pid, spawn })
        };
        self.env.processes().into_iter().filter_map(shim).collect()
    }

    /// Everything that works for a step: agents and proofs, what they left behind, and what they report with.
    pub(super) fn workers(&self) -> Vec<Process> {
        let works = |process: &Process| {
            let words = process::command_line(process.pid);
            !process.name.starts_with("ratchet") || words.iter().any(|word| word == "report")
        };
        self.env.processes().into_iter().filter(works).collect()
    }

    /// The folder of a spawn.
    pub(super) fn spawn_folder(&self, spawn: &str) -> PathBuf {
        self.env.base().join("state/ratchet/spawns").join(spawn)
    }

    /// Every line of a batch's journal.
    ///
    /// # Panics
    /// When one is no entry: a torn line may only be the last, and only until somebody writes on.
    #[track_caller]
    pub(super) fn journal(&self, batch: &Batch) -> Vec<Value> {
        let text = fs::read_to_string(batch.path("run/journal.jsonl")).unwrap_or_default();
        let entry = |line: &str| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{}: a broken line ({error}): {line}", batch.name))
        };
        text.lines().map(entry).collect()
    }

    /// What is parked in a batch: key, and kind of the park.
    pub(super) fn parks(&self, batch: &Batch) -> Vec<(String, String)> {
        let Ok(text) = fs::read(batch.path("run/state.json")) else { return Vec::new() };
        let state: Value = serde_json::from_slice(&text).unwrap_or_default();
        let parked = state["parked"].as_object().into_iter().flatten();
        parked
            .map(|(key, park)| (key.clone(), park["kind"].as_str().unwrap_or_default().to_owned()))
            .collect()
    }
}

/// The lines of a file that need not be there.
pub(super) fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn write(path: &Path, text: &str) {
    fs::write(path, text)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
