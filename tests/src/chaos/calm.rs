//! After the storm: nobody is killed any more, agents are honest and people answer. Every batch must then come to its end
//! in a bounded number of steps.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::calls::Calls;
use super::dice::Dice;
use super::figures::Figures;
use super::host::Host;
use super::scenery::Batch;
use super::temper::{Casting, Temper};
use super::world::World;
use crate::call::{Call, Finished};
use crate::wait;

/// The calm over a world.
pub(super) struct Calm<'a> {
    pub(super) world: &'a World,
    pub(super) host: &'a mut Host,
    pub(super) calls: &'a mut Calls,
    pub(super) casting: &'a mut Casting,
    pub(super) dice: &'a mut Dice,
    pub(super) figures: &'a mut Figures,
}

/// Refusals that pass by themselves: somebody is about to take up what was found, or to end.
const PASSING: [&str; 3] =
    ["code: step-running", "code: supervisor-stopping", "code: supervisor-lost"];

impl Calm<'_> {
    /// Lets all commands of the storm end, and brings every batch to its end.
    pub(super) fn settle(mut self) -> Result<()> {
        std::fs::write(self.world.calm(), "").context("the calm cannot be proclaimed")?;
        self.end_the_storm()?;
        if self.dice.chance(70) {
            self.host.start(self.dice, None);
        }
        self.host.listens()?;
        for number in 0..self.world.batches.len() {
            let name = &self.world.batches[number].name;
            self.finish(number).with_context(|| format!("batch {name} is stuck"))?;
        }
        let over = wait::within(wait::DEADLINE, || {
            self.calls.settle();
            self.calls.count() == 0
        });
        ensure!(over, "followers do not end: {}", self.calls.names());
        self.host.end()
    }

    /// Whoever hangs is stopped as a person would do it. Commands that wait for such an agent end by that.
    fn end_the_storm(&mut self) -> Result<()> {
        self.host.make_sure();
        self.cancel()?;
        // A run goes on with its next step, which may hang too.
        let mut looks = 0;
        let over = wait::within(wait::DEADLINE, || {
            self.calls.settle();
            looks += 1;
            let over = self.calls.doers() == 0 && !self.host.is_ending();
            if !over && looks % 200 == 0 {
                drop(self.cancel());
            }
            over
        });
        ensure!(over, "commands of the storm do not end: {}", self.calls.names());
        // What the last of them began under a supervisor that then left.
        self.cancel()
    }

    fn cancel(&self) -> Result<()> {
        for batch in &self.world.batches {
            let canceled = self.call(self.world.batch(batch, "cancel", &[]))?;
            ensure!(matches!(canceled.code, Some(0 | 1)), "cancel fails:\n{canceled}");
        }
        Ok(())
    }

    fn finish(&mut self, number: usize) -> Result<()> {
        let batch = &self.world.batches[number];
        let mut told = Vec::new();
        for _step in 0..batch.most_steps() {
            let agent = self.casting.agent(batch, self.dice, |_| Temper::Honest);
            self.figures.prints.extend(agent.prints);
            let command = self.world.env.agent(&agent.script);
            let finished = self.apply(batch, &command)?;
            ensure!(finished.code == Some(0), "apply fails:\n{finished}\nbefore: {told:#?}");
            let answer = finished.json();
            self.calls.heard.steps.push((number, answer.clone()));
            if self.is_done(batch, &answer).with_context(|| format!("{answer:#}"))? {
                return Ok(());
            }
            self.free(number, &answer).with_context(|| format!("{answer:#}"))?;
            told.push(answer);
        }
        bail!("no end after {} steps: {told:#?}", told.len())
    }

    /// Runs the next step. A supervisor may still be about to end or to take up one that it found.
    fn apply(&self, batch: &Batch, command: &str) -> Result<Finished> {
        let mut last = None;
        let answered = wait::within(wait::DEADLINE, || {
            let call = self.world.batch(batch, "apply", &["--json"]).agent(command);
            let finished = self.call(call);
            let answered = !finished.as_ref().is_ok_and(passes);
            last = Some(finished);
            answered
        });
        let finished = last.context("at least one look was had")??;
        ensure!(answered, "a step is said to run without end:\n{finished}");
        Ok(finished)
    }

    fn is_done(&self, batch: &Batch, answer: &Value) -> Result<bool> {
        if answer["state"] != "nothing-ready" {
            return Ok(false);
        }
        let finished = self.call(self.world.batch(batch, "status", &["--json"]))?;
        Ok(finished.json()["status"] == "done")
    }

    /// Does what the answer asks a person for.
    fn free(&mut self, number: usize, answer: &Value) -> Result<()> {
        let batch = &self.world.batches[number];
        match answer["state"].as_str().context("an answer has a state")? {
            "advanced" | "blocked" | "awaiting-approval" | "parked" | "proof-of-work" => {}
            "nothing-ready" => ensure!(answer["hint"].is_string(), "nothing is ready, and no hint"),
            other => bail!("no known state: {other}"),
        }
        for (key, kind) in self.world.parks(batch) {
            if kind == "awaiting-approval" {
                let done = self.call(self.world.batch(batch, "approve", &["--change", &key]))?;
                ensure!(done.code == Some(0), "it cannot be approved:\n{done}");
                self.calls.heard.approvals.push(number);
            } else {
                let word = self.casting.word();
                let text = format!("a person answers {word}");
                let words = ["--change", &key, "--answer", &text];
                let done = self.call(self.world.batch(batch, "report", &words))?;
                ensure!(done.code == Some(0), "it cannot be answered:\n{done}");
                self.calls.heard.words.push((number, word));
            }
        }
        if answer["state"] == "proof-of-work" && answer["gatePassed"] == false
            || answer["state"] == "nothing-ready"
        {
            for phase in &batch.phases {
                let words = ["--phase", phase, "--json"];
                let done = self.call(self.world.batch(batch, "rerun-proof", &words))?;
                ensure!(done.code == Some(0), "a proof cannot be set aside:\n{done}");
                if done.json()["invalidated"] == true {
                    self.calls.heard.reruns.push(number);
                }
            }
        }
        Ok(())
    }

    /// Runs a command to its end; one that has none is an error.
    fn call(&self, call: Call) -> Result<Finished> {
        let mut running = call.start();
        let ended = wait::within(wait::DEADLINE, || running.has_ended());
        ensure!(ended, "no end of {running:?}");
        Ok(running.wait())
    }
}

fn passes(refused: &Finished) -> bool {
    refused.code == Some(1) && PASSING.iter().any(|code| refused.stderr().contains(code))
}
