//! The active invariants of a project, one after the other (spec `eval` 8.2). Whatever cannot be evaluated says so and is a
//! violation.

use std::fs;

use crate::call::{CannotRun, Command, Ran, Shell as _};
use crate::fixture::ONE_HOUR_MS;
use crate::ground::Ground;
use crate::invariant::{
    Check, Invariant, InvariantGate, InvariantOutcome, Status, meets, warnings,
};
use crate::judging::session_end;
use crate::load;
use crate::mutate::{self, Options};
use crate::report::Baseline;
use crate::run_id::RunId;

use super::Step;

/// What the evaluation of invariants needs to know of its run.
pub(super) struct Evaluation<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) run: &'a RunId,
    /// How many cases the run has.
    pub(super) cases: usize,
    pub(super) baseline: Option<&'a Baseline>,
    pub(super) options: &'a Options,
    pub(super) tell: &'a (dyn Fn(&Step) + Sync),
}

/// The one measure there is.
const SCENARIO_COUNT: &str = "scenario-count";

impl Evaluation<'_> {
    /// Evaluates them all; the second value says what is odd about their definitions.
    pub(super) fn gate(&self) -> (InvariantGate, Vec<String>) {
        let invariants = match load::invariants(&self.ground.place) {
            Ok(invariants) => invariants,
            Err(error) => return (InvariantGate::unloadable(&error), Vec::new()),
        };
        let mut outcomes = Vec::new();
        for invariant in invariants.iter().filter(|invariant| invariant.active) {
            if self.ground.spawner.is_stopped() {
                break;
            }
            (self.tell)(&Step::Invariant { id: invariant.id.clone() });
            outcomes.push(self.one(invariant));
        }
        (InvariantGate::of(outcomes), warnings(&invariants))
    }

    fn one(&self, invariant: &Invariant) -> InvariantOutcome {
        let (measure, (status, evidence)) = match &invariant.check {
            Check::Deterministic { run, pass } => {
                (format!("check: {run}"), self.deterministic(run, pass))
            }
            Check::Monotonic { measure } => self.monotonic(measure),
            Check::Snapshot { golden, run } => {
                (format!("snapshot: {golden}"), self.snapshot(golden, run))
            }
            Check::Mutation(mutation) => {
                let tell = |progress: &_| (self.tell)(&Step::Mutation(Clone::clone(progress)));
                let made = mutate::evaluate(self.ground, self.run, mutation, self.options, &tell);
                return made.outcome;
            }
        };
        InvariantOutcome {
            id: invariant.id.clone(),
            kind: invariant.check.kind().to_owned(),
            status,
            measure,
            evidence,
            artifacts: None,
        }
    }

    fn bash(&self, script: &str) -> Result<Ran, CannotRun> {
        let limits = self.options.patience.oracle(ONE_HOUR_MS);
        let cwd = self.ground.place.root();
        self.ground.bash().run(&Command { script, cwd, limits })
    }

    fn deterministic(&self, run: &str, pass: &str) -> (Status, String) {
        match self.bash(run) {
            Err(error) => (Status::Unevaluable, format!("the check could not run: {error}")),
            Ok(ran) => match meets(pass, &session_end(&ran.ended), &ran.stdout) {
                Ok(()) => (Status::Pass, format!("check passed ({pass})")),
                Err(reason) => {
                    let said = ran.excerpt();
                    (Status::Fail, format!("check failed ({reason}): {said}"))
                }
            },
        }
    }

    fn monotonic(&self, measure: &str) -> (String, (Status, String)) {
        let unknown = |why: String| (measure.to_owned(), (Status::Unevaluable, why));
        if measure != SCENARIO_COUNT {
            return unknown(format!("unknown measure '{measure}'; there is: {SCENARIO_COUNT}"));
        }
        let Some(before) = self.baseline.and_then(Baseline::cases) else {
            return unknown(format!(
                "baseline missing: promote the first complete run with 'ratchet eval baseline {}'",
                self.run
            ));
        };
        let now = self.cases;
        let measure = format!("{measure}: {now} (baseline {before})");
        if now >= before {
            (measure, (Status::Pass, format!("{now} is not below {before}")))
        } else {
            (measure, (Status::Fail, format!("{now} is below {before}")))
        }
    }

    fn snapshot(&self, golden: &str, run: &str) -> (Status, String) {
        let unevaluable = |why: String| (Status::Unevaluable, why);
        let path = self.ground.place.root().join(golden);
        let expected = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => return unevaluable(format!("{golden} cannot be read: {error}")),
        };
        let ran = match self.bash(run) {
            Ok(ran) => ran,
            Err(error) => return unevaluable(format!("`{run}` could not run: {error}")),
        };
        if !ran.passed() {
            return unevaluable(format!("`{run}` gave {}: {}", ran.ended.words(), ran.excerpt()));
        }
        if ran.stdout.trim_ascii() == expected.trim_ascii() {
            (Status::Pass, format!("the output is that of {golden}"))
        } else {
            let printed = String::from_utf8_lossy(&ran.stdout);
            let printed: String = printed.trim().chars().take(500).collect();
            (Status::Fail, format!("the output differs from {golden}; it is now:\n{printed}"))
        }
    }
}
