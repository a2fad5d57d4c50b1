//! What an agent reports on a worker, taken over into the real journal: once, and in the order in which it was said.

use ratchet_engine::name::{BatchName, ChangeName, StepKey};
use ratchet_proto::runtime::v1 as wire;

use super::Failure;
use crate::environment::Environment;
use crate::error::Error;
use crate::project::Project;
use crate::project::report::Told;
use crate::runtime::remote::errand::{Errand, Home};
use crate::store::layout::RunHome;

/// Takes reports over.
pub(super) struct Relay {
    project: Project,
    home: RunHome,
    /// Whose step it is; none for a proof-of-work.
    key: Option<StepKey>,
    spawn: String,
    /// The number of the last one that was taken over by this process.
    taken: u64,
}

impl Relay {
    pub(super) fn of(
        errand: &Errand,
        environment: &Environment,
        spawn: &str,
    ) -> Result<Self, Failure> {
        // The mark of a spawn is not ours: what is taken over here was said there.
        let project = Project::at(&errand.root, environment.clone())?;
        let home = match &errand.home {
            Home::Batch(name) => RunHome::Batch(BatchName::parse(name)?),
            Home::Change(name) => RunHome::Change(ChangeName::parse(name)?),
        };
        let key = errand.key.as_deref().map(StepKey::from_text);
        Ok(Self { project, home, key, spawn: spawn.to_owned(), taken: 0 })
    }

    /// Says up to which number everything is in the journal, as far as this process knows.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Says that what the step left is not here, so that nothing that its agent said of it counts.
    pub(super) fn block(&self, why: &str) -> Result<(), Error> {
        let Some(key) = &self.key else { return Ok(()) };
        self.project.block(&self.home, key, why, &format!("{}/result", self.spawn))
    }

    /// Takes one over. One that was taken over before is passed over.
    pub(super) fn take_over(&mut self, entry: &wire::Entry) -> Result<(), Error> {
        if entry.sequence <= self.taken {
            return Ok(());
        }
        // The first that this process sees may be the last of one that was killed; what comes after a new one is new.
        let told = if self.taken == 0 { Told::PerhapsBefore } else { Told::ForTheFirstTime };
        let name = format!("{}/{}", self.spawn, entry.sequence);
        let recorded = self.project.relay(&self.home, &entry.line, &name, told)?;
        if recorded == crate::store::journal::Recorded::Now || told == Told::ForTheFirstTime {
            self.taken = entry.sequence;
        }
        Ok(())
    }
}
