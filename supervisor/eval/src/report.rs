//! What a run comes to: one pure assembly, which `eval run` and `eval report` share, so that both say the same (spec `eval`
//! 9 to 11).

use serde::{Deserialize, Serialize};

use crate::contributor::{Contributor, Gate};
use crate::invariant::InvariantOutcome;
use crate::jury::{Clause, Verdict, Vote};
use crate::record::{RecordedCase, RunRecord, RunStatus, WebArtifacts};
use crate::run_id::RunId;
use crate::skip::Skip;

/// What a run comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The run.
    pub run_id: RunId,
    /// The counts.
    pub scorecard: Scorecard,
    /// Cases that fail.
    pub failing: Vec<Failing>,
    /// Cases that nobody has judged.
    pub unjudged_cases: Vec<String>,
    /// Every case.
    pub cases: Vec<CaseDetail>,
    /// What differs from the baseline.
    pub diff: Diff,
    /// Whether every contributor passes.
    pub overall: Overall,
    /// Each that counts.
    pub contributors: Vec<ContributorResult>,
    /// What became of the invariants.
    pub invariants: Vec<InvariantOutcome>,
    /// Whether they were evaluated in this run.
    pub invariants_evaluated: bool,
    /// Why their manifest could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_error: Option<String>,
    /// Whether something stood in for the agent; absent if nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_override: Option<bool>,
}

/// The counts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Scorecard {
    /// Cases.
    pub total: usize,
    /// That pass.
    pub pass: usize,
    /// That fail.
    pub fail: usize,
    /// That nobody has judged.
    pub unjudged: usize,
    /// That were not to be judged.
    pub skipped: usize,
    /// Whether nothing is left to judge.
    pub complete: bool,
}

/// Pass or fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overall {
    /// It passes.
    Pass,
    /// It fails.
    Fail,
}

/// What one contributor says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContributorResult {
    /// Which.
    pub id: Contributor,
    /// What.
    pub status: Overall,
    /// Because of these.
    pub failing: Vec<String>,
}

/// A case that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failing {
    /// Its id.
    pub id: String,
    /// Its name.
    pub scenario: String,
    /// Why.
    pub evidence: String,
    /// Its file.
    pub source: String,
}

/// Everything about a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaseDetail {
    /// Its id.
    pub id: String,
    /// Its name.
    pub scenario: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its file.
    pub source: String,
    /// What was looked at.
    pub rubric: Vec<String>,
    /// What was found.
    pub clauses: Vec<Clause>,
    /// By each judge.
    pub votes: Vec<Vote>,
    /// Why it was not to be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip: Option<Skip>,
    /// What a browser left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<WebArtifacts>,
}

/// What differs from the baseline. All lists are sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// The baseline's run; `None` if there is none.
    pub baseline_run_id: Option<RunId>,
    /// Passed then and fails now.
    pub regressions: Vec<String>,
    /// Not in the baseline.
    pub new_cases: Vec<String>,
    /// Only in the baseline.
    pub retired_cases: Vec<String>,
    /// Passed then and is skipped now.
    pub skipped_regressions: Vec<String>,
}

/// What is needed of a baseline. It is kept in `baseline.json` whole, because records are not under version control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Baseline {
    /// Its run.
    pub run_id: RunId,
    /// Its verdicts; absent in files of other tools, and then the record is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<std::collections::BTreeMap<String, Verdict>>,
}

/// A run that cannot become the baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromotionError {
    /// Something is left to judge, or it was killed.
    #[error("run {run} is incomplete: {why}")]
    Incomplete {
        /// The run.
        run: RunId,
        /// Why.
        why: String,
    },
    /// It has no cases.
    #[error("run {run} has no cases; a baseline without any would hold nothing fast")]
    Empty {
        /// The run.
        run: RunId,
    },
    /// Its agent was no agent.
    #[error(
        "in run {run} something stood in for the agent (RATCHET_EVAL_AGENT_CMD); --force takes it all the same"
    )]
    Overridden {
        /// The run.
        run: RunId,
    },
}

/// Whether a run that an agent's stand-in took part in may become the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// It may.
    Yes,
    /// It may not.
    No,
}

