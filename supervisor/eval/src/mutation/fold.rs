//! Attempts become an invariant's outcome: one survivor fails it, too few mutants decide nothing (spec
//! `mutation-harness` 7). Pure; first matching row wins.

use super::Mutation;
use super::attempt::{Attempt, Verdict};
use crate::invariant::{Artifact, InvariantOutcome, Status};

/// What the harness came to. Deliberately no invariant outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HarnessOutcome {
    /// The tree was not one to begin with. Nothing was started.
    UnusableWorkingTree {
        /// Why.
        reason: String,
    },
    /// The oracle fails, or disagrees with itself, without any fault. No agent was started.
    OracleNotGreen {
        /// The command and how it ended.
        reason: String,
    },
    /// All attempts were made.
    Completed {
        /// Every attempt in order, those without a mutant too.
        attempts: Vec<Attempt>,
    },
}

/// Whether a folded outcome is kept, so that the same run answers from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It is.
    Yes,
    /// A later evaluation may try again.
    No,
}

/// Folds what the harness came to; `Err` is a harness that could not run.
#[must_use]
pub fn fold(
    mutation: &Mutation,
    result: &Result<HarnessOutcome, String>,
) -> (InvariantOutcome, Keep) {
    let base = format!(
        "mutation: {} (budget {}, threshold {})",
        mutation.test, mutation.budget, mutation.threshold
    );
    let outcome = |status, measure, evidence, artifacts| InvariantOutcome {
        id: mutation.id.clone(),
        kind: "mutation".to_owned(),
        status,
        measure,
        evidence,
        artifacts,
    };
    let undecided =
        |evidence| (outcome(Status::Unevaluable, base.clone(), evidence, None), Keep::No);
    let attempts = match result {
        Err(message) => return undecided(format!("mutation harness could not run: {message}")),
        Ok(HarnessOutcome::UnusableWorkingTree { reason }) => {
            return undecided(format!("working tree was not usable: {reason}"));
        }
        Ok(HarnessOutcome::OracleNotGreen { reason }) => {
            return undecided(format!(
                "the oracle is not green without any fault, so every kill would be vacuous: {reason}"
            ));
        }
        Ok(HarnessOutcome::Completed { attempts }) => attempts,
    };
    let mutants: Vec<&Attempt> =
        attempts.iter().filter(|attempt| attempt.verdict.is_mutant()).collect();
    let survivors: Vec<&&Attempt> =
        mutants.iter().filter(|attempt| attempt.verdict == Verdict::Survived).collect();
    let (n, s) = (mutants.len(), survivors.len());
    let full = format!("{base} — {n} evaluated, {s} survived");
    let artifacts = (n > 0).then(|| mutants.iter().map(|mutant| artifact(mutant)).collect());
    if let Some(first) = survivors.first() {
        let evidence = format!(
            "{s} of {n} evaluated mutant(s) survived; first: attempt #{}\n{}",
            first.index, first.excerpt
        );
        return (outcome(Status::Fail, full, evidence, artifacts), Keep::Yes);
    }
    if n < usize::try_from(mutation.threshold).unwrap_or(usize::MAX) {
        let evidence = format!(
            "only {n} of {} required mutants were evaluated (budget {}){}",
            mutation.threshold,
            mutation.budget,
            why_fewer(attempts)
        );
        let keep = if n > 0 { Keep::Yes } else { Keep::No };
        return (outcome(Status::Unevaluable, full, evidence, artifacts), keep);
    }
    let evidence = format!("all {n} evaluated mutant(s) were killed");
    (outcome(Status::Pass, full, evidence, artifacts), Keep::Yes)
}

fn artifact(attempt: &Attempt) -> Artifact {
    Artifact {
        index: attempt.index,
        outcome: attempt.verdict.word().to_owned(),
        diff_path: attempt.diff_path.clone().unwrap_or_default(),
        test_output_path: attempt.log_path.clone().unwrap_or_default(),
    }
}

