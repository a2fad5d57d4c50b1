//! A run from end to end: cases, then invariants, each kept as soon as it is known (spec `eval`). The order of everything
//! is here; what each part means is elsewhere.

mod invariants;

use ratchet_engine::time::Timestamp;

use crate::binding::Bindings;
use crate::case::{Case, Scope};
use crate::config::Config;
use crate::contributor::{Contributor, Gate, GateError, GateFlags};
use crate::fixture::{FixtureError, Fixtures};
use crate::ground::Ground;
use crate::harness::Progress;
use crate::judging::{Bench, Stopped};
use crate::jury::Verdict;
use crate::load::{self, LoadError};
use crate::mutate::Options;
use crate::place::Place;
use crate::record::{CaseVerdict, RecordedCase, RunRecord, RunStatus, Via};
use crate::report::{Report, assemble};
use crate::run_id::RunId;
use crate::skip::{self, Holdout};

/// What is to be evaluated.
#[derive(Debug, Clone)]
pub struct Order {
    /// Which cases.
    pub scope: Scope,
    /// Of those, which by whether they are held out.
    pub holdout: Holdout,
    /// What counts.
    pub gate: GateFlags,
    /// Whether cases that are not to be judged are judged.
    pub skipped: Skipped,
    /// How faults are planted.
    pub mutation: Options,
}

/// Whether cases that are not to be judged are judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Skipped {
    /// They are not.
    #[default]
    Left,
    /// They are.
    Judged,
}

/// What is told while a run is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A case was judged.
    Case {
        /// Which.
        id: String,
        /// What it came to.
        verdict: Verdict,
        /// How many are done.
        done: usize,
        /// How many there are.
        all: usize,
    },
    /// An invariant is being looked at.
    Invariant {
        /// Which.
        id: String,
    },
    /// Something of a mutation invariant.
    Mutation(Progress),
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluated {
    /// The report.
    pub report: Report,
    /// What is not as it should be and yet no reason to stop.
    pub warnings: Vec<String>,
}

/// A run that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// What counts cannot be told.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// Something cannot be loaded or kept.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// There is no room for copies.
    #[error("cannot make room for copies of fixtures: {0}")]
    Room(String),
    /// It was stopped. What was judged is kept, and the record says that it did not come to its end.
    #[error("the run {run} was stopped; what was judged until then is kept")]
    Stopped {
        /// The run.
        run: RunId,
    },
}

/// Lists the cases of a scope with their bindings, and what is wrong with those.
///
/// # Errors
/// [`LoadError`].
pub fn list(
    place: &Place,
    scope: &Scope,
    holdout: Holdout,
) -> Result<(Vec<Case>, Bindings), LoadError> {
    let mut cases = load::cases(place, scope)?;
    cases.retain(|case| holdout.admits(case));
    Ok((cases, load::bindings(place)?))
}

/// Makes a run.
///
/// # Errors
/// [`EvaluateError`]. Whatever goes wrong with a case or an invariant is a result, not an error.
pub fn run(
    ground: &Ground<'_>,
    run: &RunId,
    now: Timestamp,
    order: &Order,
    tell: &(dyn Fn(&Step) + Sync),
) -> Result<Evaluated, EvaluateError> {
    let place = &ground.place;
    let (config, ignored) = load::config(place)?;
    let gate = Gate::resolve(&config.gate, config.judge.as_deref(), &order.gate)?;
    let (cases, bindings) = list(place, &order.scope, order.holdout)?;
    let (baseline, lost) = load::baseline(place)?;
    let mut warnings: Vec<String> = ignored.into_iter().chain(lost).collect();
    warnings.extend_from_slice(bindings.warnings());
    warnings.extend(unused(place, &bindings)?);
    if cases.is_empty() {
        warnings.push(format!("there are no cases in the scope '{}'", order.scope.words()));
    }
    let mut record = RunRecord {
        run_id: run.clone(),
        created_at: now,
        status: RunStatus::Running,
        scope: order.scope.clone(),
        gate: Some(gate.clone()),
        cases: Vec::new(),
        verdicts: std::collections::BTreeMap::new(),
        invariant_gate: None,
        via: ground.staff.is_overridden().then_some(Via::EnvOverride),
    };
    let mut judging =
        Judging { ground, order, config: &config, gate: &gate, bindings: &bindings, tell };
    judging.judge_all(cases, &mut record)?;
    if gate.has(Contributor::Invariants) {
        let evaluation = invariants::Evaluation {
            ground,
            run,
            cases: record.cases.len(),
            baseline: baseline.as_ref(),
            options: &order.mutation,
            tell,
        };
        let (found, odd) = evaluation.gate();
        warnings.extend(odd);
        record.invariant_gate = Some(found);
    }
    if ground.spawner.is_stopped() {
        load::keep_record(place, &record)?;
        return Err(EvaluateError::Stopped { run: run.clone() });
    }
    record.status = RunStatus::Finished;
    load::keep_record(place, &record)?;
    let report = assemble(&record, baseline.as_ref());
    warnings.extend(
        report
            .diff
            .skipped_regressions
            .iter()
            .map(|id| format!("Case '{id}' was 'pass' in the baseline and is now skipped.")),
    );
    Ok(Evaluated { report, warnings })
}