/// Assembles a report.
#[must_use]
pub fn assemble(record: &RunRecord, baseline: Option<&Baseline>) -> Report {
    let diff = diff(record, baseline);
    let all = Gate::default();
    let gate = record.gate.as_ref().unwrap_or(&all);
    let contributors: Vec<ContributorResult> =
        gate.iter().map(|id| contributor(id, record, &diff)).collect();
    let passes = contributors.iter().all(|one| one.status == Overall::Pass);
    let invariants = record.invariant_gate.clone();
    Report {
        run_id: record.run_id.clone(),
        scorecard: scorecard(record),
        failing: ids(record, Verdict::Fail).map(|case| failing(record, case)).collect(),
        unjudged_cases: ids(record, Verdict::Unjudged).map(|case| case.case.id.clone()).collect(),
        cases: record.cases.iter().map(|case| detail(record, case)).collect(),
        overall: if passes { Overall::Pass } else { Overall::Fail },
        contributors,
        invariants_evaluated: invariants.is_some(),
        load_error: invariants.as_ref().and_then(|gate| gate.load_error.clone()),
        invariants: invariants.map(|gate| gate.outcomes).unwrap_or_default(),
        agent_override: record.via.map(|_| true),
        diff,
    }
}

fn ids(record: &RunRecord, verdict: Verdict) -> impl Iterator<Item = &RecordedCase> {
    record.cases.iter().filter(move |case| record.verdict(&case.case.id) == verdict)
}

fn contributor(id: Contributor, record: &RunRecord, diff: &Diff) -> ContributorResult {
    let failing: Vec<String> = match id {
        Contributor::Deterministic | Contributor::LlmJudge => ids(record, Verdict::Fail)
            .filter(|case| case.binding_kind.map(Contributor::of) == Some(id))
            .map(|case| case.case.id.clone())
            .collect(),
        Contributor::Invariants => {
            record.invariant_gate.as_ref().map(|gate| gate.failing.clone()).unwrap_or_default()
        }
        Contributor::Regression => diff.regressions.clone(),
    };
    let status = if failing.is_empty() { Overall::Pass } else { Overall::Fail };
    ContributorResult { id, status, failing }
}

fn scorecard(record: &RunRecord) -> Scorecard {
    let count = |verdict| ids(record, verdict).count();
    let unjudged = count(Verdict::Unjudged);
    Scorecard {
        total: record.cases.len(),
        pass: count(Verdict::Pass),
        fail: count(Verdict::Fail),
        unjudged,
        skipped: count(Verdict::Skipped),
        complete: unjudged == 0,
    }
}

fn failing(record: &RunRecord, case: &RecordedCase) -> Failing {
    Failing {
        id: case.case.id.clone(),
        scenario: case.case.scenario.clone(),
        evidence: record
            .verdicts
            .get(&case.case.id)
            .map(|verdict| verdict.reason.clone())
            .unwrap_or_default(),
        source: case.case.source.clone(),
    }
}

fn detail(record: &RunRecord, case: &RecordedCase) -> CaseDetail {
    let found = record.verdicts.get(&case.case.id);
    CaseDetail {
        id: case.case.id.clone(),
        scenario: case.case.scenario.clone(),
        verdict: record.verdict(&case.case.id),
        source: case.case.source.clone(),
        rubric: found.and_then(|one| one.rubric.clone()).unwrap_or_default(),
        clauses: found.and_then(|one| one.clauses.clone()).unwrap_or_default(),
        votes: found.and_then(|one| one.votes.clone()).unwrap_or_default(),
        skip: found.and_then(|one| one.skip.clone()),
        artifacts: found.and_then(|one| one.artifacts.clone()),
    }
}

fn diff(record: &RunRecord, baseline: Option<&Baseline>) -> Diff {
    let Some((baseline, before)) =
        baseline.and_then(|one| one.verdicts.as_ref().map(|verdicts| (one, verdicts)))
    else {
        return Diff::default();
    };
    let mut diff = Diff { baseline_run_id: Some(baseline.run_id.clone()), ..Diff::default() };
    for case in &record.cases {
        let id = &case.case.id;
        match (before.get(id), record.verdict(id)) {
            (None, _) => diff.new_cases.push(id.clone()),
            (Some(Verdict::Pass), Verdict::Fail) => diff.regressions.push(id.clone()),
            (Some(Verdict::Pass), Verdict::Skipped) => diff.skipped_regressions.push(id.clone()),
            (Some(_), _) => {}
        }
    }
    let is_here = |id: &String| record.cases.iter().any(|case| case.case.id == *id);
    diff.retired_cases = before.keys().filter(|id| !is_here(id)).cloned().collect();
    for list in [&mut diff.regressions, &mut diff.new_cases, &mut diff.skipped_regressions] {
        list.sort();
    }
    diff
}

