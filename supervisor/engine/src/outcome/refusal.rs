//! Steps that are refused before anything is spawned. They are blocked and can be resumed; nothing is journaled
//! (spec `step-and-outcome` 3).

use thiserror::Error;

use super::{Cause, StepResult, StepState};
use crate::decide::Step;
use crate::name::AgentName;
use crate::time::Timestamp;

/// Says why a step was not started, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The spec names an agent that nobody knows.
    #[error("Unknown agent adapter '{agent}'. Available adapters: {}.", available.join(", "))]
    UnknownAgent {
        /// The agent part of the spec.
        agent: AgentName,
        /// The agents that exist, sorted.
        available: Vec<String>,
    },
    /// The agent's command file is missing and could not be written.
    #[error(
        "Cannot write the command file '{path}' that {token} needs: {why}. The agent was not \
         started; make the path writable and run the step again."
    )]
    CommandFile {
        /// The file.
        path: String,
        /// How the agent calls the command.
        token: String,
        /// The system's reason.
        why: String,
    },
    /// The settings name no worker that may be asked.
    #[error(
        "Cannot run the command {token} at locus 'remote': {why}. The agent was not started; mend the settings, or set locus \
         to local or docker."
    )]
    NoWorker {
        /// How the agent calls the command.
        token: String,
        /// What is missing or not safe.
        why: String,
    },
    /// The agent's usage limit was reached before and has not reset.
    #[error(
        "{agent}: limit reached, resets at {until}. The agent was not started; wait until then (`ratchet batch run` does), \
         or add --ignore-limit to try at once."
    )]
    LimitReached {
        /// The agent.
        agent: AgentName,
        /// When it resets.
        until: Timestamp,
    },
    /// The override is set and the project asks for its flag.
    #[error(
        "RATCHET_BATCH_AGENT_CMD is set, and this project runs it only with --allow-agent-override. \
         The agent was not started; add the flag or unset the variable."
    )]
    OverrideNotAllowed,
    /// The place where the agent would run cannot be used.
    #[error("{why}")]
    Runtime {
        /// What is missing or wrong, and what to do about it.
        why: String,
    },
}

impl Refusal {
    /// Gives the result of a step that is refused for this reason.
    #[must_use]
    pub fn result(&self, step: &Step) -> StepResult {
        let text = self.to_string();
        let mut result = StepResult::new(StepState::Blocked, step.key.clone(), step.kind());
        result.blocker = Some(text.clone());
        result.message = Some(text);
        if let Self::LimitReached { until, .. } = self {
            result.cause = Some(Cause::Quota);
            result.retry_at = Some(*until);
        }
        result
    }
}

#[cfg(test)]
mod tests;
