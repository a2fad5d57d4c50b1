//! Who does the work: the supervisor in this process, or one that is another process. What it answers, and refuses, is
//! the same.

use ratchet_engine::outcome::StepResult;
use ratchet_engine::report::ApplyReport;
use ratchet_supervisor::Supervisor;
use ratchet_supervisor::client::{Client, ClientError};
use ratchet_supervisor::event::EventSink;
use ratchet_supervisor::project::Project;
use ratchet_supervisor::request::{ApplyRequest, ChangeStepRequest, StopReason};
use ratchet_supervisor::store::layout::RunHome;

use super::{LOCAL_CAPACITY, hosting};
use crate::commands::failed;
use crate::diagnostic::Failure;

/// A supervisor. Cheap to clone; clones are the same one.
#[derive(Debug, Clone)]
pub(super) enum Host {
    /// In this process.
    Here(Supervisor),
    /// In another one.
    There(Client),
}

impl Host {
    /// Finds the supervisor that is wanted, and starts one here if it is this process's.
    pub(super) async fn find(project: &Project) -> Result<Self, Failure> {
        match Client::find(project).await.map_err(refused)? {
            Some(client) => Ok(Self::There(client)),
            None => Ok(Self::Here(Supervisor::start(hosting(LOCAL_CAPACITY)?))),
        }
    }

    pub(super) async fn apply(
        self,
        project: &Project,
        request: ApplyRequest,
        events: EventSink,
    ) -> Result<ApplyReport, Failure> {
        match self {
            Self::Here(supervisor) => {
                supervisor.apply(project, request, events).await.map_err(failed)
            }
            Self::There(mut client) => {
                client.apply(project, &request, events).await.map_err(refused)
            }
        }
    }

    pub(super) async fn change(
        self,
        project: &Project,
        request: ChangeStepRequest,
        events: EventSink,
    ) -> Result<StepResult, Failure> {
        match self {
            Self::Here(supervisor) => {
                supervisor.run_change(project, request, events).await.map_err(failed)
            }
            Self::There(mut client) => {
                client.run_change(project, &request, events).await.map_err(refused)
            }
        }
    }

    /// Asks the step of a run home to stop. When this returns the request is made, whoever lives on.
    pub(super) async fn stop(
        self,
        project: Project,
        home: RunHome,
        by: StopReason,
    ) -> Result<(), Failure> {
        match self {
            Self::Here(supervisor) => {
                supervisor.stop_steps(by).await;
                Ok(())
            }
            Self::There(mut client) => {
                client.cancel(&project, home, by).await.map(drop).map_err(refused)
            }
        }
    }
}

/// Makes a failure of what a supervisor that is another process refuses.
pub(in crate::commands) fn refused(error: ClientError) -> Failure {
    let failure = Failure::new(error.to_string()).code(error.code());
    let failure = error.causes().into_iter().fold(failure, Failure::because);
    match error.help() {
        Some(help) => failure.help(help),
        None => failure,
    }
}
