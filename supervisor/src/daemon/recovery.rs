//! What a supervisor does first: every step that an earlier life began is gone on with. What runs is watched again, what
//! has ended is judged, what is lost is parked with the reason.
//!
//! A project that cannot be looked at is named and holds up no other, and neither does a step that runs on: however many
//! there are, so many are on their way to their actors at a time that no mailbox overflows.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::Supervisor;
use crate::error::Error;
use crate::grpc::service::Service;
use crate::project::Project;
use crate::store::layout::RunHome;

/// Projects that are looked at in one go. More than one, because one on a dead network drive may take for ever.
const LOOKS: usize = 8;

/// Steps that are on their way at a time: far fewer than the smallest mailbox on it holds.
const ON_THEIR_WAY: usize = 64;

/// How often a step finds its mailbox full before it is left to the next request for it. Each time others come first.
const ATTEMPTS: usize = 10_000;

/// Begins to recover all that the registry knows of.
pub(super) fn begin(service: &Service) {
    let service = service.clone();
    tokio::spawn(async move {
        let looks = Arc::new(Semaphore::new(LOOKS));
        let ways = Arc::new(Semaphore::new(ON_THEIR_WAY));
        for root in service.registry.roots() {
            let look = permit(&looks).await;
            tokio::spawn(recover_project(service.clone(), root, look, Arc::clone(&ways)));
        }
    });
}

async fn recover_project(
    service: Service,
    root: PathBuf,
    look: OwnedSemaphorePermit,
    ways: Arc<Semaphore>,
) {
    let Service { supervisor, environment, .. } = service;
    let shown = root.display().to_string();
    let looking = tokio::task::spawn_blocking(move || {
        let project = Project::at(&root, environment)?;
        Ok::<_, Error>((project.unfinished()?, project))
    });
    let looked = looking.await.unwrap_or(Err(Error::WatcherDied));
    drop(look);
    match looked {
        Err(error) => tracing::warn!(project = shown, %error, "a project cannot be looked at"),
        Ok((homes, project)) => {
            for home in homes {
                let way = permit(&ways).await;
                tokio::spawn(recover_step(supervisor.clone(), project.clone(), home, way));
            }
        }
    }
}

async fn recover_step(
    supervisor: Supervisor,
    project: Project,
    home: RunHome,
    _way: OwnedSemaphorePermit,
) {
    for _ in 0..ATTEMPTS {
        match hand_over(&supervisor, &project, &home).await {
            Ok(()) | Err(Error::Closing) => return,
            Err(Error::Busy) => tokio::task::yield_now().await,
            Err(error) => {
                let project = project.root().display().to_string();
                return tracing::warn!(project, ?home, %error, "a step cannot be recovered");
            }
        }
    }
    let project = project.root().display().to_string();
    tracing::warn!(
        project,
        ?home,
        "too much is asked of a project; a step of it was not recovered"
    );
}

/// Has a step recovered, and returns once its actor has it: at its end, or as soon as it is seen to run on.
async fn hand_over(
    supervisor: &Supervisor,
    project: &Project,
    home: &RunHome,
) -> Result<(), Error> {
    let (events, mut heard) = mpsc::channel(1);
    tokio::select! {
        done = supervisor.recover(project, home.clone(), events) => done,
        // It runs. Nobody listens from here on, so that whoever asks for the step next can.
        Some(_) = heard.recv() => Ok(()),
    }
}

async fn permit(of: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    Arc::clone(of).acquire_owned().await.expect("the semaphore is never closed")
}
