//! What actors share: how this process is set up, what runs in it, and the project as a caller sees it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ratchet_engine::settings::Locus;
use ratchet_spawn::SpawnId;
use ratchet_spawn::retention::{Keep, sweep};

use crate::actor::board::Board;
use crate::error::Error;
use crate::project::Project;
use crate::room::Room;
use crate::runtime::Places;
use crate::store;
use crate::store::layout::spawns_root;

/// How a supervisor is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// The command that runs the shim; the spawn's directory is added to it.
    pub shim: Vec<OsString>,
    /// The `ratchet` binary, by the path that an agent can call it with when it is not on its `PATH`.
    pub ratchet: PathBuf,
    /// How many commands may run on this machine at a time; the rest wait in line.
    pub local_capacity: NonZeroUsize,
}

/// What all actors of a supervisor share.
#[derive(Debug)]
pub(crate) struct Office {
    pub(crate) options: Arc<Options>,
    pub(crate) board: Arc<Board>,
    /// Room for commands on this machine.
    local: Room,
    /// Room for the mirrors of commands on workers, which have limits of their own.
    remote: Room,
}

/// A project as one caller sees it, and how this process is set up.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) project: Project,
    pub(crate) options: Arc<Options>,
}

impl Office {
    pub(crate) fn new(options: Options) -> Self {
        let local = Room::new(options.local_capacity);
        let remote = Room::new(MOST_MIRRORS);
        Self { options: Arc::new(options), board: Board::new(), local, remote }
    }

    /// Gives the room at a locus. What runs in a container runs on this machine, too.
    pub(crate) fn room(&self, locus: Locus) -> &Room {
        match locus {
            Locus::Local | Locus::Docker => &self.local,
            Locus::Remote => &self.remote,
        }
    }
}

/// How many steps may be on workers at a time: each has a small process here.
const MOST_MIRRORS: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");

/// Spawns are kept for a fortnight, and two gigabytes of them.
const KEPT: Keep =
    Keep { max_age: Some(Duration::from_secs(14 * 24 * 3600)), max_total_bytes: Some(2 << 30) };

/// How often the spawns are looked through.
const SWEEP_EVERY: Duration = Duration::from_secs(3600);

impl House {
    /// Says where commands of this process run.
    pub(crate) fn places(&self) -> Result<Places, Error> {
        let spawns = spawns_root(self.project.environment()).ok_or(Error::NoHome)?;
        Ok(Places {
            spawns,
            shim: self.options.shim.clone(),
            ratchet: self.options.ratchet.clone(),
            environment: self.project.environment().clone(),
        })
    }

    /// Removes the directories of spawns that are over and past keeping; at most once an hour, whoever does it. Nothing
    /// depends on it, so what cannot be removed is only logged.
    pub(crate) fn sweep(&self) {
        let Some(root) = spawns_root(self.project.environment()) else { return };
        let since_1970 = u64::try_from(self.project.now().unix_ms()).unwrap_or_default();
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(since_1970);
        if !store::due::claim(&root, now, SWEEP_EVERY) {
            return;
        }
        match sweep(&root, now, &KEPT, &self.needed()) {
            Ok(swept) => tracing::debug!(removed = swept.removed.len(), "spawns swept"),
            Err(error) => tracing::warn!(%error, "spawns cannot be swept"),
        }
    }

    /// Lists the spawns that an intent still names although its own file is gone.
    fn needed(&self) -> BTreeSet<SpawnId> {
        let steps = self.project.layout().steps();
        let spawns = steps.into_iter().flat_map(store::trace::spawns);
        spawns.filter_map(|spawn| SpawnId::parse(spawn.as_str()).ok()).collect()
    }
}
