//! What an evaluation stands on: the project, a scratch room, the spawner of everything it starts, and who knows how an
//! agent is called.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use ratchet_spawn::SpawnId;

use crate::call::{Agents, CannotRun, Errand, Ran};
use crate::git::Git;
use crate::place::Place;
use crate::run_id::RunId;
use crate::scratch::{Scratch, ScratchError};
use crate::shim::{Bash, Job, Spawner, Variables};

/// Knows how agents are called. It starts none.
pub trait Staff: Sync {
    /// Says how an agent is called for an errand.
    ///
    /// # Errors
    /// Why it cannot be, for a person.
    fn job(&self, errand: &Errand<'_>, spawn: &SpawnId) -> Result<Job, String>;

    /// Gives the words of an agent's last answer out of everything that it printed.
    fn answer(&self, stdout: &[u8]) -> String;

    /// Whether something stands in for the agent.
    fn is_overridden(&self) -> bool;
}

/// What an evaluation stands on.
pub struct Ground<'a> {
    /// The project's folders.
    pub place: Place,
    /// How git is asked.
    pub git: Git,
    /// The room for copies.
    pub scratch: Scratch,
    /// Starts everything.
    pub spawner: Arc<Spawner>,
    /// The user's environment.
    pub variables: Variables,
    /// Who knows the agents.
    pub staff: &'a dyn Staff,
}

/// The environment's values may be secret.
impl std::fmt::Debug for Ground<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ground").field("place", &self.place).finish_non_exhaustive()
    }
}

impl<'a> Ground<'a> {
    /// Makes the room. `scratch` is the folder for rooms, which are removed in the end; `shim` is what starts a shim.
    ///
    /// # Errors
    /// The disk's.
    pub fn new(
        root: &Path,
        run: &RunId,
        scratch: &Path,
        shim: Vec<OsString>,
        variables: Variables,
        staff: &'a dyn Staff,
    ) -> Result<Self, ScratchError> {
        let scratch = Scratch::new(scratch, run.as_str())?;
        let prefix = format!("eval-{run}");
        let spawner = Arc::new(Spawner::new(scratch.spawns(), shim, prefix));
        let git = Git::new(&variables);
        Ok(Self { place: Place::new(root), git, scratch, spawner, variables, staff })
    }

    /// Gives the shell for the project's commands.
    #[must_use]
    pub fn bash(&self) -> Bash<'_> {
        Bash::new(&self.spawner, &self.variables)
    }
}

impl Agents for Ground<'_> {
    fn ask(&self, errand: &Errand<'_>) -> Result<Ran, CannotRun> {
        let id = self.spawner.next_id()?;
        let job = self.staff.job(errand, &id).map_err(CannotRun::Failed)?;
        self.spawner.run(id, job)
    }
}
