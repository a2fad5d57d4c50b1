//! Keeps an eye on one container: knows when it is gone, tells it to stop when its files cannot, and clears it away.
//!
//! Whether a step is over is never decided by the engine: the shim's lock and record tell, and they are on this machine.
//! So an engine that stops and comes back changes nothing here but the time it takes to clear up.

use std::sync::Arc;
use std::time::Duration;

use bollard::models::ContainerState;
use ratchet_spawn::{Handover, SpawnDir};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::engine::{Engine, words};
use super::name_of;
use crate::environment::Environment;

/// What is said of a container that is gone, and that nobody here has removed.
const REMOVED: &str = "its container was removed by somebody else";

/// How long to wait before an engine that did not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How long clearing up may hold up a step that is over. What is left is the reaper's.
const CLEARING: Duration = Duration::from_secs(10);

/// How long a container whose end nobody has recorded is looked at before it is removed.
const SETTLING: Duration = Duration::from_secs(1);

/// How often.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What is known of the end of a container that is to be cleared away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its shim has recorded it.
    Recorded,
    /// Nobody has, so the engine is asked.
    Unexplained,
}

/// A container and what is known of it.
#[derive(Debug)]
pub(crate) struct Keeper {
    reach: Reach,
    gone: watch::Receiver<bool>,
    waiting: JoinHandle<()>,
    /// Held until the shim has taken it.
    _handover: Option<Handover>,
}

/// Reaches a container for as long as there is one.
#[derive(Debug, Clone)]
pub(crate) struct Reach {
    name: Arc<str>,
    environment: Arc<Environment>,
    known: Option<Arc<Engine>>,
}

/// What an engine says of a container whose shim has not said how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Death {
    /// The kernel ended what is in it for lack of memory.
    OutOfMemory,
    /// Something else, in words.
    Told(String),
}

impl Keeper {
    /// Keeps a container that was just started.
    pub(super) fn of_new(
        engine: &Engine,
        dir: &SpawnDir,
        environment: &Environment,
        handover: Handover,
    ) -> Self {
        let reach = Reach {
            name: name_of(dir.id().as_str()).into(),
            environment: Arc::new(environment.clone()),
            known: Some(Arc::new(engine.clone())),
        };
        Self::keep(reach, Some(handover))
    }

    /// Keeps a container that an earlier process has started.
    pub(super) fn of_found(dir: &SpawnDir, environment: &Environment) -> Self {
        let reach = Reach {
            name: name_of(dir.id().as_str()).into(),
            environment: Arc::new(environment.clone()),
            known: None,
        };
        Self::keep(reach, None)
    }

    fn keep(reach: Reach, handover: Option<Handover>) -> Self {
        let (tell, gone) = watch::channel(false);
        let asking = reach.clone();
        let waiting = tokio::spawn(async move {
            asking.until_gone().await;
            // Nobody may be left to hear it.
            let _ = tell.send(true);
        });
        Self { reach, gone, waiting, _handover: handover }
    }

    /// Waits until the container does not run any more. Safe to drop.
    pub(crate) async fn ended(&mut self) {
        // A watcher that is gone tells nothing any more, and nobody must wait for ever.
        drop(self.gone.wait_for(|gone| *gone).await);
    }

    pub(crate) fn reach(&self) -> Reach {
        self.reach.clone()
    }

    /// Removes the container, in whatever state it is, and says what the engine knows of an end that has no record.
    pub(crate) async fn clear(self, end: Ending) -> Option<Death> {
        self.waiting.abort();
        match tokio::time::timeout(CLEARING, self.reach.clear(end)).await {
            Ok(death) => death,
            Err(_) => {
                tracing::warn!(container = %self.reach.name, "a container cannot be removed now; 'ratchet doctor --reap' does it later");
                None
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.waiting.abort();
    }
}

impl Reach {
    /// Asks the container's first process to stop; it passes that on to the shim.
    pub(crate) fn terminate(&self) {
        let reach = self.clone();
        tokio::spawn(async move {
            let told = match reach.engine().await {
                Ok(engine) => engine.terminate(&reach.name).await.map_err(|error| words(&error)),
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = told {
                tracing::error!(container = %reach.name, error, "a container cannot be stopped");
            }
        });
    }

    async fn engine(&self) -> Result<Arc<Engine>, super::DockerError> {
        match &self.known {
            Some(engine) => Ok(Arc::clone(engine)),
            None => Engine::connect(&self.environment).await.map(Arc::new),
        }
    }

    async fn until_gone(&self) {
        loop {
            if let Ok(engine) = self.engine().await
                && engine.wait(&self.name).await.is_ok()
            {
                return;
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    async fn clear(&self, end: Ending) -> Option<Death> {
        loop {
            match self.try_to_clear(end).await {
                Ok(death) => return death,
                Err(error) => {
                    tracing::debug!(container = %self.name, error, "a container cannot be removed yet")
                }
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    async fn try_to_clear(&self, end: Ending) -> Result<Option<Death>, String> {
        let engine = self.engine().await.map_err(|error| error.to_string())?;
        let death = match end {
            Ending::Recorded => None,
            Ending::Unexplained => self.explain(&engine).await?,
        };
        engine.remove(&self.name).await.map_err(|error| words(&error))?;
        Ok(death)
    }

    /// Asks what became of a container whose shim has left no record.
    async fn explain(&self, engine: &Engine) -> Result<Option<Death>, String> {
        let until = Instant::now() + SETTLING;
        loop {
            let state = engine.state(&self.name).await.map_err(|error| words(&error))?;
            let Some(state) = state else { return Ok(Some(Death::Told(REMOVED.to_owned()))) };
            if state.oom_killed == Some(true) {
                return Ok(Some(Death::OutOfMemory));
            }
            // Whoever removes a container ends it first, so it may be about to go.
            if Instant::now() >= until {
                return Ok(self.last_words(engine, state).await.map(Death::Told));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn last_words(&self, engine: &Engine, state: ContainerState) -> Option<String> {
        match state.error.filter(|error| !error.is_empty()) {
            Some(error) => Some(error),
            None => engine.last_words(&self.name).await,
        }
    }
}