/// Says what became of the attempts that gave no mutant.
fn why_fewer(attempts: &[Attempt]) -> String {
    let told: Vec<String> = attempts
        .iter()
        .filter(|attempt| !attempt.verdict.is_mutant())
        .map(|attempt| {
            let why = match &attempt.verdict {
                Verdict::OutOfScope { reason } | Verdict::Voided { reason } => {
                    format!(" ({reason})")
                }
                Verdict::Duplicate { of } => format!(" (of #{of})"),
                Verdict::Killed { .. } | Verdict::Survived | Verdict::NoChange => {
                    attempt.notes.first().map(|note| format!(" ({note})")).unwrap_or_default()
                }
            };
            format!("#{} {}{why}", attempt.index, attempt.verdict.word())
        })
        .collect();
    if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::super::attempt::Cause;
    use super::*;

    fn attempt(index: u32, verdict: Verdict) -> Attempt {
        let mutant = verdict.is_mutant();
        Attempt {
            files: vec!["src/a.rs".into()],
            line: 3,
            agent_ms: 1,
            oracle_ms: 1,
            overhead_ms: 1,
            diff_path: mutant.then(|| format!("runs/r/mutant-{index}.diff")),
            log_path: mutant.then(|| format!("runs/r/mutant-{index}.log")),
            excerpt: "-a < b\n+a <= b".into(),
            ..Attempt::bare(index, verdict)
        }
    }

    fn killed(index: u32) -> Attempt {
        attempt(index, Verdict::Killed { cause: Cause::Failed { code: 1 } })
    }

    fn folded(attempts: Vec<Attempt>) -> (InvariantOutcome, Keep) {
        let mutation =
            Mutation { id: "m".into(), test: "make test".into(), budget: 3, threshold: 3 };
        fold(&mutation, &Ok(HarnessOutcome::Completed { attempts }))
    }

    fn undecided(result: Result<HarnessOutcome, String>) -> InvariantOutcome {
        let mutation =
            Mutation { id: "m".into(), test: "make test".into(), budget: 3, threshold: 2 };
        let (outcome, keep) = fold(&mutation, &result);
        assert_eq!((outcome.status, keep), (Status::Unevaluable, Keep::No));
        assert_eq!(outcome.measure, "mutation: make test (budget 3, threshold 2)");
        assert_eq!(outcome.artifacts, None);
        outcome
    }

    // E-B01
    #[test]
    fn enough_killed_mutants_pass_and_the_evidence_says_how_many() {
        let (outcome, keep) = folded(vec![killed(0), killed(1), killed(2)]);
        assert_eq!((outcome.status, keep), (Status::Pass, Keep::Yes));
        assert!(outcome.evidence.contains("all 3 evaluated mutant(s) were killed"));
        assert!(outcome.measure.ends_with("— 3 evaluated, 0 survived"), "{}", outcome.measure);
    }

    // E-B03 E-B10
    #[test]
    fn one_survivor_fails_whatever_else_was_killed_and_all_mutants_are_kept() {
        let (outcome, _) = folded(vec![attempt(0, Verdict::Survived), killed(1), killed(2)]);
        assert_eq!(outcome.status, Status::Fail);
        assert!(outcome.is_violation());
        for part in ["1 of 3 evaluated mutant(s) survived", "attempt #0", "+a <= b"] {
            assert!(outcome.evidence.contains(part), "{}", outcome.evidence);
        }
        assert_eq!(outcome.artifacts.unwrap().len(), 3);
    }

    #[test]
    fn a_survivor_beats_a_threshold_that_was_not_reached() {
        let (outcome, _) = folded(vec![attempt(0, Verdict::Survived)]);
        assert_eq!(outcome.status, Status::Fail);
    }

    // E-B04
    #[test]
    fn too_few_mutants_decide_nothing_and_the_evidence_says_what_became_of_the_others() {
        let (outcome, keep) = folded(vec![killed(0), attempt(1, Verdict::NoChange), killed(2)]);
        assert_eq!((outcome.status, keep), (Status::Unevaluable, Keep::Yes));
        assert!(outcome.is_violation());
        assert!(outcome.evidence.contains("only 2 of 3 required mutants"));
        assert!(outcome.evidence.contains("#1 no-change"), "{}", outcome.evidence);
        assert_eq!(outcome.artifacts.unwrap().len(), 2);
    }

    #[test]
    fn nothing_planted_leaves_nothing_to_remember() {
        let (outcome, keep) = folded(vec![attempt(0, Verdict::NoChange)]);
        assert_eq!((outcome.artifacts, keep), (None, Keep::No));
    }

    // E-B05
    #[test]
    fn an_unusable_tree_decides_nothing() {
        let reason = "uncommitted changes".to_owned();
        let outcome = undecided(Ok(HarnessOutcome::UnusableWorkingTree { reason }));
        assert!(outcome.evidence.contains("working tree was not usable: uncommitted changes"));
    }

    // E-B06
    #[test]
    fn a_harness_that_could_not_run_never_speaks_of_kills() {
        let outcome = undecided(Err("no bash".into()));
        assert!(outcome.evidence.contains("mutation harness could not run: no bash"));
        assert!(!outcome.evidence.contains("killed") && !outcome.evidence.contains("survived"));
    }

    // E-B07
    #[test]
    fn a_red_oracle_decides_nothing() {
        let reason = "`make test` gave exit 2".to_owned();
        let outcome = undecided(Ok(HarnessOutcome::OracleNotGreen { reason }));
        assert!(outcome.evidence.contains("not green") && outcome.evidence.contains("vacuous"));
        assert!(outcome.evidence.contains("exit 2") && outcome.is_violation());
    }
}
