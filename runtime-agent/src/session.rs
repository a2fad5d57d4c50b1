//! One session: a command, its workspace, its output and its reports, from the request to the day that somebody releases it.
//!
//! What of it must outlive the worker lies in its folder ([`record`]); how far it is, is told to whoever waits ([`Stage`]).
//! `begin` brings it into being, `live` watches it to its end.

pub(crate) mod begin;
pub(crate) mod live;
pub(crate) mod record;
mod shim;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ratchet_proto::runtime::v1 as wire;
use ratchet_spawn::SpawnId;
use tokio::sync::watch;

use self::record::{Conclusion, Record};
use crate::clock;
use crate::error::WorkerError;
use crate::layout::Layout;
use crate::name::{Label, ProjectName};
use crate::order::Order;

/// How far a session is.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    /// Its workspace is laid out.
    Preparing,
    /// Its command runs.
    Running,
    /// Its command has ended, and what it left is taken.
    Concluding,
    /// Nothing will change any more.
    Ended(Arc<Conclusion>),
    /// It never began, and is forgotten.
    Refused(Arc<WorkerError>),
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SpawnId,
    pub(crate) project: ProjectName,
    digest: String,
    labels: Vec<Label>,
    asked_at_ms: u64,
    /// The name of its workspace, once it has one.
    workspace: OnceLock<String>,
    stage: watch::Sender<Stage>,
    /// The sequence number of the last entry in its log.
    entries: watch::Sender<u64>,
    acknowledged: AtomicU64,
}

impl Session {
    /// Begins one for a request.
    pub(crate) fn of_order(order: &Order) -> Self {
        Self {
            id: order.id.clone(),
            project: order.project.clone(),
            digest: order.digest.clone(),
            labels: order.labels.clone(),
            asked_at_ms: clock::now_ms(),
            workspace: OnceLock::new(),
            stage: watch::Sender::new(Stage::Preparing),
            entries: watch::Sender::new(0),
            acknowledged: AtomicU64::new(0),
        }
    }

    /// Takes up one that an earlier process has begun.
    pub(crate) fn of_record(record: &Record, stage: Stage) -> Self {
        let entries = match &stage {
            Stage::Ended(conclusion) => conclusion.entries,
            Stage::Preparing | Stage::Running | Stage::Concluding | Stage::Refused(_) => 0,
        };
        Self {
            id: record.id.clone(),
            project: record.project.clone(),
            digest: record.digest.clone(),
            labels: record.labels.clone(),
            asked_at_ms: record.asked_at_ms,
            workspace: OnceLock::from(record.workspace.clone()),
            stage: watch::Sender::new(stage),
            entries: watch::Sender::new(entries),
            acknowledged: AtomicU64::new(0),
        }
    }

    /// Tells whether a request is the one that it was begun for.
    pub(crate) fn is_of(&self, order: &Order) -> bool {
        self.digest == order.digest
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage.borrow().clone()
    }

    /// Hears of every stage from now on.
    pub(crate) fn stages(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Hears of entries.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.entries.subscribe()
    }

    /// Waits until it has begun.
    pub(crate) async fn begun(&self) -> Result<(), Arc<WorkerError>> {
        let mut stages = self.stage.subscribe();
        let begun = stages.wait_for(|stage| !matches!(stage, Stage::Preparing)).await;
        match begun.map(|stage| stage.clone()) {
            Ok(Stage::Refused(error)) => Err(error),
            Ok(_) => Ok(()),
            Err(_) => Err(Arc::new(WorkerError::Died)),
        }
    }

    /// Says that it never began. It is forgotten already.
    pub(crate) fn refuse(&self, error: WorkerError) {
        self.enter(Stage::Refused(Arc::new(error)));
    }

    pub(crate) fn asked_at_ms(&self) -> u64 {
        self.asked_at_ms
    }

    pub(crate) fn acknowledge(&self, sequence: u64) {
        self.acknowledged.fetch_max(sequence, Ordering::Relaxed);
    }

    /// Tells whether it takes one of the places for commands.
    pub(crate) fn takes_a_place(&self) -> bool {
        match *self.stage.borrow() {
            Stage::Preparing | Stage::Running | Stage::Concluding => true,
            Stage::Ended(_) | Stage::Refused(_) => false,
        }
    }

    /// Gives where its workspace is, once it has one.
    pub(crate) fn workspace(&self, layout: &Layout) -> Option<PathBuf> {
        self.workspace.get().map(|name| layout.workspaces().join(name))
    }

    fn enter(&self, stage: Stage) {
        tracing::debug!(session = %self.id, ?stage, "session");
        self.stage.send_replace(stage);
    }

    fn told(&self, entries: u64) {
        self.entries.send_if_modified(|known| {
            let more = entries > *known;
            *known = entries.max(*known);
            more
        });
    }
}

impl From<&Session> for wire::Session {
    fn from(session: &Session) -> Self {
        let state = match *session.stage.borrow() {
            Stage::Preparing => wire::SessionState::Preparing,
            Stage::Running => wire::SessionState::Running,
            Stage::Concluding => wire::SessionState::Concluding,
            Stage::Ended(_) | Stage::Refused(_) => wire::SessionState::Ended,
        };
        let acknowledged = session.acknowledged.load(Ordering::Relaxed);
        Self {
            id: session.id.to_string(),
            project: session.project.to_string(),
            state: state.into(),
            asked_at_ms: session.asked_at_ms,
            labels: session.labels.iter().cloned().map(Into::into).collect(),
            unacknowledged: session.entries.borrow().saturating_sub(acknowledged),
        }
    }
}
