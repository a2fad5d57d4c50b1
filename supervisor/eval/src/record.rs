//! The record of a run: what was judged, how, and with what result (spec `eval` 10). Readers take what they know and pass
//! over the rest.

use std::collections::BTreeMap;

use ratchet_engine::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::binding::BindingKind;
use crate::case::{Case, Scope};
use crate::contributor::Gate;
use crate::invariant::InvariantGate;
use crate::jury::{Clause, Verdict, Vote};
use crate::run_id::RunId;
use crate::skip::Skip;

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    /// Its id.
    pub run_id: RunId,
    /// When it began.
    pub created_at: Timestamp,
    /// Whether it came to its end; one that did not is never a baseline.
    #[serde(default)]
    pub status: RunStatus,
    /// Which cases were meant.
    pub scope: Scope,
    /// What counted; absent in old records: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// Its cases, by id.
    pub cases: Vec<RecordedCase>,
    /// What became of them.
    pub verdicts: BTreeMap<String, CaseVerdict>,
    /// What became of the invariants; absent if they were not evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariant_gate: Option<InvariantGate>,
    /// Set when something stood in for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
}

/// Whether a run came to its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// It is under way, or was killed.
    Running,
    /// It did.
    #[default]
    Finished,
}

/// What stood in for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// `RATCHET_EVAL_AGENT_CMD`.
    EnvOverride,
}

/// A case of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCase {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// How it was judged; `None` if it was skipped or nobody knows how.
    pub binding_kind: Option<BindingKind>,
}

/// What became of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, for people.
    pub reason: String,
    /// Who gave it.
    pub source: VerdictSource,
    /// What was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rubric: Option<Vec<String>>,
    /// What was found, by whoever decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clauses: Option<Vec<Clause>>,
    /// What each judge found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<Vec<Vote>>,
    /// Why it was not to be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<Skip>,
    /// What a browser left, by path from the project's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<WebArtifacts>,
    /// What it was before somebody gave another verdict by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Box<CaseVerdict>>,
}

/// Who gave a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictSource {
    /// A judge.
    Judged,
    /// A person.
    Manual,
}

/// What a browser left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebArtifacts {
    /// What it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// What it showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<String>,
}

/// A verdict by hand that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The case is not in the run.
    #[error("case '{case}' is not part of run {run}")]
    NotInRun {
        /// The case.
        case: String,
        /// The run.
        run: RunId,
    },
    /// There is no such verdict.
    #[error("Invalid verdict '{word}'; there are: pass, fail, unjudged")]
    InvalidVerdict {
        /// What was written.
        word: String,
    },
    /// A failure has to be shown.
    #[error("a verdict of fail requires --evidence <text>")]
    EvidenceNeeded,
}

impl CaseVerdict {
    /// Makes a verdict without details.
    #[must_use]
    pub fn plain(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self {
            verdict,
            reason: reason.into(),
            source: VerdictSource::Judged,
            rubric: None,
            clauses: None,
            votes: None,
            skip: None,
            artifacts: None,
            previous: None,
        }
    }

    /// Makes the verdict of judges. Its reason is what they found, line by line.
    #[must_use]
    pub fn judged(
        verdict: Verdict,
        rubric: Vec<String>,
        clauses: Vec<Clause>,
        votes: Vec<Vote>,
    ) -> Self {
        let lines: Vec<String> = clauses
            .iter()
            .map(|clause| {
                let mark = if clause.pass { "pass" } else { "fail" };
                format!("[{mark}] {}: {}", clause.clause, clause.evidence)
            })
            .collect();
        Self {
            rubric: Some(rubric),
            clauses: Some(clauses),
            votes: Some(votes),
            ..Self::plain(verdict, lines.join("\n"))
        }
    }

    /// Makes the verdict of a case that was not to be judged.
    #[must_use]
    pub fn skipped(skip: Skip) -> Self {
        Self { skip: Some(skip.clone()), ..Self::plain(Verdict::Skipped, skip.reason()) }
    }
}

impl RunRecord {
    /// Gives a case's verdict; one that is missing is nobody's.
    #[must_use]
    pub fn verdict(&self, case: &str) -> Verdict {
        self.verdicts.get(case).map_or(Verdict::Unjudged, |found| found.verdict)
    }

