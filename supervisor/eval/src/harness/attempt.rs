//! One attempt in one place: ask, look, judge, restore, keep. The place is restored on every way out.

use std::collections::BTreeSet;
use std::time::Instant;

use super::site::{Capture, Site};
use super::{HarnessError, Plan, Shared, agent_failed, oracle_failed};
use crate::call::{CannotRun, Command, EXCERPT, Ended, Errand, Ran};
use crate::mutation::attempt::{Attempt, Verdict};
use crate::mutation::instructions;
use crate::mutation::scope::{self, Scope};

/// What an attempt came to before it is kept.
struct Made {
    verdict: Verdict,
    capture: Capture,
    fingerprint: String,
    notes: Vec<String>,
    asked: Ran,
    ran: Option<Ran>,
}

/// How many characters of what an agent said are noted when it changed nothing.
const MOST_SAID: usize = 200;

pub(super) fn make(
    shared: &Shared<'_>,
    site: &mut dyn Site,
    index: u32,
) -> Result<Attempt, HarnessError> {
    let begun = Instant::now();
    let made = plant_and_judge(shared, site, index);
    let restored = site.reset();
    // A place that cannot be restored is worse than whatever came before.
    restored?;
    let made = made?;
    let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let oracle_ms = made.ran.as_ref().map_or(0, |ran| ran.took_ms);
    let diff = String::from_utf8_lossy(&made.capture.diff);
    let mut attempt = Attempt {
        index,
        verdict: made.verdict,
        files: made.capture.changes.iter().map(|change| change.path.clone()).collect(),
        line: made.capture.line,
        notes: made.notes,
        fingerprint: made.fingerprint,
        agent_ms: made.asked.took_ms,
        oracle_ms,
        overhead_ms: took.saturating_sub(made.asked.took_ms + oracle_ms),
        diff_path: None,
        log_path: None,
        excerpt: diff.chars().take(EXCERPT).collect(),
    };
    shared
        .ledger
        .keep(&mut attempt, &made.capture.diff, made.ran.as_ref())
        .map_err(HarnessError::Evidence)?;
    Ok(attempt)
}

fn plant_and_judge(
    shared: &Shared<'_>,
    site: &mut dyn Site,
    index: u32,
) -> Result<Made, HarnessError> {
    let mutation = shared.plan.mutation;
    let prompt = instructions::seed(mutation, index, &tried(shared), &wanted(shared.plan));
    let limits = shared.plan.limits.agent();
    let errand = Errand { change: &mutation.id, prompt: &prompt, cwd: site.project(), limits };
    let asked = shared.agents.ask(&errand).map_err(agent_failed)?;
    let capture = site.capture()?;
    let mut made = Made {
        verdict: Verdict::NoChange,
        notes: notes(&asked, &capture),
        capture,
        fingerprint: String::new(),
        asked,
        ran: None,
    };
    if let Some(reason) = made.capture.moved.clone() {
        made.verdict = Verdict::Voided { reason };
        return Ok(made);
    }
    match shared.judge(&made.capture, index) {
        Judged::Fault { fingerprint, notes } => {
            made.fingerprint = fingerprint;
            made.notes.extend(notes);
        }
        Judged::Not(verdict) => {
            made.verdict = verdict;
            return Ok(made);
        }
    }
    site.settle()?;
    let command = Command { script: &mutation.test, cwd: site.project(), limits: shared.oracle };
    let ran = shared.shell.run(&command).map_err(|error: CannotRun| oracle_failed(error))?;
    made.verdict = Verdict::of_oracle(&ran);
    made.ran = Some(ran);
    Ok(made)
}

enum Judged {
    Fault { fingerprint: String, notes: Vec<String> },
    Not(Verdict),
}

impl Shared<'_> {
    fn judge(&self, capture: &Capture, index: u32) -> Judged {
        if capture.changes.is_empty() {
            return Judged::Not(match capture.ignored.first() {
                None => Verdict::NoChange,
                Some(path) => Verdict::OutOfScope {
                    reason: format!("only ignored files differ, the first is {path}"),
                },
            });
        }
        if let Some(reason) = self.outside_of_the_diff(capture) {
            return Judged::Not(Verdict::OutOfScope { reason });
        }
        match scope::judge(&capture.changes, self.plan.prefix, &self.plan.mutation.test) {
            Scope::Outside { reason } => Judged::Not(Verdict::OutOfScope { reason }),
            Scope::Fault { fingerprint, notes } => {
                // Looked up and entered at once: of two places with the same fault one runs the oracle.
                let mut state = self.state();
                let first = *state.faults.entry(fingerprint.clone()).or_insert(index);
                if first == index {
                    Judged::Fault { fingerprint, notes }
                } else {
                    Judged::Not(Verdict::Duplicate { of: first })
                }
            }
        }
    }

    fn outside_of_the_diff(&self, capture: &Capture) -> Option<String> {
        let only = self.plan.only.as_ref()?;
        let outside = capture.changes.iter().find(|change| !only.contains(&change.path))?;
        Some(format!("{} is not among the files that --in-diff names", outside.path))
    }
}

/// The files in which faults were planted, so that the next one is planted elsewhere.
fn tried(shared: &Shared<'_>) -> Vec<String> {
    let state = shared.state();
    let mutants = state.made.iter().filter(|attempt| attempt.verdict.is_mutant());
    let files: BTreeSet<String> = mutants.flat_map(|attempt| attempt.files.clone()).collect();
    files.into_iter().collect()
}

/// The files that a fault must be in, as an agent in the project sees them, those that are none of code's left out.
fn wanted(plan: &Plan<'_>) -> Vec<String> {
    let files = plan.only.iter().flatten().filter_map(|path| path.strip_prefix(plan.prefix));
    let code = files.filter(|path| !scope::is_test(path) && !scope::is_configuration(path));
    code.map(str::to_owned).collect()
}

fn notes(asked: &Ran, capture: &Capture) -> Vec<String> {
    let mut notes = Vec::new();
    match &asked.ended {
        Ended::Exited { code: 0 } => {}
        other => {
            let said: String = asked.excerpt().chars().take(MOST_SAID).collect();
            let said = if said.is_empty() { said } else { format!(": {said}") };
            notes.push(format!("the agent ended with {}{said}", other.words()));
        }
    }
    if let (Some(path), false) = (capture.ignored.first(), capture.changes.is_empty()) {
        let more = capture.ignored.len();
        notes.push(format!("{more} ignored file(s) were changed too and restored, as {path}"));
    }
    notes
}
