//! Ends what a dead shim could not end any more.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::cgroup::Leaf;
use crate::directory::SpawnDir;
use crate::hunt::{Quarry, hunt};
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
    let quarry = Quarry {
        id: dir.id(),
        shim: None,
        agent: started.agent,
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
