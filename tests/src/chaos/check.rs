//! What must be true of a world in which everything is over. Nothing is changed here; every breach is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use super::calls::Heard;
use super::figures::Figures;
use super::world::{World, lines};
use crate::wait;

/// What may lie in a batch's run folder when nothing runs.
const AT_REST: [&str; 4] = ["journal.jsonl", "journal.lock", "state.json", "usage.jsonl"];

/// Looks at a world in which everything is over.
pub(super) struct Check<'a> {
    world: &'a World,
    heard: &'a Heard,
    figures: &'a mut Figures,
    journals: Vec<Vec<Value>>,
    breaches: Vec<String>,
}

/// A start, as its agent or proof has noted it.
struct Start {
    spawn: String,
    note: String,
    intended: bool,
}

impl<'a> Check<'a> {
    pub(super) fn new(world: &'a World, heard: &'a Heard, figures: &'a mut Figures) -> Self {
        let journals = world.batches.iter().map(|batch| world.journal(batch)).collect();
        Self { world, heard, figures, journals, breaches: heard.outrages.clone() }
    }

    /// Gives every breach.
    pub(super) fn all(mut self) -> Vec<String> {
        self.nothing_is_left();
        let agents = starts(&lines(&self.world.diary.starts()));
        let proofs = starts(&lines(&self.world.diary.proofs()));
        self.starts_are_intents(&agents);
        self.starts_are_intents(&proofs);
        self.every_agent_is_concluded_once(&agents);
        self.every_proof_has_run(&proofs);
        self.what_was_acknowledged_is_there_once();
        self.answers_are_there();
        self.output_is_whole(&agents);
        self.count_spawns();
        self.figures.starts += agents.len() + proofs.len();
        self.breaches
    }

    fn breach(&mut self, text: String) {
        self.breaches.push(text);
    }

