//! `outcomes.json`: a run of the harness for programs, with a version (docs/schemas).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Mutation;
use super::attempt::{Attempt, Verdict};

/// The version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// A run of the harness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcomes {
    /// The version of the format: [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The run.
    pub run_id: String,
    /// The invariant.
    pub invariant: String,
    /// The oracle.
    pub test: String,
    /// Attempts at most.
    pub budget: u32,
    /// Mutants needed.
    pub threshold: u32,
    /// What identifies the definition.
    pub digest: String,
    /// The commit that the faults were planted on.
    pub commit: String,
    /// What is known of the oracle without a fault.
    pub baseline: Baseline,
    /// The counts.
    pub totals: Totals,
    /// Every attempt in order.
    pub attempts: Vec<Attempt>,
    /// What the person who reads it should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The oracle without a fault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Baseline {
    /// How often it ran.
    pub runs: u32,
    /// The longest, in milliseconds.
    pub slowest_ms: u64,
    /// The limit that followed from it, in milliseconds.
    pub wall_limit_ms: u64,
}

/// How many attempts came to what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Attempts.
    pub attempts: u32,
    /// Faults that the oracle judged.
    pub mutants: u32,
    /// Killed, those of the next member among them.
    pub killed: u32,
    /// Killed by something else than a failing test, by its kind: `timeout`, `out-of-memory`, `cannot-run`, `signal` …
    pub killed_otherwise: BTreeMap<String, u32>,
    /// Survived.
    pub survived: u32,
    /// Attempts without a mutant, by their verdict.
    pub without_mutant: BTreeMap<String, u32>,
}

impl Outcomes {
    /// Gathers a run.
    #[must_use]
    pub fn of(mutation: &Mutation, run_id: &str, attempts: Vec<Attempt>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            run_id: run_id.to_owned(),
            invariant: mutation.id.clone(),
            test: mutation.test.clone(),
            budget: mutation.budget,
            threshold: mutation.threshold,
            digest: mutation.digest(),
            commit: String::new(),
            baseline: Baseline::default(),
            totals: Totals::of(&attempts),
            attempts,
            warnings: Vec::new(),
        }
    }
}

impl Totals {
    /// Counts.
    #[must_use]
    pub fn of(attempts: &[Attempt]) -> Self {
        use super::attempt::Cause;
        let mut totals = Self::default();
        for attempt in attempts {
            totals.attempts += 1;
            match &attempt.verdict {
                Verdict::Killed { cause } => {
                    totals.mutants += 1;
                    totals.killed += 1;
                    let kind = match cause {
                        Cause::Failed { .. } => None,
                        Cause::Timeout { .. } => Some("timeout"),
                        Cause::OutOfMemory => Some("out-of-memory"),
                        Cause::OutputLimit { .. } => Some("output-limit"),
                        Cause::CannotRun { .. } => Some("cannot-run"),
                        Cause::Signal { .. } => Some("signal"),
                    };
                    if let Some(kind) = kind {
                        *totals.killed_otherwise.entry(kind.to_owned()).or_default() += 1;
                    }
                }
                Verdict::Survived => {
                    totals.mutants += 1;
                    totals.survived += 1;
                }
                other => {
                    *totals.without_mutant.entry(other.word().to_owned()).or_default() += 1;
                }
            }
        }
        totals
    }

    /// Says it in one line, in a fixed order.
    #[must_use]
    pub fn words(&self) -> String {
        let mut text = format!(
            "{} attempt(s): {} killed, {} survived",
            self.attempts, self.killed, self.survived
        );
        for (kind, count) in &self.without_mutant {
            text.push_str(&format!(", {count} {kind}"));
        }
        if !self.killed_otherwise.is_empty() {
            let told: Vec<String> = self
                .killed_otherwise
                .iter()
                .map(|(kind, count)| format!("{count} by {kind}"))
                .collect();
            text.push_str(&format!(" (of the killed: {})", told.join(", ")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::attempt::Cause;
    use super::*;

    #[test]
    fn finer_verdicts_are_counted_beside_killed_and_survived() {
        let wall = Cause::Timeout { limit: "wall".into(), after_ms: 1 };
        let totals = Totals::of(&[
            Attempt::bare(0, Verdict::Killed { cause: Cause::Failed { code: 1 } }),
            Attempt::bare(1, Verdict::Killed { cause: wall }),
            Attempt::bare(2, Verdict::Survived),
            Attempt::bare(3, Verdict::NoChange),
            Attempt::bare(4, Verdict::Duplicate { of: 0 }),
            Attempt::bare(5, Verdict::OutOfScope { reason: "x".into() }),
        ]);
        assert_eq!(
            totals.words(),
            "6 attempt(s): 2 killed, 1 survived, 1 duplicate, 1 no-change, 1 out-of-scope \
             (of the killed: 1 by timeout)"
        );
    }
}
