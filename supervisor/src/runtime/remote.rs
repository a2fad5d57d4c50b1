//! Another machine, whose `runtime-agent` runs the command. The project goes there as a snapshot and comes back as one
//! (`ratchet_workspace`); here the spawn's folder has a mirror for a shim ([`crate::mirror`]), so that output, record and
//! re-attachment are those of [`super::local`].
//!
//! This file makes everything ready and starts the mirror; from then on the mirror is the only one who speaks with the worker
//! about this spawn.

pub(crate) mod client;
pub(crate) mod errand;
mod error;
pub(crate) mod mirrored;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ratchet_engine::settings::Worker;
use ratchet_proto::runtime::v1 as wire;
use ratchet_spawn::{Attachment, Position, Request, SpawnDir, Stdin};
use ratchet_workspace::{Base, Rules, SnapshotId, Store, Workspace};
use tokio::sync::OwnedSemaphorePermit;

use self::client::Client;
use self::errand::{Errand, Home};
pub(crate) use self::error::RemoteError;
use self::mirrored::Mirrored;
use super::{Line, Placed, Places, Shim, StartError, Variables};

/// Words that stand for paths which only the worker knows; it puts the paths in their place.
pub(crate) const WORKSPACE: &str = "RATCHET-WORKSPACE-5f0c1c9be1a94d7c";
pub(crate) const FILES: &str = "RATCHET-FILES-5f0c1c9be1a94d7c";
pub(crate) const RATCHET: &str = "RATCHET-BINARY-5f0c1c9be1a94d7c";

/// What a remote place needs to know of itself.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    /// The workers of the settings, in their order.
    pub(crate) workers: Vec<Worker>,
    /// The project's root here.
    pub(crate) project: PathBuf,
    /// What belongs to a snapshot of it.
    pub(crate) rules: Rules,
    /// Whose run state its reports belong to.
    pub(crate) home: Home,
    /// Whose step it is; none for a proof-of-work, which no agent reports about.
    pub(crate) key: Option<String>,
    /// The journal, relative to the project: its lines are relayed.
    pub(crate) journal: PathBuf,
    /// Words about the step, for the worker's list.
    pub(crate) labels: BTreeMap<&'static str, String>,
    /// How long a worker is waited for that cannot be reached, in milliseconds.
    pub(crate) lost_ms: u64,
}

/// What is asked of a worker, complete but for the snapshot.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) remote: Box<Remote>,
    pub(crate) request: Request,
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

/// Maps a path of the project to what the worker makes the agent see.
pub(crate) fn seen(path: &Path, project: &Path) -> PathBuf {
    path.strip_prefix(project)
        .map_or_else(|_| path.to_owned(), |inner| Path::new(WORKSPACE).join(inner))
}

/// Chooses a worker, gives it the project, and starts the mirror. Whatever fails has started nothing.
pub(super) async fn start(
    places: &Places,
    dir: SpawnDir,
    asked: Asked,
    variables: Variables,
    slot: OwnedSemaphorePermit,
    line: &Line<'_>,
) -> Result<Placed, StartError> {
    let Asked { remote, request, files } = asked;
    let project = errand::project_name(&remote.project);
    let chosen = choose(&remote.workers, &project).await?;
    line.tell(format!("on the worker {}", chosen.worker.name)).await;
    let place = errand::store_of(places, &project);
    let base = take(&place, &remote, places, dir.id().as_str()).await?;
    put(&chosen.client, &place, &project, base, places).await?;
    let errand = Errand::of(&chosen.worker, &remote, project, base, place);
    errand.write(&dir)?;
    let order = order(&errand, &remote, request, files, variables);
    // Watching begins before the mirror does, so that nothing can be missed.
    let attachment = Attachment::open(&dir, Position::START)?;
    let mirrored = Mirrored::start(&dir, places, &chosen.token, Some(&order)).await?;
    Ok(Placed {
        dir,
        attachment,
        slot: Some(slot),
        shim: Some(Shim::Mirrored(Box::new(mirrored))),
        image: None,
        reach: Some(chosen.worker.name.clone()),
    })
}

