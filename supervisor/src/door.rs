//! The front door for everything that starts a process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kameo::actor::{ActorRef, Spawn as _};
use kameo::error::SendError;
use kameo::mailbox;
use ratchet_engine::outcome::StepResult;
use ratchet_engine::report::ApplyReport;
use ratchet_telemetry::TraceSpan;
use ratchet_telemetry::name::SpanName;
use tokio::sync::{mpsc, oneshot};
use tracing::Span;

use crate::actor::board::{Active, StepOf};
use crate::actor::message::{Ask, Caller, Report, Stop, Work};
use crate::actor::root::{ROOT_MAILBOX, Root};
use crate::error::Error;
use crate::event::EventSink;
use crate::house::{House, Office, Options};
use crate::project::Project;
use crate::request::{ApplyRequest, ChangeStepRequest, StopReason};
use crate::store::layout::RunHome;

/// The supervisor's actors, hosted in this process, for any number of projects. Dropping it leaves running steps to their
/// shims; the next look at their run homes finds them.
#[derive(Debug, Clone)]
pub struct Supervisor {
    root: ActorRef<Root>,
    office: Arc<Office>,
}

impl Supervisor {
    /// Starts the actors, on the tokio runtime of the caller.
    #[must_use]
    pub fn start(options: Options) -> Self {
        let office = Arc::new(Office::new(options));
        let mailbox = mailbox::bounded(ROOT_MAILBOX);
        Self { root: Root::spawn_with_mailbox(Arc::clone(&office), mailbox), office }
    }

    /// Runs the next step of a batch: at most one agent or one proof-of-work. A step that an earlier call began and was cut
    /// off from is finished instead. The project's environment is that of the step.
    ///
    /// # Errors
    /// Fails if no step could be selected or begun, or if its outcome could not be recorded; then the next call goes on.
    pub async fn apply(
        &self,
        project: &Project,
        request: ApplyRequest,
        events: EventSink,
    ) -> Result<ApplyReport, Error> {
        let name = request.batch.clone();
        let home = RunHome::Batch(name.clone());
        match self.ask(project, home, Ask::Apply(request), events).await? {
            Report::Applied(report) => Ok(report.of_batch(&name)),
            Report::Stepped(result) => Ok(ApplyReport::Step(result)),
            Report::Nothing => Err(Error::WatcherDied),
        }
    }

    /// Runs one forced transition of a change that belongs to no batch.
    ///
    /// # Errors
    /// As [`Supervisor::apply`], and if a precondition of the transition does not hold.
    pub async fn run_change(
        &self,
        project: &Project,
        request: ChangeStepRequest,
        events: EventSink,
    ) -> Result<StepResult, Error> {
        let home = RunHome::Change(request.change.clone());
        match self.ask(project, home, Ask::Change(request), events).await? {
            Report::Stepped(result) | Report::Applied(ApplyReport::Step(result)) => Ok(result),
            Report::Applied(_) | Report::Nothing => Err(Error::WatcherDied),
        }
    }

    /// Finishes the step that an earlier process began in a run home, if there is one: what runs is watched to its end,
    /// what has ended is judged and recorded, what is lost is parked with the reason.
    ///
    /// # Errors
    /// As [`Supervisor::apply`].
    pub async fn recover(
        &self,
        project: &Project,
        home: RunHome,
        events: EventSink,
    ) -> Result<(), Error> {
        self.ask(project, home, Ask::Recover, events).await.map(drop)
    }

    /// Asks every running step to stop. Each ends as `stopped`, is recorded, and can be resumed.
    ///
    /// When this returns the requests are on disk: the steps end also if this process does not live on.
    pub async fn stop_steps(&self, by: StopReason) {
        self.stop(None, by).await;
    }

    /// Asks the step of one run home to stop, if one runs.
    pub async fn stop_step(&self, root: &Path, home: RunHome, by: StopReason) {
        self.stop(Some((root.to_owned(), home)), by).await;
    }

    /// Lists the steps that run or wait for room, and how many have their turn before each that waits.
    #[must_use]
    pub fn active(&self) -> Vec<Active> {
        self.office.active()
    }

    /// Says whether a step runs or waits for room.
    pub(crate) fn is_active(&self, of: &StepOf) -> bool {
        self.office.board.has(of)
    }

    /// Lets no new step begin.
    pub fn close(&self) {
        self.office.board.close();
    }

    /// Says whether it lets no new step begin.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.office.board.is_closed()
    }

    /// Waits until it lets no new step begin.
    pub async fn closing(&self) {
        self.office.board.closing().await;
    }

    /// Waits until no step runs.
    pub async fn cleared(&self) {
        self.office.board.cleared().await;
    }

    /// Returns how it was set up.
    pub(crate) fn options(&self) -> &Options {
        &self.office.options
    }

    async fn stop(&self, of: Option<(PathBuf, RunHome)>, by: StopReason) {
        let (pending, mut asked) = mpsc::channel(1);
        // A root that is gone has nothing left to stop.
        let _gone = self.root.tell(Stop { of, by, pending }).await;
        let _all_asked = asked.recv().await;
    }

    /// Hands work to the actors. What does not fit is refused at once, and never waits in secret.
    async fn ask(
        &self,
        project: &Project,
        home: RunHome,
        ask: Ask,
        events: EventSink,
    ) -> Result<Report, Error> {
        let (reply, report) = oneshot::channel();
        let options = Arc::clone(&self.office.options);
        // Below whatever the caller has told of itself, else a trace of its own.
        let trace = TraceSpan::here(SpanName::Step);
        let house = Arc::new(House { project: project.clone(), options, trace });
        let caller = Caller { events, reply };
        let work = Work { house, home, ask, caller, span: Span::current() };
        match self.root.tell(work).try_send() {
            Ok(()) => {}
            Err(SendError::MailboxFull(_)) => return Err(Error::Busy),
            Err(_) => return Err(Error::WatcherDied),
        }
        // A batch that goes down drops its caller's reply; what it had begun is found by the next call.
        report.await.unwrap_or(Err(Error::WatcherDied))
    }
}
