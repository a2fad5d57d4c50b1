//! The projects: their snapshots and their workspaces. A workspace is leased to one session at a time and keeps what is ignored
//! in it, such as the caches of builds, for the next one of the same project.
//!
//! Everything here waits for disks and for git in the calling thread.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ratchet_spawn::SpawnId;
use ratchet_workspace::warm::{Taken, Warm};
use ratchet_workspace::{Base, Pack, SnapshotId, Store, Workspace, WorkspaceError};

use crate::clock;
use crate::error::{WorkerError, disk};
use crate::layout::{Layout, put};
use crate::name::ProjectName;
use crate::order::hex_of;

/// The name under which the last snapshot that came is kept.
const LAST: &str = "last";

/// A disk with less than this is full, in bytes.
const NO_ROOM: u64 = 64 * 1024;

/// How many snapshots are remembered to be whole.
const MOST_SEEN: usize = 4096;

/// How often a project's snapshots are put in order.
const TIDY: Duration = Duration::from_secs(24 * 3600);

/// All of them.
#[derive(Debug)]
pub(crate) struct Projects {
    layout: Layout,
    /// Where git is looked for.
    path: OsString,
    warm: Warm,
    /// What all workspaces that nobody uses may take, in bytes; also the most that one snapshot may bring.
    quota: u64,
    /// How many workspaces a project may have: as many as commands may run.
    most: usize,
    /// Snapshots that are here whole, as far as this process has seen: git need not be asked again.
    whole: Mutex<BTreeSet<(ProjectName, SnapshotId)>>,
}

/// A workspace in use. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    taken: Taken,
    workspace: Workspace,
    name: String,
}

impl Projects {
    pub(crate) fn open(
        layout: &Layout,
        path: OsString,
        quota: u64,
        most: usize,
    ) -> Result<Self, WorkerError> {
        let warm = Warm::open(&layout.workspaces())?;
        let whole = Mutex::default();
        Ok(Self { layout: layout.clone(), path, warm, quota, most, whole })
    }

    /// Says which of some snapshots are here whole.
    pub(crate) fn found(
        &self,
        project: &ProjectName,
        asked: Vec<SnapshotId>,
    ) -> Result<Vec<SnapshotId>, WorkerError> {
        let Some(store) = self.known(project)? else { return Ok(Vec::new()) };
        let here = store.snapshots()?;
        Ok(asked.into_iter().filter(|id| here.contains(id)).collect())
    }

    /// Takes a snapshot in.
    pub(crate) fn receive(
        &self,
        project: &ProjectName,
        id: SnapshotId,
        pack: impl Read,
    ) -> Result<(), WorkerError> {
        self.asked(self.store(project)?.receive(pack, id, LAST, self.quota))?;
        self.saw(project, id);
        Ok(())
    }

    /// Gives what somebody lacks of a snapshot.
    pub(crate) fn pack(
        &self,
        project: &ProjectName,
        id: SnapshotId,
        have: &[SnapshotId],
    ) -> Result<Pack, WorkerError> {
        let store = self.known(project)?.ok_or(WorkspaceError::Unknown { id })?;
        Ok(store.pack(id, have)?)
    }

    /// Leases a workspace of the project and lays the snapshot out in it. Nothing is swept away that is younger than two days,
    /// so there is time to hold it ([`Projects::hold`]).
    pub(crate) fn lease(
        &self,
        project: &ProjectName,
        snapshot: SnapshotId,
    ) -> Result<Lease, WorkerError> {
        let store = self.store(project)?;
        if !self.has_seen(project, snapshot) {
            if !store.has(snapshot)? {
                return Err(WorkspaceError::Unknown { id: snapshot }.into());
            }
            self.saw(project, snapshot);
        }
        let lease = self.free(&store, project)?;
        self.asked(lease.workspace.checkout(snapshot))?;
        Ok(lease)
    }

    /// Keeps the snapshot that a session began with, however long it takes, until [`Projects::let_go`].
    pub(crate) fn hold(
        &self,
        project: &ProjectName,
        snapshot: SnapshotId,
        session: &SpawnId,
    ) -> Result<(), WorkerError> {
        self.asked(self.store(project)?.keep(&base_of(session), snapshot))
    }

    /// Leases the very workspace again that a session had before this process. Nothing in it is touched.
    pub(crate) fn lease_again(
        &self,
        project: &ProjectName,
        name: &str,
    ) -> Result<Option<Lease>, WorkerError> {
        let store = self.store(project)?;
        self.take(&store, name.to_owned())
    }