/// Makes a run the baseline.
///
/// # Errors
/// [`PromotionError`].
pub fn promote(record: &RunRecord, force: Force) -> Result<Baseline, PromotionError> {
    let run = record.run_id.clone();
    if record.status == RunStatus::Running {
        let why = "it did not come to its end".to_owned();
        return Err(PromotionError::Incomplete { run, why });
    }
    let card = scorecard(record);
    if !card.complete {
        let why = format!("{} case(s) are unjudged", card.unjudged);
        return Err(PromotionError::Incomplete { run, why });
    }
    if record.cases.is_empty() {
        return Err(PromotionError::Empty { run });
    }
    if record.via.is_some() && force == Force::No {
        return Err(PromotionError::Overridden { run });
    }
    Ok(Baseline::of(record))
}

impl Baseline {
    /// Takes what is needed of a record.
    #[must_use]
    pub fn of(record: &RunRecord) -> Self {
        let verdicts =
            record.cases.iter().map(|case| (case.case.id.clone(), record.verdict(&case.case.id)));
        Self { run_id: record.run_id.clone(), verdicts: Some(verdicts.collect()) }
    }

    /// Counts its cases; `None` if they are not known.
    #[must_use]
    pub fn cases(&self) -> Option<usize> {
        self.verdicts.as_ref().map(std::collections::BTreeMap::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::BindingKind;
    use crate::contributor::GateFlags;
    use crate::invariant::{InvariantGate, ManifestError, Status};
    use crate::record::tests::run;
    use crate::record::{CaseVerdict, Via};

    use Verdict::{Fail, Pass, Skipped, Unjudged};

    fn of(report: &Report, id: Contributor) -> Option<&ContributorResult> {
        report.contributors.iter().find(|one| one.id == id)
    }

    fn invariant(status: Status) -> InvariantOutcome {
        InvariantOutcome {
            id: "i".into(),
            kind: "monotonic".into(),
            status,
            measure: String::new(),
            evidence: String::new(),
            artifacts: None,
        }
    }

    // E-H05
    #[test]
    fn verdicts_are_counted_and_only_what_nobody_judged_leaves_a_run_incomplete() {
        let report = assemble(&run("r", &[("a", Pass), ("b", Fail), ("c", Skipped)]), None);
        let card = report.scorecard;
        assert_eq!((card.total, card.pass, card.fail, card.skipped), (3, 1, 1, 1));
        assert!(card.complete && report.overall == Overall::Fail);
        assert_eq!(
            (report.failing[0].id.as_str(), report.failing[0].evidence.as_str()),
            ("b", "why")
        );
        let open = assemble(&run("r", &[("a", Unjudged)]), None);
        assert!(!open.scorecard.complete && open.overall == Overall::Pass);
        assert_eq!(open.unjudged_cases, ["a"]);
    }

    // E-H08 E-H06
    #[test]
    fn a_regression_passed_then_and_fails_now() {
        let baseline =
            Baseline::of(&run("old", &[("a", Pass), ("b", Fail), ("c", Pass), ("gone", Pass)]));
        let now = run("new", &[("a", Fail), ("b", Fail), ("c", Skipped), ("d", Pass)]);
        let report = assemble(&now, Some(&baseline));
        let expected = Diff {
            baseline_run_id: Some(RunId::parse("old").unwrap()),
            regressions: vec!["a".into()],
            new_cases: vec!["d".into()],
            retired_cases: vec!["gone".into()],
            skipped_regressions: vec!["c".into()],
        };
        assert_eq!(report.diff, expected);
        let regression = of(&report, Contributor::Regression).unwrap();
        assert_eq!(
            (regression.status, &regression.failing),
            (Overall::Fail, &vec!["a".to_owned()])
        );
    }

    // E-H07 E-H14
    #[test]
    fn a_contributor_that_does_not_count_fails_nothing() {
        let mut record = run("r", &[("a", Fail)]);
        assert_eq!(assemble(&record, None).overall, Overall::Fail);
        let flags = GateFlags { gate: Some("llm-judge,invariants".into()), ..GateFlags::default() };
        record.gate = Some(Gate::resolve(&[], None, &flags).unwrap());
        let report = assemble(&record, None);
        assert_eq!(report.overall, Overall::Pass);
        assert!(of(&report, Contributor::Deterministic).is_none());
        let nothing = GateFlags { gate: Some(String::new()), ..GateFlags::default() };
        record.gate = Some(Gate::resolve(&[], None, &nothing).unwrap());
        assert_eq!(assemble(&record, None).overall, Overall::Pass, "an empty set passes");
    }

    #[test]
    fn a_failure_counts_for_the_contributor_of_its_binding() {
        let mut record = run("r", &[("a", Fail), ("b", Fail), ("c", Fail)]);
        record.cases[1].binding_kind = Some(BindingKind::LlmJudge);
        record.cases[2].binding_kind = Some(BindingKind::Web);
        let report = assemble(&record, None);
        assert_eq!(of(&report, Contributor::Deterministic).unwrap().failing, ["a", "c"]);
        assert_eq!(of(&report, Contributor::LlmJudge).unwrap().failing, ["b"]);
    }

    // E-H09
    #[test]
    fn invariants_fail_a_run_when_they_do_not_hold_or_cannot_be_read() {
        let mut record = run("r", &[("a", Pass)]);
        let report = assemble(&record, None);
        assert!(
            !report.invariants_evaluated && report.overall == Overall::Pass,
            "not evaluated: neutral"
        );
        for (status, expected) in [
            (Status::Pass, Overall::Pass),
            (Status::Fail, Overall::Fail),
            (Status::Unevaluable, Overall::Fail),
        ] {
            record.invariant_gate = Some(InvariantGate::of(vec![invariant(status)]));
            assert_eq!(assemble(&record, None).overall, expected, "{status:?}");
        }
        let error = ManifestError { problems: vec!["x".into()] };
        record.invariant_gate = Some(InvariantGate::unloadable(&error));
        let report = assemble(&record, None);
        assert_eq!(of(&report, Contributor::Invariants).unwrap().failing, ["invariants.yaml"]);
        assert!(report.load_error.is_some());
    }

    // E-H10
    #[test]
    fn every_case_has_a_detail_whose_lists_are_empty_and_never_absent() {
        let mut record = run("r", &[("a", Pass), ("b", Fail)]);
        let clause = Clause { clause: "c".into(), pass: true, evidence: "e".into() };
        let vote = Vote { pass: true, clauses: vec![clause.clone()] };
        let judged = CaseVerdict::judged(Pass, vec!["c".into()], vec![clause], vec![vote]);
        assert_eq!(judged.reason, "[pass] c: e");
        record.verdicts.insert("a".into(), judged);
        let json = serde_json::to_value(assemble(&record, None)).unwrap();
        assert_eq!(json["cases"][0]["votes"][0]["pass"], true);
        assert_eq!(json["cases"][1]["clauses"], serde_json::json!([]));
        assert_eq!(json["cases"][1]["source"], "features/b.feature");
        assert_eq!(json["diff"]["baselineRunId"], serde_json::Value::Null);
    }

    // E-H04
    #[test]
    fn only_a_complete_run_becomes_the_baseline() {
        let refused = |record: &RunRecord| promote(record, Force::No).unwrap_err().to_string();
        assert!(promote(&run("r", &[("a", Fail), ("b", Skipped)]), Force::No).is_ok());
        assert!(refused(&run("r", &[("a", Unjudged)])).contains("incomplete"));
        assert!(refused(&run("r", &[])).contains("no cases"));
        let mut record = run("r", &[("a", Pass)]);
        record.status = RunStatus::Running;
        assert!(refused(&record).contains("incomplete"));
        record.status = RunStatus::Finished;
        record.via = Some(Via::EnvOverride);
        assert!(refused(&record).contains("RATCHET_EVAL_AGENT_CMD"));
        assert_eq!(promote(&record, Force::Yes).unwrap().cases(), Some(1));
    }
}