    /// Enters a verdict by hand; what judges found is kept beneath it.
    ///
    /// # Errors
    /// [`RecordError`]; the record is as it was then.
    pub fn overrule(
        &mut self,
        case: &str,
        word: &str,
        evidence: Option<&str>,
    ) -> Result<Verdict, RecordError> {
        if !self.cases.iter().any(|one| one.case.id == case) {
            return Err(RecordError::NotInRun { case: case.to_owned(), run: self.run_id.clone() });
        }
        let verdict = match word {
            "pass" => Verdict::Pass,
            "fail" => Verdict::Fail,
            "unjudged" => Verdict::Unjudged,
            _ => return Err(RecordError::InvalidVerdict { word: word.to_owned() }),
        };
        let evidence = evidence.map(str::trim).unwrap_or_default();
        if verdict == Verdict::Fail && evidence.is_empty() {
            return Err(RecordError::EvidenceNeeded);
        }
        let before = self.verdicts.remove(case);
        // Of two verdicts by hand the older one is nobody's any more; what judges found stays.
        let previous = before.and_then(|before| match before.source {
            VerdictSource::Judged => Some(Box::new(before)),
            VerdictSource::Manual => before.previous,
        });
        let manual = CaseVerdict {
            source: VerdictSource::Manual,
            previous,
            ..CaseVerdict::plain(verdict, evidence)
        };
        self.verdicts.insert(case.to_owned(), manual);
        Ok(verdict)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run with these verdicts, all of deterministic cases.
    pub(crate) fn run(id: &str, verdicts: &[(&str, Verdict)]) -> RunRecord {
        let cases = verdicts.iter().map(|(case, _)| RecordedCase {
            case: Case {
                id: (*case).to_owned(),
                feature: "F".into(),
                scenario: format!("scenario {case}"),
                source: format!("features/{case}.feature"),
                steps: Vec::new(),
                tags: Vec::new(),
            },
            binding_kind: Some(BindingKind::Deterministic),
        });
        RunRecord {
            run_id: RunId::parse(id).unwrap(),
            created_at: Timestamp::from_unix_ms(0),
            status: RunStatus::Finished,
            scope: Scope::Store,
            gate: Some(Gate::default()),
            cases: cases.collect(),
            verdicts: verdicts
                .iter()
                .map(|(case, verdict)| ((*case).to_owned(), CaseVerdict::plain(*verdict, "why")))
                .collect(),
            invariant_gate: None,
            via: None,
        }
    }

    // E-H02
    #[test]
    fn a_verdict_by_hand_says_so_and_what_judges_found_is_kept() {
        let mut record = run("r", &[("a", Verdict::Fail)]);
        assert_eq!(record.overrule("a", "pass", Some(" looked at it ")), Ok(Verdict::Pass));
        record.overrule("a", "unjudged", None).unwrap();
        let manual = &record.verdicts["a"];
        assert_eq!((manual.verdict, manual.source), (Verdict::Unjudged, VerdictSource::Manual));
        assert_eq!(manual.previous.as_ref().unwrap().verdict, Verdict::Fail);
    }

    // E-H03
    #[test]
    fn a_verdict_that_cannot_be_taken_changes_nothing() {
        let mut record = run("r", &[("a", Verdict::Pass)]);
        let before = record.clone();
        for (case, word, evidence, expected) in [
            ("b", "pass", None, "is not part of run"),
            ("a", "maybe", None, "Invalid verdict"),
            ("a", "fail", Some("  "), "requires --evidence"),
            ("a", "skipped", None, "Invalid verdict"),
        ] {
            let error = record.overrule(case, word, evidence).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(record, before);
    }

    #[test]
    fn a_record_of_another_version_is_read_as_far_as_it_is_known() {
        let text = r#"{"runId":"r","createdAt":"2026-01-01T00:00:00.000Z","scope":{"kind":"store"},"new":1,
          "cases":[{"id":"a","feature":"F","scenario":"S","source":"s","steps":[],"bindingKind":null,"more":2}],
          "verdicts":{"a":{"verdict":"pass","reason":"","source":"judged"}}}"#;
        let record: RunRecord = serde_json::from_str(text).unwrap();
        assert_eq!((record.gate.as_ref(), record.status), (None, RunStatus::Finished));
        assert_eq!(record.verdict("a"), Verdict::Pass);
        assert_eq!(record.verdict("gone"), Verdict::Unjudged);
        let json = serde_json::to_value(&record).unwrap();
        assert_eq!(json["cases"][0]["bindingKind"], serde_json::Value::Null);
        assert!(json.get("via").is_none() && json.get("invariantGate").is_none());
    }
}
