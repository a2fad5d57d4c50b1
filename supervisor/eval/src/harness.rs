//! The harness: a green baseline, then one planted fault after the other, each judged by the project's own test command and
//! undone (seed `mutation-harness`). Nothing else plants or undoes a fault.
//!
//! It knows neither copies nor processes: places come as [`Site`]s, commands and agents through [`crate::call`], what is
//! to be kept goes to a [`Ledger`]. One thread works in each place.

pub mod attempt;
mod baseline;
pub mod site;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ratchet_spawn::Limits;

use self::site::{Site, SiteError};
use crate::call::{Agents, CannotRun, Command, Ran, Shell};
use crate::mutation::Mutation;
use crate::mutation::attempt::{Attempt, Verdict};
use crate::mutation::fold::HarnessOutcome;
use crate::mutation::outcomes::Baseline;

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    /// The invariant.
    pub mutation: &'a Mutation,
    /// The project's place in its repository: `services/api/`, or nothing.
    pub prefix: &'a str,
    /// How often the oracle must be green before anything is planted; each place runs it at least once.
    pub baseline_runs: u32,
    /// Limits that were asked for.
    pub limits: Patience,
    /// Only faults in these files count, from the top of the repository; `None`: all.
    pub only: Option<BTreeSet<String>>,
    /// The attempts to make, by number.
    pub attempts: Vec<u32>,
    /// Attempts that an earlier run has made.
    pub made: Vec<Attempt>,
}

/// Limits of agents and oracles. Absent: the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Patience {
    /// The oracle's time, in milliseconds; by default 20 s or five times the baseline, whichever is more.
    pub oracle_ms: Option<u64>,
    /// The oracle's time without output, in milliseconds; off by default.
    pub oracle_idle_ms: Option<u64>,
    /// The agent's time, in milliseconds; by default ten minutes.
    pub agent_ms: Option<u64>,
    /// The agent's time without output, in milliseconds; off by default.
    pub agent_idle_ms: Option<u64>,
    /// The memory of each process, in bytes; off by default.
    pub memory_bytes: Option<u64>,
    /// The output of one command, in bytes; 64 MiB by default.
    pub output_bytes: Option<u64>,
}

/// What is told while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// What a killed evaluation left in the user's tree was repaired.
    Repaired {
        /// What was done.
        told: String,
    },
    /// The oracle was run without a fault.
    Baseline {
        /// Whether it passed.
        green: bool,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// An attempt was judged.
    Attempt {
        /// Which.
        index: u32,
        /// What it came to, in a word.
        verdict: &'static str,
        /// How many are done.
        done: usize,
        /// How many there are.
        all: usize,
    },
}

/// Keeps what was found. It is called from every place at once.
pub trait Ledger: Sync {
    /// Keeps one attempt with its diff and what the oracle said, and enters where they lie. Whatever is kept here outlives
    /// the process.
    ///
    /// # Errors
    /// The disk's.
    fn keep(&self, attempt: &mut Attempt, diff: &[u8], ran: Option<&Ran>) -> io::Result<()>;

    /// Tells how far it is.
    fn tell(&self, progress: &Progress);
}

