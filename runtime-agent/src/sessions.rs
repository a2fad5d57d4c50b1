//! All sessions of the worker: who is known, who may begin, who is forgotten. The table is held only for a look at it, never
//! while something is waited for.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratchet_spawn::SpawnId;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::clock;
use crate::error::{WorkerError, disk};
use crate::house::House;
use crate::layout::{put, remove};
use crate::name::ProjectName;
use crate::order::{Order, Wants};
use crate::session::begin::begin;
use crate::session::live::{Live, live};
use crate::session::record::{Conclusion, Record};
use crate::session::{Session, Stage};

/// How long an id that was released is remembered. Nobody asks for a spawn again after that long.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 3600);

/// The sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    house: Arc<House>,
    table: Mutex<BTreeMap<SpawnId, Arc<Session>>>,
    /// Whether new ones are taken.
    door: watch::Sender<Door>,
}

/// Whether new sessions are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Open,
    Draining,
}

/// A session that a request has led to.
#[derive(Debug)]
pub(crate) enum Spawned {
    /// It was begun by this request.
    New(Arc<Session>),
    /// An earlier request had begun it.
    Found(Arc<Session>),
}

/// How many sessions there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) running: usize,
    pub(crate) ended: usize,
}

/// A session as an earlier process has left it.
struct Left {
    record: Record,
    conclusion: Option<Conclusion>,
}

impl Sessions {
    /// Takes up what an earlier process has left. Workspaces of sessions that are not over are taken before anybody can call.
    /// Waits for disks.
    pub(crate) fn recover(house: Arc<House>) -> Result<(Arc<Self>, Vec<Resumed>), WorkerError> {
        forget_old_tombstones(&house)?;
        let mut table = BTreeMap::new();
        let mut resumed = Vec::new();
        for left in left_behind(&house)? {
            let Left { record, conclusion } = left;
            let stage = match conclusion {
                Some(conclusion) => Stage::Ended(Arc::new(conclusion)),
                None => Stage::Running,
            };
            let session = Arc::new(Session::of_record(&record, stage.clone()));
            if matches!(stage, Stage::Running) {
                let live = Live::again(&house, record)?;
                tracing::info!(session = %session.id, "a session is taken up again");
                resumed.push(Resumed { session: Arc::clone(&session), live });
            }
            table.insert(session.id.clone(), session);
        }
        let sessions = Arc::new(Self {
            house,
            table: Mutex::new(table),
            door: watch::Sender::new(Door::Open),
        });
        Ok((sessions, resumed))
    }

    /// Goes on with the sessions that were taken up.
    pub(crate) fn resume(&self, resumed: Vec<Resumed>) {
        for Resumed { session, live: again } in resumed {
            tokio::spawn(live(Arc::clone(&self.house), session, again));
        }
    }

    /// Begins a session, or finds the one that the same request has begun before. Returns when its command runs.
    pub(crate) async fn spawn(self: &Arc<Self>, order: Order) -> Result<Spawned, Arc<WorkerError>> {
        self.release_old().await;
        let spawned = self.reserve(&order)?;
        if let Spawned::New(session) = &spawned {
            // What was begun goes on without its caller.
            tokio::spawn(Arc::clone(self).bring_up(Arc::clone(session), order));
        }
        spawned.session().begun().await?;
        Ok(spawned)
    }

    fn reserve(&self, order: &Order) -> Result<Spawned, WorkerError> {
        let mut table = self.table();
        if let Some(known) = table.get(&order.id) {
            return match known.is_of(order) {
                true => Ok(Spawned::Found(Arc::clone(known))),
                false => Err(WorkerError::Differs { id: order.id.clone() }),
            };
        }
        if self.house.layout.tombstone(&order.id).exists() {
            return Err(WorkerError::Released { id: order.id.clone() });
        }
        if *self.door.borrow() == Door::Draining {
            return Err(WorkerError::Draining);
        }
        if order.wants == Wants::Ratchet && self.house.ratchet.is_none() {
            return Err(WorkerError::NoRatchet);
        }
        let running = table.values().filter(|session| session.takes_a_place()).count();
        let most = self.house.max_sessions;
        if running >= most {
            return Err(WorkerError::Full { running, most });
        }
        let session = Arc::new(Session::of_order(order));
        table.insert(order.id.clone(), Arc::clone(&session));
        Ok(Spawned::New(session))
    }

    async fn bring_up(self: Arc<Self>, session: Arc<Session>, order: Order) {
        match begin(&self.house, &session, order).await {
            Ok(begun) => {
                tracing::info!(session = %session.id, project = %session.project, "a session has begun");
                live(Arc::clone(&self.house), session, begun).await;
            }
            Err(error) => {
                // Forgotten before it is told, so that whoever hears it may ask again.
                self.table().remove(&session.id);
                session.refuse(error);
            }
        }
    }

    pub(crate) fn house(&self) -> &Arc<House> {
        &self.house
    }

    pub(crate) fn find(&self, id: &SpawnId) -> Result<Arc<Session>, WorkerError> {
        let found = self.table().get(id).map(Arc::clone);
        found.ok_or_else(|| WorkerError::NoSession { id: id.to_string() })
    }

    /// Lists all, oldest first.
    pub(crate) fn list(&self) -> Vec<Arc<Session>> {
        let mut all: Vec<_> = self.table().values().map(Arc::clone).collect();
        all.sort_by_key(|session| session.asked_at_ms());
        all
    }

