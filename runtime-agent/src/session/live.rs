//! The life of a session from the start of its shim on: relay its lines as they come, notice its end, take what it left.
//!
//! Nothing here decides whether a command is over: its shim does. Everything can be begun again by the next process.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ratchet_proto::status::causes;
use ratchet_spawn::{
    Folders, SpawnDir, Standing, abandon, await_shim_end, end_marked, end_strays, probe,
};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::Instant;

use super::record::{Conclusion, Left, Record};
use super::shim::{self, Gone};
use super::{Session, Stage};
use crate::beneath::Beneath;
use crate::error::{WorkerError, disk};
use crate::house::House;
use crate::layout::SessionFolder;
use crate::order::snapshot_id;
use crate::projects::Lease;
use crate::relay::Tails;

/// How long a full disk may hold a result back, and how often it is asked. No kernel tells of room on a disk.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);

/// A session whose shim was started.
pub(crate) struct Live {
    /// Absent if somebody removed it.
    pub(super) dir: Option<SpawnDir>,
    /// Absent if somebody else has the workspace.
    pub(super) lease: Option<Lease>,
    pub(super) record: Record,
    pub(super) gone: Gone,
}

impl Live {
    /// Takes up a session of an earlier process.
    pub(crate) fn again(house: &House, record: Record) -> Result<Self, WorkerError> {
        let lease = house.projects.lease_again(&record.project, &record.workspace)?;
        let dir = match SpawnDir::open(&house.layout.spawns(), &record.id) {
            Ok(dir) => Some(dir),
            Err(error) => {
                tracing::warn!(%error, session = %record.id, "its spawn is lost");
                None
            }
        };
        let gone = match &dir {
            Some(dir) => shim::of_earlier(dir.clone()).map_err(WorkerError::Watch)?,
            None => tokio::sync::oneshot::channel().1,
        };
        Ok(Self { dir, lease, record, gone })
    }
}