/// Warns of bindings that no scenario has, wherever it is.
fn unused(place: &Place, bindings: &Bindings) -> Result<Vec<String>, LoadError> {
    let every: Vec<String> =
        load::cases(place, &Scope::Changes)?.into_iter().map(|case| case.id).collect();
    let warning = |id: &str| format!("the binding of '{id}' is used by no scenario");
    Ok(bindings.unused(&every).map(warning).collect())
}

struct Judging<'a> {
    ground: &'a Ground<'a>,
    order: &'a Order,
    config: &'a Config,
    gate: &'a Gate,
    bindings: &'a Bindings,
    tell: &'a (dyn Fn(&Step) + Sync),
}

impl Judging<'_> {
    fn judge_all(&mut self, cases: Vec<Case>, record: &mut RunRecord) -> Result<(), EvaluateError> {
        let place = &self.ground.place;
        let run = record.run_id.clone();
        let bash = self.ground.bash();
        let patience = self.order.mutation.patience;
        let mut fixtures =
            Fixtures::new(self.ground, &bash, patience).map_err(|error| match error {
                FixtureError::Failed(why) => EvaluateError::Room(why),
                FixtureError::Stopped => EvaluateError::Stopped { run: run.clone() },
            })?;
        let bench =
            Bench { ground: self.ground, bash: &bash, config: self.config, patience, run: &run };
        record.cases = cases.iter().map(|case| self.recorded(case)).collect();
        load::keep_record(place, record)?;
        for (index, case) in cases.iter().enumerate() {
            let verdict = match self.verdict(case, &bench, &mut fixtures) {
                Ok(verdict) => verdict,
                Err(Stopped) => return Err(EvaluateError::Stopped { run }),
            };
            (self.tell)(&Step::Case {
                id: case.id.clone(),
                verdict: verdict.verdict,
                done: index + 1,
                all: cases.len(),
            });
            record.verdicts.insert(case.id.clone(), verdict);
            load::keep_record(place, record)?;
        }
        Ok(())
    }

    fn recorded(&self, case: &Case) -> RecordedCase {
        let binding = self.bindings.of(&case.id).filter(|_| self.skip(case).is_none());
        RecordedCase {
            case: case.clone(),
            binding_kind: binding.map(crate::binding::Binding::kind),
        }
    }

    fn skip(&self, case: &Case) -> Option<skip::Skip> {
        match self.order.skipped {
            Skipped::Left => skip::of(case, &self.config.skip),
            Skipped::Judged => None,
        }
    }

    fn verdict(
        &self,
        case: &Case,
        bench: &Bench<'_>,
        fixtures: &mut Fixtures<'_>,
    ) -> Result<CaseVerdict, Stopped> {
        if let Some(skip) = self.skip(case) {
            return Ok(CaseVerdict::skipped(skip));
        }
        let Some(binding) = self.bindings.of(&case.id) else {
            let reason = "No eval-spec binding names this case";
            return Ok(CaseVerdict::plain(Verdict::Unjudged, reason));
        };
        let contributor = Contributor::of(binding.kind());
        if !self.gate.has(contributor) {
            let reason =
                format!("the contributor '{}' does not count in this run", contributor.id());
            return Ok(CaseVerdict::plain(Verdict::Unjudged, reason));
        }
        bench.judge(fixtures, case, binding)
    }
}
