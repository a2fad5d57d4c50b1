//! One attempt: an agent was asked for a fault, and this is what came of it. Pure.

use serde::{Deserialize, Serialize};

use crate::call::{Ended, Ran};

/// What an attempt came to. Only a mutant counts; the other rows say why there was none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// The tests noticed the fault.
    Killed {
        /// How.
        cause: Cause,
    },
    /// The tests passed over the fault.
    Survived,
    /// The agent changed nothing.
    NoChange,
    /// What was changed is no fault in the project's own code.
    OutOfScope {
        /// Why not.
        reason: String,
    },
    /// The same fault was planted before.
    Duplicate {
        /// By this attempt.
        of: u32,
    },
    /// The agent committed, switched branches or rewrote the repository: what it left cannot be told from what it found.
    Voided {
        /// What it did.
        reason: String,
    },
}

/// How an oracle that did not pass ended. Whatever is not exit 0 has noticed the fault (seed, step 5); what it was like is
/// reported beside it, because a suite that cannot even start has noticed less than one that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Cause {
    /// It failed.
    Failed {
        /// Its exit code.
        code: i32,
    },
    /// It took too long, by one of its limits.
    Timeout {
        /// Which: `start`, `idle` or `wall`.
        limit: String,
        /// The limit, in milliseconds.
        after_ms: u64,
    },
    /// The kernel ended it for lack of memory.
    OutOfMemory,
    /// It printed more than it may.
    OutputLimit {
        /// The limit, in bytes.
        bytes: u64,
    },
    /// The shell could not run what it names: 126 not executable, 127 not found.
    CannotRun {
        /// Its exit code.
        code: i32,
    },
    /// It died by a signal.
    Signal {
        /// The signal's number.
        signal: i32,
    },
}

/// One attempt, judged: what is kept of it on disk and in reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Its number, from 0. It is never renumbered.
    pub index: u32,
    /// What it came to.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The files that differ, as `src/lib.rs`.
    pub files: Vec<String>,
    /// The first changed line of the first file, from 1; 0 if there is none.
    pub line: u32,
    /// What somebody who reads the verdict should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What identifies the fault, wherever its lines stand; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// How long the agent took, in milliseconds.
    pub agent_ms: u64,
    /// How long the oracle took, in milliseconds; 0 if it did not run.
    pub oracle_ms: u64,
    /// What the harness itself took, in milliseconds.
    pub overhead_ms: u64,
    /// The file with the diff, from the project's root; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_path: Option<String>,
    /// The file with the oracle's output, from the project's root; absent if it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_path: Option<String>,
    /// The first 500 characters of the diff.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub excerpt: String,
}

#[cfg(test)]
impl Attempt {
    /// An attempt of which nothing is known but what it came to.
    pub(crate) fn bare(index: u32, verdict: Verdict) -> Self {
        Self {
            index,
            verdict,
            files: Vec::new(),
            line: 0,
            notes: Vec::new(),
            fingerprint: String::new(),
            agent_ms: 0,
            oracle_ms: 0,
            overhead_ms: 0,
            diff_path: None,
            log_path: None,
            excerpt: String::new(),
        }
    }
}

impl Verdict {
    /// Judges an oracle's end on a planted fault.
    #[must_use]
    pub fn of_oracle(ran: &Ran) -> Self {
        match &ran.ended {
            Ended::Exited { code: 0 } => Self::Survived,
            other => Self::Killed { cause: cause(other) },
        }
    }

    /// Whether the oracle judged a fault.
    #[must_use]
    pub fn is_mutant(&self) -> bool {
        matches!(self, Self::Killed { .. } | Self::Survived)
    }

    /// Names the verdict as reports do.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Killed { .. } => "killed",
            Self::Survived => "survived",
            Self::NoChange => "no-change",
            Self::OutOfScope { .. } => "out-of-scope",
            Self::Duplicate { .. } => "duplicate",
            Self::Voided { .. } => "voided",
        }
    }
}

fn cause(ended: &Ended) -> Cause {
    match ended {
        Ended::Exited { code: code @ (126 | 127) } => Cause::CannotRun { code: *code },
        Ended::Exited { code } => Cause::Failed { code: *code },
        Ended::Signaled { signal } => Cause::Signal { signal: *signal },
        Ended::TimedOut { limit, after_ms } => {
            Cause::Timeout { limit: limit.clone(), after_ms: *after_ms }
        }
        Ended::OutOfMemory => Cause::OutOfMemory,
        Ended::OutputLimit { bytes } => Cause::OutputLimit { bytes: *bytes },
    }
}

impl Cause {
    /// Says it in a few words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Failed { code } => format!("exit {code}"),
            Self::Timeout { limit, after_ms } => format!("timeout ({limit}, {after_ms} ms)"),
            Self::OutOfMemory => "out of memory".to_owned(),
            Self::OutputLimit { bytes } => format!("more than {bytes} bytes of output"),
            Self::CannotRun { code } => format!("oracle error, exit {code}"),
            Self::Signal { signal } => format!("oracle error, signal {signal}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ended: Ended) -> Verdict {
        Verdict::of_oracle(&Ran { ended, ..Ran::default() })
    }

    // E-A01 E-A02
    #[test]
    fn exit_zero_is_a_survivor_and_everything_else_has_noticed_the_fault() {
        assert_eq!(judged(Ended::Exited { code: 0 }), Verdict::Survived);
        assert_eq!(
            judged(Ended::Exited { code: 1 }),
            Verdict::Killed { cause: Cause::Failed { code: 1 } }
        );
    }

    #[test]
    fn how_an_oracle_ended_is_told_beside_the_kill() {
        let words = |ended| match judged(ended) {
            Verdict::Killed { cause } => cause.words(),
            other => panic!("{other:?}"),
        };
        assert_eq!(words(Ended::Exited { code: 127 }), "oracle error, exit 127");
        assert_eq!(words(Ended::Exited { code: 126 }), "oracle error, exit 126");
        assert_eq!(words(Ended::Signaled { signal: 9 }), "oracle error, signal 9");
        let wall = Ended::TimedOut { limit: "wall".into(), after_ms: 20_000 };
        assert_eq!(words(wall), "timeout (wall, 20000 ms)");
        assert_eq!(words(Ended::OutOfMemory), "out of memory");
        assert_eq!(words(Ended::OutputLimit { bytes: 9 }), "more than 9 bytes of output");
    }
}