    pub(crate) fn counts(&self) -> Counts {
        let table = self.table();
        let running = table.values().filter(|session| session.takes_a_place()).count();
        Counts { running, ended: table.len() - running }
    }

    /// Counts the places that are taken, and those that are not.
    pub(crate) fn used_and_free(&self) -> (u64, u64) {
        let running = self.counts().running;
        let count = |places: usize| u64::try_from(places).unwrap_or(u64::MAX);
        (count(running), count(self.house.max_sessions.saturating_sub(running)))
    }

    /// Counts the sessions of a project that have a workspace in use.
    pub(crate) fn running_of(&self, project: &ProjectName) -> usize {
        let theirs =
            |session: &&Arc<Session>| session.project == *project && session.takes_a_place();
        self.table().values().filter(theirs).count()
    }

    pub(crate) fn set_door(&self, door: Door) {
        if self.door.send_replace(door) != door {
            match door {
                Door::Open => tracing::info!("commands are taken again"),
                Door::Draining => tracing::info!("draining: no command is taken any more"),
            }
        }
    }

    pub(crate) fn door(&self) -> watch::Receiver<Door> {
        self.door.subscribe()
    }

    /// Forgets a session that has ended; says whether it was known.
    pub(crate) async fn release(self: &Arc<Self>, id: SpawnId) -> Result<bool, WorkerError> {
        let Ok(session) = self.find(&id) else { return Ok(false) };
        if session.takes_a_place() {
            return Err(WorkerError::StillRuns { id });
        }
        let this = Arc::clone(self);
        let released = spawn_blocking(move || {
            let layout = &this.house.layout;
            let tombstone = layout.tombstone(&session.id);
            // From here on the id is never used again, and the next process finishes what this one does not.
            put(&tombstone, b"").map_err(disk(&tombstone))?;
            forget(&this.house, &session.id, &session.project)?;
            this.table().remove(&session.id);
            tracing::info!(session = %session.id, "a session was released");
            Ok(true)
        });
        released.await.map_err(|_| WorkerError::Died)?
    }

    /// Releases what nobody has asked for since long ago.
    async fn release_old(self: &Arc<Self>) {
        let is_old = |session: &&Arc<Session>| {
            let result = self.house.layout.session(&session.id).result();
            matches!(session.stage(), Stage::Ended(_)) && is_older(&result, self.house.retention)
        };
        let old: Vec<SpawnId> =
            self.list().iter().filter(is_old).map(|session| session.id.clone()).collect();
        for id in old {
            tracing::warn!(session = %id, "a session that nobody has released is removed");
            if let Err(error) = self.release(id).await {
                tracing::warn!(%error, "it cannot be removed");
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<SpawnId, Arc<Session>>> {
        // No holder can leave it half changed.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that is to go on.
pub(crate) struct Resumed {
    session: Arc<Session>,
    live: Live,
}

impl Spawned {
    pub(crate) fn session(&self) -> &Arc<Session> {
        match self {
            Self::New(session) | Self::Found(session) => session,
        }
    }
}

/// Finds the sessions of an earlier process. What was never taken on, or was being released, is removed.
fn left_behind(house: &House) -> Result<Vec<Left>, WorkerError> {
    let folder = house.layout.sessions();
    let mut all = Vec::new();
    for entry in fs::read_dir(&folder).map_err(disk(&folder))? {
        let name = entry.map_err(disk(&folder))?.file_name();
        let Some(id) = name.to_str().and_then(|name| SpawnId::parse(name).ok()) else { continue };
        let session = house.layout.session(&id);
        let record = Record::read(&session).map_err(disk(session.record()))?;
        match record {
            Some(record) if house.layout.tombstone(&id).exists() => {
                forget(house, &id, &record.project)?;
            }
            Some(record) => {
                let conclusion = Conclusion::read(&session).map_err(disk(session.result()))?;
                all.push(Left { record, conclusion });
            }
            // Its caller was told nothing, and its shim was not started: the record comes before both.
            None => {
                remove(&house.layout.spawns().join(id.as_str())).map_err(disk(&folder))?;
                remove(session.path()).map_err(disk(session.path()))?;
            }
        }
    }
    Ok(all)
}

/// Removes everything of a session. The record goes last, or the next process would not know what else there is.
fn forget(house: &House, id: &SpawnId, project: &ProjectName) -> Result<(), WorkerError> {
    house.projects.let_go(project, id)?;
    let spawn = house.layout.spawns().join(id.as_str());
    remove(&spawn).map_err(disk(&spawn))?;
    let folder = house.layout.session(id);
    remove(&folder.files()).map_err(disk(folder.files()))?;
    remove(folder.path()).map_err(disk(folder.path()))
}

fn forget_old_tombstones(house: &House) -> Result<(), WorkerError> {
    let folder = house.layout.released();
    for entry in fs::read_dir(&folder).map_err(disk(&folder))? {
        let path = entry.map_err(disk(&folder))?.path();
        if is_older(&path, REMEMBERED) {
            remove(&path).map_err(disk(&path))?;
        }
    }
    Ok(())
}

fn is_older(path: &Path, age: Duration) -> bool {
    let written: io::Result<_> = fs::metadata(path).and_then(|meta| meta.modified());
    written.is_ok_and(|written| clock::now().duration_since(written).is_ok_and(|since| since > age))
}
