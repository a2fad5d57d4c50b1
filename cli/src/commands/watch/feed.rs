//! Output on its way to the dashboard: of the step that runs, and of one that is over. The channels are bounded, so that a
//! flood waits on disk until it is shown.

use ratchet_engine::name::{BatchName, SpawnId, StepKey};
use ratchet_supervisor::event::{EVENT_BACKLOG, StepEvent};
use ratchet_supervisor::follow::{Stored, stored};
use ratchet_supervisor::project::Project;
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::JoinHandle;

use crate::commands::batch::attach;
use crate::commands::failed;
use crate::diagnostic::Failure;
use crate::render::page::Ink;
use crate::watch::output::Output;

/// Something that tells as long as there is something to tell. Dropping it ends the telling, and nothing else.
#[derive(Debug)]
pub(super) struct Feed<T> {
    told: Receiver<T>,
    task: JoinHandle<Result<(), Failure>>,
}

/// What a feed has.
pub(super) enum Fed<T> {
    /// Some more.
    More(T),
    /// Nothing any more; and why, if that is not as it should be.
    Over(Option<Failure>),
}

impl Feed<StepEvent> {
    /// Follows the step of a batch that runs, from its first byte on.
    pub(super) fn of_running(project: Project, batch: BatchName) -> Self {
        let (sink, told) = mpsc::channel(EVENT_BACKLOG);
        let task = tokio::spawn(async move { attach::tell(&project, &batch, sink).await });
        Self { told, task }
    }
}

impl Feed<Stored> {
    /// Reads what a spawn has printed.
    pub(super) fn of_stored(project: Project, spawn: SpawnId) -> Self {
        let (sink, told) = mpsc::channel(EVENT_BACKLOG);
        let task = tokio::task::spawn_blocking(move || {
            let dir = project.spawn_dir(spawn.as_str()).map_err(failed)?;
            for frame in stored(&dir).map_err(failed)? {
                if sink.blocking_send(frame.map_err(failed)?).is_err() {
                    break;
                }
            }
            Ok(())
        });
        Self { told, task }
    }
}

impl<T> Feed<T> {
    /// Waits for more. Safe to drop.
    async fn next(&mut self) -> Fed<T> {
        match self.told.recv().await {
            Some(told) => Fed::More(told),
            None => Fed::Over(match (&mut self.task).await {
                Ok(Ok(())) => None,
                Ok(Err(failure)) => Some(failure),
                Err(error) => Some(Failure::from_error(&error)),
            }),
        }
    }

    /// Returns what is there already.
    pub(super) fn at_hand(&mut self) -> Option<T> {
        self.told.try_recv().ok()
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for a feed, if there is one; for ever, if there is none. One that is over is gone.
pub(super) async fn next<T>(feed: &mut Option<Feed<T>>) -> Fed<T> {
    let Some(some) = feed else { return std::future::pending().await };
    let fed = some.next().await;
    if let Fed::Over(_) = fed {
        *feed = None;
    }
    fed
}

/// Finds the latest step of a batch that has one of these keys, as `batch log --last` does; of any, if none is given.
pub(super) fn latest(
    project: &Project,
    batch: &BatchName,
    keys: &[StepKey],
    ink: Ink,
) -> Result<Output, Failure> {
    let steps = project.logged(batch, None).map_err(failed)?;
    let is_meant = |key: &str| keys.is_empty() || keys.iter().any(|wanted| wanted.as_str() == key);
    let Some(step) = steps.into_iter().rev().find(|step| is_meant(&step.change)) else {
        return Err(Failure::new(match keys.first() {
            Some(key) => format!("No step of '{key}' has been concluded"),
            None => format!("No step of batch '{batch}' has been concluded"),
        }));
    };
    let kind = step.transition.map_or("proof-of-work", |kind| kind.as_str());
    let title = format!("{kind} of {}: {} — {}", step.change, step.kind, step.message);
    let spawn = SpawnId::parse(&step.spawn).map_err(|error| Failure::from_error(&error))?;
    // What is gone is told at once, in the words of the command.
    project.spawn_dir(spawn.as_str()).map_err(failed)?;
    Ok(Output::stored(spawn, title, ink))
}