/// Goes on with a spawn that an earlier process has asked for. One whose mirror is gone gets another, from where it was.
pub(super) fn found(
    places: &Places,
    workers: &[Worker],
    dir: &SpawnDir,
) -> Result<Shim, StartError> {
    let errand = Errand::read(dir)?;
    let worker = workers.iter().find(|worker| worker.address == errand.address);
    let worker =
        worker.ok_or_else(|| RemoteError::NoLongerKnown { worker: errand.worker.clone() })?;
    let token = client::token_of(worker)?;
    Ok(Shim::Mirrored(Box::new(Mirrored::found(dir, places, token)?)))
}

/// Has every worker that can be reached stop a spawn of which nothing is known here any more. Blocks.
pub(super) fn end(workers: &[Worker], spawn: &str) {
    let (workers, spawn) = (workers.to_vec(), spawn.to_owned());
    // A thread of its own, because this one may be needed by the runtime it is part of.
    let ending = std::thread::spawn(move || -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            for worker in &workers {
                let stopped = async {
                    let token = client::token_of(worker)?;
                    let client =
                        Client::connect(&worker.address, worker.tls_ca.as_deref(), &token).await?;
                    client.stop(&spawn, "lost", None).await
                };
                match stopped.await {
                    Ok(()) => {}
                    Err(error) if error.is_no_session() => {}
                    Err(error) => {
                        tracing::warn!(%error, spawn, "a worker cannot be told to stop a step")
                    }
                }
            }
        });
        Ok(())
    });
    match ending.join() {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "workers cannot be told to stop a step"),
        Err(_) => tracing::error!("telling workers to stop a step went wrong"),
    }
}

struct Chosen {
    worker: Worker,
    client: Client,
    token: secrecy::SecretString,
}

