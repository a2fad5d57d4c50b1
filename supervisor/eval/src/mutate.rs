//! A mutation invariant from end to end: what is remembered, else the harness in copies of the project, then the outcome,
//! kept. The order of everything is here; what each step means is elsewhere.

pub mod replay;

use std::collections::BTreeSet;

use crate::evidence::{Beginning, Evidence, Memory};
use crate::git::{Repository, told};
use crate::ground::Ground;
use crate::harness::Ledger as _;
use crate::harness::site::Site;
use crate::harness::{self, Patience, Plan, Progress};
use crate::in_place::{InPlace, recover};
use crate::invariant::InvariantOutcome;
use crate::mutation::Mutation;
use crate::mutation::attempt::Attempt;
use crate::mutation::fold::{HarnessOutcome, Keep, fold};
use crate::mutation::outcomes::{Baseline, Outcomes};
use crate::run_id::RunId;
use crate::scratch::{Ignored, Origin};

/// How faults are planted.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many places are worked in at once, at least 1.
    pub jobs: usize,
    /// Where faults are planted.
    pub whereabouts: Whereabouts,
    /// What becomes of ignored files.
    pub ignored: Ignored,
    /// How often the oracle must be green before anything is planted.
    pub baseline_runs: u32,
    /// Limits.
    pub patience: Patience,
    /// Which share of the attempts is made here.
    pub shard: Option<Shard>,
    /// Only faults in what differs from this commit count.
    pub in_diff: Option<String>,
    /// Whether attempts that this run has made before are taken over.
    pub resume: bool,
}

/// Where faults are planted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Whereabouts {
    /// In copies.
    #[default]
    Copies,
    /// In the user's own work tree, one after the other.
    InPlace,
}

/// One of several shares, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutated {
    /// The outcome.
    pub outcome: InvariantOutcome,
    /// Every attempt; absent if there was none, or the outcome was remembered.
    pub outcomes: Option<Outcomes>,
    /// Where the evidence is, from the project's root.
    pub folder: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            jobs: 1,
            whereabouts: Whereabouts::default(),
            ignored: Ignored::default(),
            baseline_runs: 2,
            patience: Patience::default(),
            shard: None,
            in_diff: None,
            resume: false,
        }
    }
}

impl Shard {
    /// Parses `k/n`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if number >= 1 && number <= of => Ok(Self { number, of }),
            _ => Err(format!("'{text}' is no share; write k/n, as 1/4, with k from 1 to n")),
        }
    }

    fn holds(self, attempt: u32) -> bool {
        attempt % self.of == self.number - 1
    }

    /// What is left of a number of mutants for each of the shares.
    fn share(self, whole: u32) -> u32 {
        whole.div_ceil(self.of)
    }
}

/// Evaluates a mutation invariant. Nothing that goes wrong is an error of the caller's: it is an outcome that says so.
pub fn evaluate(
    ground: &Ground<'_>,
    run: &RunId,
    mutation: &Mutation,
    options: &Options,
    tell: &(dyn Fn(&Progress) + Sync),
) -> Mutated {
    let evidence = Evidence::new(&ground.place, run, &mutation.id, tell);
    let folder = evidence.folder();
    let failed = |message: String| Mutated {
        outcome: fold(mutation, &Err(message)).0,
        outcomes: None,
        folder: folder.clone(),
    };
    let put_aside = match evidence.memory(mutation) {
        Ok(Memory::None) => None,
        Ok(Memory::Outcome(outcome)) if !options.resume => {
            return Mutated { outcome: *outcome, outcomes: None, folder };
        }
        // Whoever goes on with a run has more to say than it had.
        Ok(Memory::Outcome(_)) => None,
        Ok(Memory::Useless(why)) => Some(why),
        Err(error) => return failed(format!("evidence could not be read: {error}")),
    };
    let run = Run { ground, id: run, mutation, options, evidence: &evidence };
    let (result, outcomes) = match run.go() {
        Ok((outcome, outcomes)) => (Ok(outcome), outcomes),
        Err(message) => (Err(message), None),
    };
    let (mut outcome, keep) = fold(&run.folded(), &result);
    if let Some(why) = put_aside {
        outcome.evidence = format!("{}\n({why})", outcome.evidence);
    }
    if keep == Keep::Yes
        && let Err(error) = evidence.finish(mutation, &outcome)
    {
        return failed(format!("evidence could not be kept: {error}"));
    }
    Mutated { outcome, outcomes, folder }
}

