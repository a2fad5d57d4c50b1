//! Mutants: what an attempt to plant a fault came to, and what all attempts together say about a project's tests
//! (seed `mutation-harness`). Values and decisions; planting is [`crate::harness`]'s, copies are [`crate::scratch`]'s.

pub mod attempt;
mod code;
pub mod fold;
pub mod instructions;
pub mod outcomes;
pub mod scope;
pub mod stryker;

use sha2::{Digest as _, Sha256};

/// A `kind: mutation` invariant as the harness needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    /// Its id, which also names the folder of its evidence.
    pub id: String,
    /// The oracle: the project's own test command, run by `bash -c`.
    pub test: String,
    /// How many attempts are made at most, at least 1.
    pub budget: u32,
    /// How many mutants must be judged for a pass, at least 1.
    pub threshold: u32,
}

impl Mutation {
    /// Says why it can never pass, if it cannot.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        (self.budget < self.threshold).then(|| {
            format!(
                "invariant '{}' can never pass: its budget ({}) is below its threshold ({})",
                self.id, self.budget, self.threshold
            )
        })
    }

    /// Identifies the definition: a remembered outcome counts only for the definition it was found for.
    #[must_use]
    pub fn digest(&self) -> String {
        let text = format!("{}\0{}\0{}", self.test, self.budget, self.threshold);
        hex::encode(Sha256::digest(text))
    }
}