/// Asks the workers and takes the one that has the project warm, else the one with the most room.
async fn choose(workers: &[Worker], project: &str) -> Result<Chosen, RemoteError> {
    let mut best: Option<((bool, u32), Chosen)> = None;
    let mut refused = None;
    for worker in workers {
        match look(worker, project).await {
            Ok((rank, chosen)) => {
                if best.as_ref().is_none_or(|(best, _)| rank > *best) {
                    best = Some((rank, chosen));
                }
            }
            // The first is the one that a person would try first.
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    match (best, refused) {
        (Some((_, chosen)), _) => Ok(chosen),
        (None, Some(error)) => Err(error),
        (None, None) => Err(RemoteError::NoWorker),
    }
}

async fn look(worker: &Worker, project: &str) -> Result<((bool, u32), Chosen), RemoteError> {
    let token = client::token_of(worker)?;
    let client = Client::connect(&worker.address, worker.tls_ca.as_deref(), &token).await?;
    let able = client.capabilities(project).await?;
    if able.draining {
        return Err(RemoteError::Draining { worker: worker.name.clone() });
    }
    let room = able.max_sessions.saturating_sub(able.running);
    let room = match worker.capacity {
        Some(capacity) => {
            room.min(u32::try_from(capacity).unwrap_or(u32::MAX).saturating_sub(able.running))
        }
        None => room,
    };
    if room == 0 {
        return Err(RemoteError::Full { worker: worker.name.clone(), running: able.running });
    }
    let is_warm = able.workspaces > able.workspaces_in_use;
    Ok(((is_warm, room), Chosen { worker: worker.clone(), client, token }))
}

/// Takes the project as it is, and keeps that until the spawn is recorded.
async fn take(
    place: &Path,
    remote: &Remote,
    places: &Places,
    spawn: &str,
) -> Result<SnapshotId, RemoteError> {
    let (place, rules, root, spawn) =
        (place.to_owned(), remote.rules.clone(), remote.project.clone(), spawn.to_owned());
    let search_path = search_path(places);
    blocking(move || {
        let store = Store::open(&place, &search_path)?;
        let workspace = Workspace::new(&store, errand::WORKSPACE, &root)?;
        // What a process that was killed had begun to bring in is in before anything is built on it.
        workspace.resume()?;
        let base = workspace.snapshot(Base::Project(&rules))?.id;
        store.keep(&errand::base_of(&spawn), base)?;
        Ok(base)
    })
    .await
}

/// Gives the worker what it lacks of a snapshot.
async fn put(
    client: &Client,
    place: &Path,
    project: &str,
    base: SnapshotId,
    places: &Places,
) -> Result<(), RemoteError> {
    let (folder, search_path) = (place.to_owned(), search_path(places));
    let store = blocking(move || Ok(Store::open(&folder, &search_path)?)).await?;
    let known = {
        let store = store.clone();
        blocking(move || Ok(store.snapshots()?)).await?
    };
    let found = client.find(project, base, known).await?;
    if found.contains(&base) {
        return Ok(());
    }
    client.put(project, store, base, found).await
}

pub(crate) fn search_path(places: &Places) -> OsString {
    places.environment.var_os("PATH").map(ToOwned::to_owned).unwrap_or_default()
}

/// Does what waits for disks and for git in a thread that may wait.
pub(crate) async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, RemoteError> + Send + 'static,
) -> Result<T, RemoteError> {
    match tokio::task::spawn_blocking(act).await {
        Ok(done) => done,
        Err(error) => Err(RemoteError::Broken { why: error.to_string() }),
    }
}

/// Puts into one message what the worker is to run.
fn order(
    errand: &Errand,
    remote: &Remote,
    request: Request,
    files: Vec<(&'static str, Vec<u8>)>,
    variables: Variables,
) -> wire::SpawnRequest {
    let bytes = |text: &std::ffi::OsStr| bytes::Bytes::copy_from_slice(text.as_bytes());
    let place = |word: &str, place: wire::Place| wire::Placeholder {
        word: word.to_owned(),
        place: place.into(),
    };
    let mut placeholders =
        vec![place(WORKSPACE, wire::Place::Workspace), place(FILES, wire::Place::Files)];
    if mentions(&request, RATCHET) {
        placeholders.push(place(RATCHET, wire::Place::Ratchet));
    }
    wire::SpawnRequest {
        id: request.id.to_string(),
        project: errand.project.clone(),
        snapshot: errand.base.clone(),
        argv: request.argv.iter().map(|word| bytes(word)).collect(),
        environment: variables
            .0
            .iter()
            .map(|(name, value)| wire::Variable { name: bytes(name), value: bytes(value) })
            .collect(),
        cwd: String::new(),
        stdin: match request.stdin {
            Stdin::Prompt(prompt) => Some(prompt.into()),
            Stdin::Null => None,
        },
        limits: Some(request.limits.into()),
        files: files
            .into_iter()
            .map(|(name, content)| wire::File { path: name.to_owned(), content: content.into() })
            .collect(),
        workspace_files: Vec::new(),
        relays: vec![wire::RelayedFile {
            path: remote.journal.display().to_string(),
            initial: bytes::Bytes::new(),
        }],
        placeholders,
        labels: remote
            .labels
            .iter()
            .map(|(name, value)| wire::Label {
                name: (*name).to_owned(),
                value: value.chars().take(60).collect(),
            })
            .collect(),
    }
}

/// A worker without a `ratchet` refuses a request that needs one, so it is only asked for when it is needed.
fn mentions(request: &Request, word: &str) -> bool {
    let in_prompt = match &request.stdin {
        Stdin::Prompt(prompt) => memchr::memmem::find(prompt, word.as_bytes()).is_some(),
        Stdin::Null => false,
    };
    in_prompt
        || request
            .argv
            .iter()
            .any(|argument| memchr::memmem::find(argument.as_bytes(), word.as_bytes()).is_some())
}