    /// Keeps what a session left, and gives its name.
    pub(crate) fn result(
        &self,
        lease: &Lease,
        base: SnapshotId,
        session: &SpawnId,
    ) -> Result<SnapshotId, WorkerError> {
        let taken = self.asked(lease.workspace.snapshot(Base::Snapshot(base)))?;
        self.asked(lease.workspace.store().keep(&result_of(session), taken.id))?;
        Ok(taken.id)
    }

    /// Lets go of what a session began with and of what it left; a workspace's last snapshot stays.
    pub(crate) fn let_go(
        &self,
        project: &ProjectName,
        session: &SpawnId,
    ) -> Result<(), WorkerError> {
        let Some(store) = self.known(project)? else { return Ok(()) };
        store.let_go(&base_of(session))?;
        store.let_go(&result_of(session))?;
        Ok(())
    }

    /// Removes workspaces that take too much room, and, once a day, puts the snapshots of a project in order. It may take long.
    pub(crate) fn tidy(&self, project: &ProjectName) -> Result<(), WorkerError> {
        let removed = self.warm.evict(self.quota)?;
        if !removed.is_empty() {
            tracing::info!(?removed, "workspaces were removed to make room");
        }
        let Some(store) = self.known(project)? else { return Ok(()) };
        let marker = self.layout.tidied(project);
        let last = fs::metadata(&marker).and_then(|meta| meta.modified()).ok();
        let is_due = last
            .is_none_or(|last| clock::now().duration_since(last).is_ok_and(|since| since > TIDY));
        if is_due {
            put(&marker, b"").map_err(disk(&marker))?;
            store.tidy()?;
            self.whole.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        Ok(())
    }

    /// Counts the workspaces of a project.
    pub(crate) fn count(&self, project: &ProjectName) -> usize {
        let is_there =
            |slot: &usize| self.layout.workspaces().join(slot_name(project, *slot)).is_dir();
        (0..=self.most).filter(is_there).count()
    }

    fn saw(&self, project: &ProjectName, id: SnapshotId) {
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if whole.len() >= MOST_SEEN {
            whole.clear();
        }
        whole.insert((project.clone(), id));
    }

    fn has_seen(&self, project: &ProjectName, id: SnapshotId) -> bool {
        let whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        whole.contains(&(project.clone(), id))
    }

    fn free(&self, store: &Store, project: &ProjectName) -> Result<Lease, WorkerError> {
        // One that was used before goes first: it is warm. There are as many as commands may run, so one is free.
        for slot in 0..=self.most {
            if let Some(lease) = self.take(store, slot_name(project, slot))? {
                return Ok(lease);
            }
        }
        Err(WorkerError::Full { running: self.most, most: self.most })
    }

    fn take(&self, store: &Store, name: String) -> Result<Option<Lease>, WorkerError> {
        let Some(taken) = self.warm.take(&name)? else { return Ok(None) };
        let workspace = Workspace::new(store, &name, taken.root())?;
        Ok(Some(Lease { taken, workspace, name }))
    }

    /// Git does not always say why it could not write; that the disk is full is seen here.
    fn asked<T>(&self, answer: Result<T, WorkspaceError>) -> Result<T, WorkerError> {
        answer.map_err(|error| match error {
            WorkspaceError::Git { doing, .. } if self.is_full() => {
                WorkspaceError::Full { doing: format!("git {doing}") }.into()
            }
            other => other.into(),
        })
    }

    fn is_full(&self) -> bool {
        rustix::fs::statvfs(self.layout.root())
            .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) < NO_ROOM)
    }

    fn store(&self, project: &ProjectName) -> Result<Store, WorkerError> {
        Ok(Store::open(&self.layout.project(project), &self.path)?)
    }

    /// Opens the store of a project that was heard of before.
    fn known(&self, project: &ProjectName) -> Result<Option<Store>, WorkerError> {
        if !self.layout.project(project).exists() {
            return Ok(None);
        }
        self.store(project).map(Some)
    }
}

impl Lease {
    pub(crate) fn root(&self) -> &Path {
        self.taken.root()
    }

    /// Gives the name by which it is leased again.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn slot_name(project: &ProjectName, slot: usize) -> String {
    format!("{project}.{slot}")
}

fn base_of(session: &SpawnId) -> String {
    format!("base-{}", word_of(session))
}

fn result_of(session: &SpawnId) -> String {
    format!("result-{}", word_of(session))
}

/// An id may be longer, and end otherwise, than what a snapshot can be kept under.
fn word_of(session: &SpawnId) -> String {
    hex_of(session.as_str().as_bytes())
}