/// Watches a session to its end.
pub(crate) async fn live(house: Arc<House>, session: Arc<Session>, mut live: Live) {
    session.enter(Stage::Running);
    let folder = house.layout.session(&session.id);
    let held = hold(&house, &live.record);
    let mut tails = open_tails(&live, &folder);
    if let Ok(Some(_)) = &tails {
        tails = relay(&session, tails, &mut live).await;
    }
    if tails.is_err() || matches!(tails, Ok(None)) {
        // An error means that nobody tells any more, which is an end as well.
        let _ended = (&mut live.gone).await;
    }
    session.enter(Stage::Concluding);
    if let Ok(Err(error)) = held.await {
        tracing::warn!(%error, session = %session.id, "its snapshot could not be held");
    }
    let begun = Instant::now();
    let mut work = (Arc::clone(&house), live, tails);
    let conclusion = loop {
        let id = session.id.clone();
        let concluded = spawn_blocking(move || {
            let concluded = conclude(&work.0, &id, &mut work.1, &mut work.2);
            (concluded, work)
        });
        let (concluded, back) = match concluded.await {
            Ok(done) => done,
            Err(error) => {
                tracing::error!(%error, session = %session.id, "a session could not be concluded");
                return;
            }
        };
        work = back;
        match concluded {
            Ok(conclusion) => break conclusion,
            Err(error) if error.code() == "disk-full" && begun.elapsed() < PATIENCE => {
                tracing::error!(%error, session = %session.id, "a result waits for room on the disk");
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
            Err(error) => {
                tracing::error!(%error, session = %session.id, "a session could not be recorded");
                let left = gone(&error);
                break Conclusion::new(left, *session.entries.borrow(), Vec::new());
            }
        }
    };
    // The workspace is free before anybody hears of the end.
    drop(work);
    tracing::info!(session = %session.id, entries = conclusion.entries, "a session has ended");
    session.told(conclusion.entries);
    session.enter(Stage::Ended(Arc::new(conclusion)));
    tidy(house, session).await;
}

/// Holds the snapshot that a session began with. The command does not wait for git to have done so.
fn hold(house: &Arc<House>, record: &Record) -> JoinHandle<Result<(), WorkerError>> {
    let (house, project, session) = (Arc::clone(house), record.project.clone(), record.id.clone());
    let snapshot = snapshot_id(&record.snapshot);
    spawn_blocking(move || house.projects.hold(&project, snapshot?, &session))
}

fn open_tails(live: &Live, folder: &SessionFolder) -> io::Result<Option<Tails>> {
    match &live.lease {
        Some(lease) if !live.record.relays.is_empty() => {
            let workspace = Beneath::open(lease.root())?;
            Tails::open(workspace, folder, &live.record.relays).map(Some)
        }
        _ => Ok(None),
    }
}

/// Relays lines until the shim is gone.
async fn relay(
    session: &Session,
    mut tails: io::Result<Option<Tails>>,
    live: &mut Live,
) -> io::Result<Option<Tails>> {
    let Some(root) = live.lease.as_ref().map(|lease| lease.root().to_owned()) else { return tails };
    let mut ears = match Folders::new() {
        Ok(ears) => ears,
        Err(error) => {
            // They are still relayed, once it is over.
            tracing::warn!(%error, session = %session.id, "lines cannot be relayed as they come");
            let _ended = (&mut live.gone).await;
            return tails;
        }
    };
    loop {
        // Listened to before it is read, so that nothing between two looks is missed.
        if let Err(error) = ears.listen_to(Tails::folders(&live.record.relays, &root)) {
            tracing::warn!(%error, session = %session.id, "lines cannot be relayed as they come");
        }
        let Ok(Some(mut open)) = tails else { return tails };
        let (read, back) =
            spawn_blocking(move || (open.read(), open)).await.map_err(io::Error::other)?;
        tails = Ok(Some(back));
        match read {
            Ok(last) => session.told(last),
            // The next look, or the last one, finds the same lines.
            Err(error) => {
                tracing::warn!(%error, session = %session.id, "lines cannot be relayed now")
            }
        }
        tokio::select! {
            () = ears.news() => {}
            _ended = &mut live.gone => return tails,
        }
    }
}

/// Takes what a session left and records it. May be done again if it fails.
fn conclude(
    house: &House,
    id: &ratchet_spawn::SpawnId,
    live: &mut Live,
    tails: &mut io::Result<Option<Tails>>,
) -> Result<Conclusion, WorkerError> {
    let folder = house.layout.session(id);
    let started = match &live.dir {
        Some(dir) => settle(dir)?,
        None => {
            end_marked(id).map_err(disk(house.layout.spawns()))?;
            Started::Yes
        }
    };
    let (mut entries, mut notes) = (0, Vec::new());
    match tails {
        Ok(Some(tails)) => {
            entries = tails.read().map_err(disk(folder.relay()))?;
            notes.extend(tails.notes().iter().cloned());
        }
        Ok(None) => {}
        Err(error) => notes.push(format!("what it reported could not be relayed: {error}")),
    }
    let left = match (started, &live.lease) {
        (Started::No, _) => Left::Nothing,
        (Started::Yes, None) => Left::Gone {
            code: "workspace-failed".to_owned(),
            message: "its workspace is in other hands".to_owned(),
        },
        (Started::Yes, Some(lease)) => {
            let taken = snapshot_id(&live.record.snapshot)
                .map_err(WorkerError::from)
                .and_then(|base| house.projects.result(lease, base, id));
            match taken {
                Ok(snapshot) => Left::Snapshot { id: snapshot.to_string() },
                Err(error) if error.code() == "disk-full" => return Err(error),
                Err(error) => gone(&error),
            }
        }
    };
    let conclusion = Conclusion::new(left, entries, notes);
    conclusion.write(&folder).map_err(disk(folder.result()))?;
    Ok(conclusion)
}

/// Whether a command has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Started {
    Yes,
    No,
}

/// Sees to it that nothing of a command runs any more, and that nothing of it will.
fn settle(dir: &SpawnDir) -> Result<Started, WorkerError> {
    // Most often nobody is there any more. A child's end, or an error, may have been heard of a little earlier than that.
    await_shim_end(dir).map_err(disk(dir.path()))?;
    let standing = match probe(dir).map_err(disk(dir.path()))? {
        // An earlier process died between its record and its start.
        Standing::NeverStarted => abandon(dir).map_err(disk(dir.path()))?,
        other => other,
    };
    match standing {
        Standing::Abandoned | Standing::NeverStarted => Ok(Started::No),
        Standing::Lost(lost) => {
            let strays = end_strays(dir).map_err(disk(dir.path()))?;
            tracing::warn!(%lost, strays = strays.len(), spawn = %dir.id(), "a command is lost");
            Ok(Started::Yes)
        }
        Standing::Running(_) | Standing::Ended(_) => Ok(Started::Yes),
    }
}

fn gone(error: &WorkerError) -> Left {
    let causes = causes(error).map(ToString::to_string);
    let text: Vec<String> = std::iter::once(error.to_string()).chain(causes).collect();
    Left::Gone { code: error.code().to_owned(), message: text.join(": ") }
}

/// Makes room after an end. Nobody waits for it.
async fn tidy(house: Arc<House>, session: Arc<Session>) {
    let tidied = spawn_blocking(move || house.projects.tidy(&session.project)).await;
    match tidied {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "workspaces cannot be put in order"),
        Err(error) => tracing::warn!(%error, "workspaces cannot be put in order"),
    }
}
