//! Ends what a dead shim could not end any more.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::cgroup::Leaf;
use crate::directory::SpawnDir;
use crate::hunt::hunt;
use crate::id::SpawnId;
use crate::process::pid_namespace;
use crate::quarry::{Quarry, Seeker};
use crate::record::Stray;
use crate::standing::{Lost, Standing, probe, started};
use crate::wait::wait_for_any;

/// How long strays may take to go when asked.
const PATIENCE: Duration = Duration::from_millis(500);

/// Ends every process that a spawn with a dead shim has left, and gives them with their fates; blocks for at most
/// three seconds. Does nothing to any other spawn: a living shim does this by itself.
///
/// # Errors
/// The disk's. A process that cannot be ended is no error but [`crate::Fate::Left`].
pub fn end_strays(dir: &SpawnDir) -> io::Result<Vec<Stray>> {
    if probe(dir)? != Standing::Lost(Lost::ShimDied) {
        return Ok(Vec::new());
    }
    let Some(started) = started(dir) else { return Ok(Vec::new()) };
    let cgroup = started.cgroup.map(Leaf::at);
    // The numbers of a container's processes mean nothing outside.
    let numbers_hold = started.pid_namespace == pid_namespace()?;
    let quarry = Quarry {
        id: dir.id(),
        seeker: Seeker::Other,
        agent: started.agent.filter(|_| numbers_hold),
        cgroup: cgroup.as_ref(),
        since: started.shim.start_time,
    };
    let mut wait = |ending: &[&OwnedFd], until: Instant| wait_for_any(ending, until);
    let strays = hunt(&quarry, Instant::now() + PATIENCE, &mut wait)?;
    if let Some(cgroup) = &cgroup {
        cgroup.remove();
    }
    Ok(strays)
}

/// Ends every process that carries the mark of a spawn whose folder is gone, and says which they were. A shim that still
/// lives carries no mark: it notices that its agent is gone and records the end.
///
/// # Errors
/// The kernel's, when processes cannot be looked for.
pub fn end_marked(id: &SpawnId) -> io::Result<Vec<Stray>> {
    let quarry = Quarry { id, seeker: Seeker::Other, agent: None, cgroup: None, since: 0 };
    let mut wait = |ending: &[&OwnedFd], until: Instant| wait_for_any(ending, until);
    hunt(&quarry, Instant::now() + PATIENCE, &mut wait)
}