struct Run<'a> {
    ground: &'a Ground<'a>,
    id: &'a RunId,
    mutation: &'a Mutation,
    options: &'a Options,
    evidence: &'a Evidence<'a>,
}

impl Run<'_> {
    /// The definition that the outcome is held against: a share of the attempts has a share of the threshold to reach.
    fn folded(&self) -> Mutation {
        let share = |whole| self.options.shard.map_or(whole, |shard| shard.share(whole));
        Mutation { threshold: share(self.mutation.threshold), ..self.mutation.clone() }
    }

    fn go(&self) -> Result<(HarnessOutcome, Option<Outcomes>), String> {
        if let Some(told) = recover(&self.ground.git, self.ground.place.root())? {
            self.evidence.tell(&Progress::Repaired { told });
        }
        let repository = match self.ground.git.usable(self.ground.place.root()) {
            Ok(repository) => repository,
            Err(reason) => return Ok((HarnessOutcome::UnusableWorkingTree { reason }, None)),
        };
        let made = self.made(&repository)?;
        let only = self.only(&repository)?;
        let origin = self
            .ground
            .scratch
            .origin(&self.ground.git, &repository, self.options.ignored)
            .map_err(|error| told(&error))?;
        let attempts = self.attempts(&made);
        let plan = Plan {
            mutation: self.mutation,
            prefix: &repository.prefix,
            baseline_runs: self.options.baseline_runs,
            limits: self.options.patience,
            only,
            attempts,
            made,
        };
        let (outcome, baseline) = match self.options.whereabouts {
            Whereabouts::Copies => self.in_copies(&plan, &origin)?,
            Whereabouts::InPlace => self.in_place(&plan, &repository)?,
        };
        Ok(match outcome {
            HarnessOutcome::OracleNotGreen { reason } => {
                (HarnessOutcome::OracleNotGreen { reason: self.hinted(reason, &origin) }, None)
            }
            HarnessOutcome::Completed { attempts } => {
                let outcomes = self.report(&repository, &origin, attempts.clone(), baseline)?;
                (HarnessOutcome::Completed { attempts }, Some(outcomes))
            }
            other @ HarnessOutcome::UnusableWorkingTree { .. } => (other, None),
        })
    }

    fn in_copies(
        &self,
        plan: &Plan<'_>,
        origin: &Origin,
    ) -> Result<(HarnessOutcome, Baseline), String> {
        let places = self.options.jobs.clamp(1, plan.attempts.len().max(1));
        let mut sites: Vec<Box<dyn Site + '_>> = Vec::new();
        for number in 0..places {
            let copy = self.ground.scratch.job(origin, number).map_err(|error| told(&error))?;
            sites.push(Box::new(copy));
        }
        self.run(plan, &mut sites)
    }

    fn in_place(
        &self,
        plan: &Plan<'_>,
        repository: &Repository,
    ) -> Result<(HarnessOutcome, Baseline), String> {
        let (git, id) = (&self.ground.git, &self.mutation.id);
        let held = InPlace::new(git, repository, self.id.as_str(), id);
        let mut site = held.map_err(|error| told(&error))?;
        let result = {
            let mut sites: Vec<Box<dyn Site + '_>> = vec![Box::new(&mut site)];
            self.run(plan, &mut sites)
        };
        let brought_back = site.finish().map_err(|error| told(&error));
        // A tree that is not as it was is worse than whatever came before.
        brought_back?;
        result
    }

    fn run(
        &self,
        plan: &Plan<'_>,
        sites: &mut [Box<dyn Site + '_>],
    ) -> Result<(HarnessOutcome, Baseline), String> {
        let bash = self.ground.bash();
        let result = harness::run(plan, &bash, self.ground, self.evidence, sites);
        result.map_err(|error| told(&error))
    }

    /// Takes over what an earlier go of this run has made, and keeps how it began.
    fn made(&self, repository: &Repository) -> Result<Vec<Attempt>, String> {
        let beginning = Beginning {
            invariant: self.mutation.id.clone(),
            test: self.mutation.test.clone(),
            budget: self.mutation.budget,
            threshold: self.mutation.threshold,
            commit: repository.head.clone(),
        };
        let disk = |error: std::io::Error| format!("evidence could not be read or kept: {error}");
        let made = match self.evidence.beginning().map_err(disk)? {
            Some(before) if self.options.resume => {
                if before.commit != beginning.commit {
                    return Err(format!(
                        "run {} was begun on commit {}, and {} is checked out; faults of two commits do not add up",
                        self.id, before.commit, beginning.commit
                    ));
                }
                if before.test != beginning.test {
                    return Err(format!("run {} was begun with another test command", self.id));
                }
                self.evidence.attempts().map_err(disk)?
            }
            _ => Vec::new(),
        };
        self.evidence.begin(&beginning).map_err(disk)?;
        Ok(made)
    }

    fn attempts(&self, made: &[Attempt]) -> Vec<u32> {
        let is_made = |index: &u32| made.iter().any(|attempt| attempt.index == *index);
        let is_here = |index: &u32| self.options.shard.is_none_or(|shard| shard.holds(*index));
        (0..self.mutation.budget).filter(|index| is_here(index) && !is_made(index)).collect()
    }

    fn only(&self, repository: &Repository) -> Result<Option<BTreeSet<String>>, String> {
        let Some(base) = &self.options.in_diff else { return Ok(None) };
        let changed = self
            .ground
            .git
            .changed_since(&repository.top, base)
            .map_err(|error| format!("--in-diff {base}: {}", told(&error)))?;
        if changed.is_empty() {
            return Err(format!(
                "nothing differs from {base}, so there is nothing to plant a fault in"
            ));
        }
        Ok(Some(changed.into_iter().collect()))
    }

    /// A copy that lacks something is the likeliest reason of a red baseline, and nobody would guess it.
    fn hinted(&self, reason: String, origin: &Origin) -> String {
        let mut text = reason;
        for warning in origin.warnings() {
            text.push_str(&format!("\nhint: {warning}"));
        }
        if self.options.ignored == Ignored::None {
            text.push_str("\nhint: ignored files were left out (--ignored none)");
        }
        text
    }

    fn report(
        &self,
        repository: &Repository,
        origin: &Origin,
        attempts: Vec<Attempt>,
        baseline: Baseline,
    ) -> Result<Outcomes, String> {
        let mut outcomes = Outcomes::of(self.mutation, self.id.as_str(), attempts);
        outcomes.commit = repository.head.clone();
        outcomes.baseline = baseline;
        outcomes.warnings = origin.warnings().to_vec();
        let source = |file: &str| {
            origin.read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        self.evidence
            .report(&outcomes, &source)
            .map_err(|error| format!("evidence could not be kept: {error}"))?;
        Ok(outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_disjoint_and_leave_nothing_out() {
        let shares: Vec<Shard> =
            (1..=3).map(|k| Shard::parse(&format!("{k}/3")).unwrap()).collect();
        for attempt in 0..10 {
            assert_eq!(shares.iter().filter(|shard| shard.holds(attempt)).count(), 1);
        }
        for bad in ["", "0/2", "3/2", "1", "a/b", "1/0"] {
            assert!(Shard::parse(bad).is_err(), "{bad}");
        }
    }
}
