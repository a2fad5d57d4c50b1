//! What can be done next to a change, and what kind of step does it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One forced move of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transition {
    /// Author the change's features and plan.
    Propose,
    /// Carry out the plan's tasks.
    Apply,
    /// Check the result against the plan and say so.
    Verify,
}

/// What one step does: a transition of a change, the decomposition of a phase, or opening a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// See [`Transition::Propose`].
    Propose,
    /// See [`Transition::Apply`].
    Apply,
    /// See [`Transition::Verify`].
    Verify,
    /// Author a phase's changes into the manifest.
    Decompose,
    /// Open one pull request.
    Pr,
}

impl Transition {
    /// Returns the word used in files, JSON and commands.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        StepKind::from(self).as_str()
    }
}

impl StepKind {
    /// Every kind, in the order in which a batch meets them.
    pub const ALL: [Self; 5] =
        [Self::Propose, Self::Apply, Self::Verify, Self::Pr, Self::Decompose];

    /// Returns the word used in files, JSON and commands.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Apply => "apply",
            Self::Verify => "verify",
            Self::Decompose => "decompose",
            Self::Pr => "pr",
        }
    }

    /// Returns the transition of a change that this kind is, if it is one.
    #[must_use]
    pub fn transition(self) -> Option<Transition> {
        match self {
            Self::Propose => Some(Transition::Propose),
            Self::Apply => Some(Transition::Apply),
            Self::Verify => Some(Transition::Verify),
            Self::Decompose | Self::Pr => None,
        }
    }
}

impl From<Transition> for StepKind {
    fn from(transition: Transition) -> Self {
        match transition {
            Transition::Propose => Self::Propose,
            Transition::Apply => Self::Apply,
            Transition::Verify => Self::Verify,
        }
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