    fn nothing_is_left(&mut self) {
        if !wait::within(wait::DEADLINE, || self.world.env.processes().is_empty()) {
            self.breach(format!("processes are left: {:?}", self.world.env.processes()));
        }
        for batch in &self.world.batches {
            for entry in fs::read_dir(batch.path("run")).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                // What a writer that died was about to put in place; the next one removes it after an hour.
                let unplaced = name.starts_with(".ratchet-") && name.ends_with(".tmp");
                if !AT_REST.contains(&name.as_str()) && !unplaced {
                    self.breaches.push(format!("{}: {name} is left in its run folder", batch.name));
                }
            }
        }
    }

    fn starts_are_intents(&mut self, starts: &[Start]) {
        let mut seen = BTreeSet::new();
        for start in starts {
            if !start.intended {
                self.breach(format!("{} ({}) ran without an intent", start.spawn, start.note));
            }
            if start.spawn.is_empty() || !seen.insert(&start.spawn) {
                self.breach(format!("{} ({}) was started twice", start.spawn, start.note));
            }
        }
    }

    fn every_agent_is_concluded_once(&mut self, starts: &[Start]) {
        let outcomes = self.by_spawn(|entry| entry["transition"].is_string());
        self.figures.outcomes += outcomes.len();
        let started: BTreeSet<&str> = starts.iter().map(|start| start.spawn.as_str()).collect();
        for start in starts.iter().filter(|start| !outcomes.contains_key(&start.spawn)) {
            self.breach(format!("{} ({}) has no outcome", start.spawn, start.note));
        }
        for (spawn, entries) in &outcomes {
            if entries.len() != 1 {
                self.breach(format!("{spawn} has {} outcomes: {entries:#?}", entries.len()));
            }
            let completed = entries[0]["kind"] == "completion";
            if completed && !started.contains(spawn.as_str()) {
                self.breach(format!("{spawn} is complete and never ran: {:#}", entries[0]));
            }
            let lost = !self.world.spawn_folder(spawn).join("exit.json").exists();
            if completed && lost {
                self.breach(format!(
                    "{spawn} is complete, and nobody saw its end: {:#}",
                    entries[0]
                ));
            }
        }
    }

    fn every_proof_has_run(&mut self, starts: &[Start]) {
        let started: BTreeSet<&str> = starts.iter().map(|start| start.spawn.as_str()).collect();
        let verdicts = self.by_spawn(|entry| entry["kind"] == "proof-of-work");
        self.figures.outcomes += verdicts.len();
        for (spawn, entries) in &verdicts {
            if entries.len() != 1 {
                self.breach(format!("the proof {spawn} has {} verdicts", entries.len()));
            }
            if !started.contains(spawn.as_str()) && entries[0]["proof"]["passed"] == true {
                self.breach(format!("the proof {spawn} passed and never ran"));
            }
        }
    }

    fn what_was_acknowledged_is_there_once(&mut self) {
        let of_agents = lines(&self.world.diary.taken());
        let of_people = self.heard.words.iter().map(|(_, word)| word.clone());
        let taken: BTreeSet<String> = of_agents.into_iter().chain(of_people).collect();
        self.figures.words += taken.len();
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        let reports = self.journals.iter().flatten().filter(|entry| is_report(entry));
        for word in reports.filter_map(|entry| last_word(entry["message"].as_str()?)) {
            *found.entry(word.to_owned()).or_default() += 1;
        }
        let twice: Vec<&String> =
            found.iter().filter(|(_, count)| **count > 1).map(|(word, _)| word).collect();
        if !twice.is_empty() {
            self.breaches.push(format!("said once and written more than once: {twice:?}"));
        }
        let lost: Vec<&String> = taken.iter().filter(|word| !found.contains_key(*word)).collect();
        if !lost.is_empty() {
            self.breaches.push(format!("acknowledged and not there: {lost:?}"));
        }
        self.decisions_are_there("approved", &self.heard.approvals, |entry| {
            entry["kind"] == "answer" && entry["message"] == "Approved."
        });
        self.decisions_are_there("set aside", &self.heard.reruns, |entry| {
            entry["kind"] == "proof-of-work-invalidated"
        });
    }

    /// At least as many as were acknowledged: one that was cut short may have been written all the same.
    fn decisions_are_there(&mut self, what: &str, heard: &[usize], is_it: fn(&Value) -> bool) {
        for (number, batch) in self.world.batches.iter().enumerate() {
            let taken = heard.iter().filter(|of| **of == number).count();
            let written = self.journals[number].iter().filter(|entry| is_it(entry)).count();
            if written < taken {
                let name = &batch.name;
                self.breaches
                    .push(format!("{name}: {taken} times {what}, and {written} times written"));
            }
        }
    }

    /// Every answer of `apply` and `run` that was heard is written down.
    fn answers_are_there(&mut self) {
        let outcomes = self.by_spawn(|entry| entry["transition"].is_string());
        let mut passed: BTreeMap<(usize, String), usize> = BTreeMap::new();
        let heard = self.heard.steps.iter();
        let steps = heard.flat_map(|(number, document)| match document["steps"].as_array() {
            Some(steps) => steps.iter().map(|step| (*number, step.clone())).collect(),
            None => vec![(*number, document.clone())],
        });
        for (number, step) in steps.collect::<Vec<_>>() {
            self.figures.answers += 1;
            if step["state"] == "proof-of-work" && step["passed"] == true {
                let phase = step["phase"].as_str().unwrap_or_default().to_owned();
                *passed.entry((number, phase)).or_default() += 1;
            }
            let Some(spawn) = step["spawnId"].as_str() else { continue };
            let written = outcomes.get(spawn).is_some_and(|entries| {
                entries[0]["change"] == step["change"]
                    && entries[0]["transition"] == step["transition"]
                    && (entries[0]["kind"] == "blocker") == (step["state"] == "blocked")
            });
            if !written {
                self.breach(format!(
                    "told and not written: {step:#}, but {:?}",
                    outcomes.get(spawn)
                ));
            }
        }
        for ((number, phase), told) in passed {
            let is_it = |entry: &&Value| {
                entry["proof"]["phase"] == phase.as_str() && entry["proof"]["passed"] == true
            };
            let written = self.journals[number].iter().filter(is_it).count();
            if written < told {
                self.breach(format!("{phase}: {told} proofs told, {written} written"));
            }
        }
    }

    /// What an agent printed can be read: all of it if it came to its end and its shim lived, else a beginning of it.
    fn output_is_whole(&mut self, starts: &[Start]) {
        let ended: BTreeSet<String> = lines(&self.world.diary.ends()).into_iter().collect();
        let batch = &self.world.batches[0];
        for Start { spawn, note, .. } in starts {
            let Some(prints) = self.figures.prints.get(note) else {
                self.breaches.push(format!("{spawn} has the unknown note {note}"));
                continue;
            };
            let log = self.world.batch(batch, "log", &["--spawn", spawn, "--raw"]).run();
            let whole = ended.contains(spawn) && !self.figures.shims_killed.contains(spawn);
            let fits = match whole {
                true => log.stdout == *prints,
                false => prints.starts_with(&log.stdout),
            };
            if log.code != Some(0) || !fits {
                let length = prints.len();
                self.breach(format!(
                    "{spawn} ({note}) printed {length} bytes (whole: {whole}):\n{log}"
                ));
            }
        }
    }

    fn count_spawns(&mut self) {
        let root = self.world.spawn_folder("");
        for entry in fs::read_dir(root).into_iter().flatten().flatten() {
            let never = entry.path().is_dir() && !entry.path().join("started.json").exists();
            self.figures.unstarted += usize::from(never);
        }
    }

    fn by_spawn(&self, is_it: fn(&Value) -> bool) -> BTreeMap<String, Vec<Value>> {
        let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for entry in self.journals.iter().flatten().filter(|entry| is_it(entry)) {
            if let Some(spawn) = entry["spawn"].as_str() {
                found.entry(spawn.to_owned()).or_default().push(entry.clone());
            }
        }
        found
    }
}

/// An entry that somebody reported, and not an outcome, which may repeat it.
fn is_report(entry: &Value) -> bool {
    entry["spawn"].is_null() && entry["transition"].is_null()
}

fn last_word(message: &str) -> Option<&str> {
    let word = message.split_whitespace().next_back()?;
    let number = word.strip_prefix('w')?.get(..6)?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then_some(word)
}

fn starts(lines: &[String]) -> Vec<Start> {
    let start = |line: &String| {
        let mut words = line.rsplitn(3, ' ');
        let intended = words.next() == Some("intended");
        let note = words.next().unwrap_or_default().to_owned();
        Start { spawn: words.next().unwrap_or_default().to_owned(), note, intended }
    };
    lines.iter().map(start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_at_the_end_of_a_message() {
        assert_eq!(last_word("goes well w000012-0192"), Some("w000012-0192"));
        assert_eq!(last_word("a person says w000001"), Some("w000001"));
        assert_eq!(last_word("Approved."), None);
        assert_eq!(last_word("what w00"), None);
    }

    #[test]
    fn a_start_says_whose_it_is_and_whether_it_was_meant() {
        let told = starts(&["0192 3-apply intended".to_owned(), " proof unintended".to_owned()]);
        assert_eq!((told[0].spawn.as_str(), told[0].intended), ("0192", true));
        assert_eq!((told[1].spawn.as_str(), told[1].intended), ("", false));
    }
}
