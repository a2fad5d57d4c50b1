//! Ends what a dead shim could not end any more.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::cgroup::Leaf;
use crate::directory::SpawnDir;
use crate::hunt::hunt;
use crate::id::SpawnId;
use crate::process::{boot_id, pid_namespace};
use crate::quarry::{Quarry, Seeker};
use crate::record::Stray;
use crate::standing::{Lost, ProcessName, Standing, probe, started};
use crate::wait::wait_for_any;

/// How long strays may take to go when asked.
const PATIENCE: Duration = Duration::from_millis(500);

/// Ends every process that a lost spawn has left, and gives them with their fates; blocks for at most three seconds.
/// They are found by whatever is known of the spawn, and always by its mark. Does nothing to a spawn that is not lost: a
/// living shim does this by itself. After a restart of the machine nothing can be left.
///
/// # Errors
/// The disk's. A process that cannot be ended is no error but [`crate::Fate::Left`].
pub fn end_strays(dir: &SpawnDir) -> io::Result<Vec<Stray>> {
    match probe(dir)? {
        Standing::Lost(Lost::ShimDied | Lost::Damaged) => {}
        Standing::Lost(Lost::MachineRestarted)
        | Standing::NeverStarted
        | Standing::Abandoned
        | Standing::Running(_)
        | Standing::Ended(_) => return Ok(Vec::new()),
    }
    let boot = boot_id()?;
    let known = started(dir).filter(|started| started.boot_id == boot);
    // The numbers of a container's processes mean nothing outside.
    let own_namespace = pid_namespace()?;
    let agent = known
        .as_ref()
        .filter(|started| started.pid_namespace == own_namespace)
        .and_then(|started| started.agent);
    let cgroup = known.and_then(|started| started.cgroup).and_then(|path| Leaf::at(path, dir.id()));
    let strays = end_all(dir.id(), agent, cgroup.as_ref())?;
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
    end_all(id, None, None)
}

fn end_all(
    id: &SpawnId,
    agent: Option<ProcessName>,
    cgroup: Option<&Leaf>,
) -> io::Result<Vec<Stray>> {
    // What the files say of the time of the start may be wrong; the mark is not.
    let quarry = Quarry { id, seeker: Seeker::Other, agent, cgroup, since: 0 };
    let mut wait = |ending: &[&OwnedFd], until: Instant| wait_for_any(ending, until);
    hunt(&quarry, Instant::now() + PATIENCE, &mut wait)
}
