//! The front door for everything that starts a process.

use std::sync::Arc;

use kameo::actor::{ActorRef, Spawn as _};
use ratchet_engine::outcome::StepResult;
use ratchet_engine::report::ApplyReport;
use tokio::sync::{mpsc, oneshot};

use crate::actor::batch::Batch;
use crate::actor::message::{Apply, Caller, Report, RunChange, Serve, Served, Stop};
use crate::actor::root::Root;
use crate::error::Error;
use crate::event::EventSink;
use crate::house::{House, Options};
use crate::project::Project;
use crate::request::{ApplyRequest, ChangeStepRequest, StopReason};
use crate::store::layout::RunHome;

/// The supervisor's actors, hosted in this process. Dropping it leaves running steps to their shims; the next look at
/// their run homes finds them.
#[derive(Debug, Clone)]
pub struct Supervisor {
    root: ActorRef<Root>,
}

impl Supervisor {
    /// Starts the actors for one project, on the tokio runtime of the caller.
    #[must_use]
    pub fn start(project: Project, options: Options) -> Self {
        Self { root: Root::spawn(Arc::new(House { project, options })) }
    }

    /// Runs the next step of a batch: at most one agent or one proof-of-work. A step that an earlier call began and was cut
    /// off from is finished instead.
    ///
    /// # Errors
    /// Fails if no step could be selected or begun, or if its outcome could not be recorded; then the next call goes on.
    pub async fn apply(
        &self,
        request: ApplyRequest,
        events: EventSink,
    ) -> Result<ApplyReport, Error> {
        let name = request.batch.clone();
        let home = RunHome::Batch(name.clone());
        let (caller, report) = caller(events);
        let batch = self.serve(home).await?;
        batch.tell(Apply { request, caller }).await.map_err(|_| Error::WatcherDied)?;
        match answer(report).await? {
            Report::Applied(report) => Ok(report.of_batch(&name)),
            Report::Stepped(result) => Ok(ApplyReport::Step(result)),
        }
    }

    /// Runs one forced transition of a change that belongs to no batch.
    ///
    /// # Errors
    /// As [`Supervisor::apply`], and if a precondition of the transition does not hold.
    pub async fn run_change(
        &self,
        request: ChangeStepRequest,
        events: EventSink,
    ) -> Result<StepResult, Error> {
        let home = RunHome::Change(request.change.clone());
        let (caller, report) = caller(events);
        let batch = self.serve(home).await?;
        batch.tell(RunChange { request, caller }).await.map_err(|_| Error::WatcherDied)?;
        match answer(report).await? {
            Report::Stepped(result) | Report::Applied(ApplyReport::Step(result)) => Ok(result),
            Report::Applied(_) => Err(Error::WatcherDied),
        }
    }

    /// Asks every running step to stop. Each ends as `stopped`, is recorded, and can be resumed.
    ///
    /// When this returns the requests are on disk: the steps end also if this process does not live on.
    pub async fn stop_steps(&self, by: StopReason) {
        let (pending, mut asked) = mpsc::channel(1);
        // A root that is gone has nothing left to stop.
        let _gone = self.root.tell(Stop { by, pending }).await;
        let _all_asked = asked.recv().await;
    }

    async fn serve(&self, home: RunHome) -> Result<ActorRef<Batch>, Error> {
        let Served(batch) = self.root.ask(Serve(home)).await.map_err(|_| Error::WatcherDied)?;
        Ok(batch)
    }
}

fn caller(events: EventSink) -> (Caller, oneshot::Receiver<Result<Report, Error>>) {
    let (reply, report) = oneshot::channel();
    (Caller { events, reply }, report)
}

/// A batch that goes down drops its caller's reply; what it had begun is found by the next call.
async fn answer(report: oneshot::Receiver<Result<Report, Error>>) -> Result<Report, Error> {
    report.await.unwrap_or(Err(Error::WatcherDied))
}
