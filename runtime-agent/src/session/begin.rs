//! Brings a session into being: workspace, files, the spawn's folder, the record, the shim, in this order.
//!
//! **Invariant:** the record is on the disk before the shim is started, so an id that may have run is known for ever. Whatever
//! fails before that leaves nothing, and the same request may come again.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use ratchet_door::descriptors;
use ratchet_spawn::{
    DirectoryError, Folders, Limits, Request, SpawnDir, Standing, Stdin, abandon, launch, probe,
};

use super::live::Live;
use super::record::Record;
use super::{Session, shim};
use crate::beneath::Beneath;
use crate::environment::Variables;
use crate::error::{WorkerError, disk};
use crate::house::House;
use crate::layout::{make_folder, put, remove, sync_folder};
use crate::order::{Order, Places, Texts};
use crate::projects::Lease;

/// A session whose shim is still to be started.
struct Prepared {
    lease: Lease,
    dir: SpawnDir,
    record: Record,
    variables: Variables,
}

/// Begins the command of a request. When this fails, nothing of it is left.
pub(crate) async fn begin(
    house: &Arc<House>,
    session: &Arc<Session>,
    order: Order,
) -> Result<Live, WorkerError> {
    let work = (Arc::clone(house), Arc::clone(session));
    let prepared = tokio::task::spawn_blocking(move || {
        let (house, session) = work;
        prepare(&house, &session, &order).inspect_err(|_| undo(&house, &session))
    });
    let prepared = prepared.await.map_err(|_| WorkerError::Died)??;
    start(house, session, prepared).await
}

fn prepare(house: &House, session: &Session, order: &Order) -> Result<Prepared, WorkerError> {
    let folder = house.layout.session(&session.id);
    let lease = house.projects.lease(&order.project, order.snapshot)?;
    let workspace = lease.name().to_owned();
    session.workspace.get_or_init(|| workspace.clone());
    let (files, ratchet) = (folder.files(), house.ratchet.as_deref());
    let places = Places { workspace: lease.root(), files: &files, ratchet };
    let Texts { argv, variables, stdin, files, workspace_files, initial } = order.fill(&places);

    make_folder(&folder.files()).map_err(disk(folder.files()))?;
    for (name, content) in &files {
        let path = folder.files().join(name.as_str());
        put(&path, content).map_err(disk(&path))?;
    }
    let beneath = Beneath::open(lease.root()).map_err(disk(lease.root()))?;
    for (path, content) in &workspace_files {
        let shown = lease.root().join(path.as_str());
        beneath.write(path, content).map_err(disk(shown))?;
    }
    for (at, (path, content)) in order.relays.iter().zip(&initial).enumerate() {
        let shown = lease.root().join(path.as_str());
        beneath.write(path, content).map_err(disk(shown))?;
        put(&folder.initial(at), content).map_err(disk(folder.initial(at)))?;
    }

    let cwd = match &order.cwd {
        Some(path) => lease.root().join(path.as_str()),
        None => lease.root().to_owned(),
    };
    let open_files = order.limits.open_files.or_else(descriptors::of_commands);
    let request = Request {
        id: session.id.clone(),
        argv,
        cwd,
        stdin: stdin.map_or(Stdin::Null, |bytes| Stdin::Prompt(bytes.into())),
        limits: Limits { open_files, ..order.limits },
        needed_by: Some(folder.record()),
    };
    let dir = SpawnDir::create(&house.layout.spawns(), &request).map_err(unusable)?;
    let record = Record::new(session, order.snapshot.to_string(), workspace, order.relays.clone());
    record.write(&folder).map_err(disk(folder.record()))?;
    sync_folder(&house.layout.sessions()).map_err(disk(house.layout.sessions()))?;
    let path = house.environment.path_with(&house.layout.bin());
    let variables = house.environment.of_command(path, variables, &house.operator);
    Ok(Prepared { lease, dir, record, variables })
}

/// Starts the shim and waits until it has taken the spawn up.
async fn start(
    house: &Arc<House>,
    session: &Arc<Session>,
    prepared: Prepared,
) -> Result<Live, WorkerError> {
    let Prepared { lease, dir, record, variables } = prepared;
    let failed = match launched(&dir, &house.shim, variables).await {
        Ok(gone) => return Ok(Live { dir: Some(dir), lease: Some(lease), record, gone }),
        Err(error) => error,
    };
    // Whether it has started after all is decided by the tombstone.
    let (house, session) = (Arc::clone(house), Arc::clone(session));
    let settled = tokio::task::spawn_blocking(move || {
        let standing = abandon(&dir).map_err(disk(dir.path()))?;
        if standing == Standing::Abandoned {
            undo(&house, &session);
            return Err(failed);
        }
        let gone = shim::of_earlier(dir.clone()).map_err(WorkerError::Watch)?;
        Ok(Live { dir: Some(dir), lease: Some(lease), record, gone })
    });
    settled.await.map_err(|_| WorkerError::Died)?
}

async fn launched(
    dir: &SpawnDir,
    shim_command: &[OsString],
    variables: Variables,
) -> Result<shim::Gone, WorkerError> {
    let mut ears = Folders::new().map_err(WorkerError::Watch)?;
    ears.listen_to(vec![dir.path().to_owned()]).map_err(WorkerError::Watch)?;
    let child =
        launch(dir, shim_command, variables).map_err(|source| WorkerError::Shim { source })?;
    let mut gone = shim::of_child(child).map_err(WorkerError::Watch)?;
    loop {
        if probe(dir).map_err(disk(dir.path()))? != Standing::NeverStarted {
            return Ok(gone);
        }
        tokio::select! {
            () = ears.news() => {}
            _ = &mut gone => break,
        }
    }
    if probe(dir).map_err(disk(dir.path()))? == Standing::NeverStarted {
        let said = dir.last_complaint().unwrap_or_else(|| "it said nothing".to_owned());
        return Err(WorkerError::Shim { source: io::Error::other(said) });
    }
    // It has come and gone; its place is taken by one that is ready already.
    shim::of_earlier(dir.clone()).map_err(WorkerError::Watch)
}

/// Removes everything of a session that never began.
fn undo(house: &House, session: &Session) {
    let folder = house.layout.session(&session.id);
    // The record goes last: until then the id is known.
    let removed = remove(&house.layout.spawns().join(session.id.as_str()))
        .and_then(|()| remove(folder.path()));
    if let Err(error) = removed {
        tracing::warn!(%error, session = %session.id, "what was begun cannot be removed");
    }
    if let Err(error) = house.projects.let_go(&session.project, &session.id) {
        tracing::warn!(%error, session = %session.id, "its snapshot cannot be let go of");
    }
}

fn unusable(error: DirectoryError) -> WorkerError {
    match error {
        DirectoryError::Disk { path, source } => WorkerError::Disk { path, source },
        other => WorkerError::Shim { source: io::Error::other(other.to_string()) },
    }
}