/// A harness that could not go on. Every place was restored before, unless the place itself is what failed.
#[derive(Debug, thiserror::Error)]
pub enum HarnessError {
    /// The oracle could not be run at all.
    #[error("the test command could not be run: {0}")]
    Oracle(#[source] CannotRun),
    /// The agent could not be asked at all.
    #[error("the agent could not be asked: {0}")]
    Agent(#[source] CannotRun),
    /// A place could not be looked at or restored.
    #[error("{0}")]
    Site(#[from] SiteError),
    /// What was found could not be kept.
    #[error("evidence could not be kept: {0}")]
    Evidence(#[source] io::Error),
    /// The oracle is red when all is over, without any fault: its kills mean nothing.
    #[error(
        "the test command fails on the restored tree after the last attempt ({0}): it is flaky, or something changed outside of the tree"
    )]
    RedInTheEnd(String),
    /// Everything was stopped.
    #[error("it was stopped")]
    Stopped,
}

/// What every place shares.
struct Shared<'a> {
    plan: &'a Plan<'a>,
    shell: &'a dyn Shell,
    agents: &'a dyn Agents,
    ledger: &'a dyn Ledger,
    /// The limits of the oracle once the baseline is known.
    oracle: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<u32>,
    /// Fingerprints to the attempts that had them first.
    faults: BTreeMap<String, u32>,
    made: Vec<Attempt>,
    /// The first thing that went wrong; nothing new is begun after it.
    error: Option<HarnessError>,
}

/// Runs it.
///
/// # Errors
/// [`HarnessError`]; a red or flaky baseline is none.
pub fn run(
    plan: &Plan<'_>,
    shell: &dyn Shell,
    agents: &dyn Agents,
    ledger: &dyn Ledger,
    sites: &mut [Box<dyn Site + '_>],
) -> Result<(HarnessOutcome, Baseline), HarnessError> {
    let baseline = match baseline::green(plan, shell, ledger, sites)? {
        Ok(baseline) => baseline,
        Err(reason) => {
            return Ok((HarnessOutcome::OracleNotGreen { reason }, Baseline::default()));
        }
    };
    let faults = plan.made.iter().filter(|attempt| attempt.verdict.is_mutant());
    let faults = faults.map(|attempt| (attempt.fingerprint.clone(), attempt.index)).collect();
    let state = State {
        waiting: plan.attempts.iter().copied().collect(),
        faults,
        made: plan.made.clone(),
        error: None,
    };
    let oracle = plan.limits.oracle(baseline.wall_limit_ms);
    let shared = Shared { plan, shell, agents, ledger, oracle, state: Mutex::new(state) };
    std::thread::scope(|scope| {
        for site in sites.iter_mut() {
            scope.spawn(|| work(&shared, site.as_mut()));
        }
    });
    let mut state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = state.error.take() {
        return Err(error);
    }
    state.made.sort_by_key(|attempt| attempt.index);
    let killed = state.made.iter().any(|one| matches!(one.verdict, Verdict::Killed { .. }));
    if let Some(site) = sites.first_mut().filter(|_| killed && !plan.attempts.is_empty()) {
        close(plan, shell, oracle, site.as_mut())?;
    }
    Ok((HarnessOutcome::Completed { attempts: state.made }, baseline))
}

/// Makes attempts in one place until there are none left.
fn work(shared: &Shared<'_>, site: &mut dyn Site) {
    loop {
        let next = {
            let mut state = shared.state();
            if state.error.is_some() { None } else { state.waiting.pop_front() }
        };
        let Some(index) = next else { return };
        let made = attempt::make(shared, site, index);
        let mut state = shared.state();
        match made {
            Ok(attempt) => {
                let (verdict, done) = (attempt.verdict.word(), state.made.len() + 1);
                let all = shared.plan.made.len() + shared.plan.attempts.len();
                state.made.push(attempt);
                drop(state);
                shared.ledger.tell(&Progress::Attempt { index, verdict, done, all });
            }
            Err(error) => {
                // What one place's failure stops in another is not the reason.
                if state.error.is_none() {
                    state.error = Some(error);
                }
                return;
            }
        }
    }
}

/// Runs the oracle once more when everything is restored: what a fault has done outside of the tree shows now.
fn close(
    plan: &Plan<'_>,
    shell: &dyn Shell,
    limits: Limits,
    site: &mut dyn Site,
) -> Result<(), HarnessError> {
    let command = Command { script: &plan.mutation.test, cwd: site.project(), limits };
    let ran = shell.run(&command);
    site.reset()?;
    let ran = ran.map_err(oracle_failed)?;
    if ran.passed() { Ok(()) } else { Err(HarnessError::RedInTheEnd(ran.ended.words())) }
}

impl Shared<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn oracle_failed(error: CannotRun) -> HarnessError {
    match error {
        CannotRun::Stopped => HarnessError::Stopped,
        failed @ CannotRun::Failed(_) => HarnessError::Oracle(failed),
    }
}

fn agent_failed(error: CannotRun) -> HarnessError {
    match error {
        CannotRun::Stopped => HarnessError::Stopped,
        failed @ CannotRun::Failed(_) => HarnessError::Agent(failed),
    }
}

/// The output of one command at most, in bytes.
const OUTPUT_BYTES: u64 = 64 << 20;
/// An agent's time, in milliseconds.
const AGENT_MS: u64 = 600_000;
/// The least time of an oracle, in milliseconds.
const LEAST_ORACLE_MS: u64 = 20_000;
/// How many times longer than without a fault an oracle may take.
const ORACLE_FACTOR: u64 = 5;
/// An oracle's time as long as nobody knows how long it takes, in milliseconds.
const UNKNOWN_ORACLE_MS: u64 = 3_600_000;

impl Patience {
    /// The limits of an oracle, given how long it may take by default.
    pub(crate) fn oracle(&self, default_ms: u64) -> Limits {
        Limits {
            wall_ms: Some(self.oracle_ms.unwrap_or(default_ms)),
            idle_ms: self.oracle_idle_ms,
            output_bytes: Some(self.output_bytes.unwrap_or(OUTPUT_BYTES)),
            memory_bytes: self.memory_bytes,
            ..Limits::default()
        }
    }

    /// The limits of an agent.
    #[must_use]
    pub fn agent(&self) -> Limits {
        Limits {
            wall_ms: Some(self.agent_ms.unwrap_or(AGENT_MS)),
            idle_ms: self.agent_idle_ms,
            output_bytes: Some(self.output_bytes.unwrap_or(OUTPUT_BYTES)),
            memory_bytes: self.memory_bytes,
            ..Limits::default()
        }
    }

    /// The time of an oracle that took this long without a fault, in milliseconds.
    fn oracle_ms_after(&self, slowest_ms: u64) -> u64 {
        let default = slowest_ms.saturating_mul(ORACLE_FACTOR).max(LEAST_ORACLE_MS);
        self.oracle_ms.unwrap_or(default)
    }
}
