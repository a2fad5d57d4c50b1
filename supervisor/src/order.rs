//! An order: everything one spawn needs, decided before anything is touched.

use std::collections::BTreeMap;
use std::ffi::OsString;

use ratchet_engine::proof::Matcher;
use ratchet_spawn::Request;

use crate::agent::stream::StreamFormat;
use crate::agent::{Agent, ExtraFile};
use crate::event::{Notice, Running};
use crate::store::inflight::{Inflight, StepTask, Task};

/// The variables a command is started with.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// One spawn to be.
#[derive(Debug)]
pub(crate) struct Order {
    /// What goes on disk first.
    pub(crate) inflight: Inflight,
    /// What the shim is asked.
    pub(crate) request: Request,
    /// The environment of the command; values may be secret.
    pub(crate) variables: Secretive,
    /// Files the command reads, written into the spawn's own directory.
    pub(crate) files: Vec<ExtraFile>,
    /// What a person should know beforehand.
    pub(crate) notices: Vec<Notice>,
}

/// What a spawn runs and how it is read, as the intent has it: also for a spawn of an earlier call.
impl Inflight {
    /// Says what callers are told.
    pub(crate) fn running(&self) -> Running {
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

/// Variables whose values are never shown.
pub(crate) struct Secretive(pub(crate) Variables);

impl std::fmt::Debug for Secretive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
