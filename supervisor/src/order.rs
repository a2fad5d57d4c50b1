//! An order: everything one spawn needs, decided before anything is touched.

use ratchet_engine::proof::Matcher;

use crate::agent::Agent;
use crate::agent::stream::StreamFormat;
use crate::event::{Notice, Running};
use crate::runtime::Command;
use crate::store::inflight::{Inflight, StepTask, Task};

/// One spawn to be.
#[derive(Debug)]
pub(crate) struct Order {
    /// What goes on disk first.
    pub(crate) inflight: Inflight,
    /// What is to run.
    pub(crate) command: Command,
    /// What a person should know beforehand.
    pub(crate) notices: Vec<Notice>,
}

/// What a spawn runs and how it is read, as the intent has it: also for a spawn of an earlier call.
impl Inflight {
    /// Says what callers are told.
    #[must_use]
    pub fn running(&self) -> Running {
        match &self.task {
            Task::Step(task) => Running::Agent {
                kind: task.subject.kind,
                agent: task.via.is_none().then(|| task.agent.clone()),
            },
            Task::Proof(_) => Running::Proof,
        }
    }

    /// Says how its output is read: plainly, unless it is an agent's own.
    pub(crate) fn format(&self) -> StreamFormat {
        match &self.task {
            Task::Step(StepTask { via: None, agent, .. }) => {
                Agent::find(agent).map_or(StreamFormat::Raw, Agent::format)
            }
            Task::Step(_) | Task::Proof(_) => StreamFormat::Raw,
        }
    }

    /// Gives what looks for a proof's pass condition in the output.
    pub(crate) fn matcher(&self) -> Option<Matcher> {
        match &self.task {
            Task::Step(_) => None,
            Task::Proof(task) => Some(Matcher::new(&task.proving.proof.pass)),
        }
    }
}
