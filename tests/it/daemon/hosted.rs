//! A supervisor in this process, for one world, and calls to it. Ending its runtime is as good as killing it: nothing is
//! told to anybody, and what it was about to write is not written.

#![expect(clippy::unwrap_used, reason = "all of this is a test's")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use ratchet_proto::status::{from_status, mark};
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::apply_response;
use ratchet_proto::supervisor::v1::step_event::Event;
use ratchet_proto::supervisor::v1::supervisor_service_client::SupervisorServiceClient;
use ratchet_supervisor::Options;
use ratchet_supervisor::daemon::{self, DaemonError, DaemonOptions, Running};
use ratchet_supervisor::environment::Environment;
use ratchet_supervisor::grpc::service::Ending;
use ratchet_tests::TestEnv;
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};

use crate::PROGRAMS;

pub(super) type Client = SupervisorServiceClient<Channel>;

/// A running supervisor.
pub(super) struct Hosted {
    runtime: Option<Runtime>,
    running: Option<Running>,
}

impl Hosted {
    /// Starts one for a world, with room for this many commands.
    pub(super) fn start(env: &TestEnv, capacity: usize) -> Self {
        Self::start_with(env, capacity, |_| {})
    }

    pub(super) fn start_with(
        env: &TestEnv,
        capacity: usize,
        change: impl FnOnce(&mut DaemonOptions),
    ) -> Self {
        Self::try_start(env, capacity, change).unwrap()
    }

    pub(super) fn try_start(
        env: &TestEnv,
        capacity: usize,
        change: impl FnOnce(&mut DaemonOptions),
    ) -> Result<Self, DaemonError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let mut options = DaemonOptions {
            supervisor: Options {
                shim: vec![PROGRAMS.ratchet.into(), "shim".into()],
                ratchet: PROGRAMS.ratchet.into(),
                local_capacity: NonZeroUsize::new(capacity).unwrap(),
            },
            environment: Environment::new(env.root(), env.variables()),
            socket: env.socket(),
            group: None,
            tcp: None,
            on_signal: Ending::Leave,
        };
        change(&mut options);
        let running = runtime.block_on(daemon::start(options))?;
        Ok(Self { runtime: Some(runtime), running: Some(running) })
    }

    /// Runs a client.
    pub(super) fn call<T>(&self, client: impl Future<Output = T>) -> T {
        let patience = async { tokio::time::timeout(Duration::from_secs(60), client).await };
        self.runtime.as_ref().unwrap().block_on(patience).expect("an answer in good time")
    }

    /// Ends it in order.
    pub(super) fn end(mut self, ending: Ending) {
        let running = self.running.take().unwrap();
        self.call(running.end(ending));
    }

    /// Ends it in order, while a client goes on.
    pub(super) fn end_under<T>(mut self, ending: Ending, client: impl Future<Output = T>) -> T {
        let running = self.running.take().unwrap();
        self.call(async { tokio::join!(running.end(ending), client).1 })
    }

    /// Ends it at once, wherever it is.
    pub(super) fn kill(mut self) {
        self.runtime.take().unwrap().shutdown_timeout(Duration::from_secs(10));
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Connects as this version does.
pub(super) async fn connect(env: &TestEnv) -> Client {
    let place = format!("unix:{}", env.socket().display());
    let channel = Endpoint::from_shared(place).unwrap().connect().await.unwrap();
    SupervisorServiceClient::new(channel)
}

/// The project of a world, with the environment of a caller that has this agent.
pub(super) fn project(env: &TestEnv, agent: &str) -> wire::Project {
    project_with(env, agent, [])
}

pub(super) fn project_with<const N: usize>(
    env: &TestEnv,
    agent: &str,
    more: [(&str, &str); N],
) -> wire::Project {
    let mut variables: BTreeMap<OsString, OsString> = env.variables();
    variables.insert("RATCHET_BATCH_AGENT_CMD".into(), agent.into());
    variables.extend(more.map(|(name, value)| (name.into(), value.into())));
    let variable = |(name, value): (OsString, OsString)| wire::Variable {
        name: name.as_bytes().to_vec(),
        value: value.as_bytes().to_vec(),
    };
    let variables = variables.into_iter().map(variable).collect();
    wire::Project {
        root: env.root().display().to_string(),
        environment: Some(wire::Environment { variables }),
    }
}

pub(super) fn apply(project: wire::Project, batch: &str) -> wire::ApplyRequest {
    wire::ApplyRequest {
        project: Some(project),
        batch: batch.to_owned(),
        leave: wire::Leave::GoesOn.into(),
        ..wire::ApplyRequest::default()
    }
}

pub(super) fn cancel(project: wire::Project, batch: &str) -> wire::CancelRequest {
    wire::CancelRequest {
        project: Some(project),
        home: Some(wire::cancel_request::Home::Batch(batch.to_owned())),
        reason: wire::StopReason::Cancel.into(),
    }
}

/// A request of this version.
pub(super) fn marked<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    mark(request.metadata_mut());
    request
}

/// What one apply told.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) started: Vec<wire::Started>,
    pub(super) stdout: Vec<u8>,
    pub(super) notices: Vec<String>,
    pub(super) report: Option<wire::ApplyReport>,
}

impl Told {
    pub(super) fn state(&self) -> wire::StepState {
        match self.report.as_ref().and_then(|report| report.report.as_ref()) {
            Some(wire::apply_report::Report::Step(step)) => step.state(),
            other => panic!("no step: {other:?}"),
        }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Started(started) => self.started.push(started),
            Event::Output(output) => match output.stream() {
                wire::OutputStream::Stdout => self.stdout.extend_from_slice(&output.data),
                wire::OutputStream::Stderr | wire::OutputStream::Unspecified => {}
            },
            Event::Notice(notice) => self.notices.push(notice.text),
            Event::Ended(_) => {}
        }
    }
}

/// Hears an apply to its end.
pub(super) async fn hear(mut answers: Streaming<wire::ApplyResponse>) -> Result<Told, Status> {
    let mut told = Told::default();
    while let Some(answer) = answers.message().await? {
        match answer.message.unwrap() {
            apply_response::Message::Event(event) => told.hear(event.event.unwrap()),
            apply_response::Message::Report(report) => told.report = Some(report),
        }
    }
    Ok(told)
}

/// Applies once and hears it to its end.
pub(super) async fn applied(
    client: &mut Client,
    request: wire::ApplyRequest,
) -> Result<Told, Status> {
    hear(client.apply(marked(request)).await?.into_inner()).await
}

/// Hears a spawn's whole output.
pub(super) async fn output_of(
    client: &mut Client,
    project: wire::Project,
    spawn: &str,
) -> Result<Vec<u8>, Status> {
    let of = wire::attach_request::Of::Spawn(spawn.to_owned());
    let request = wire::AttachRequest { project: Some(project), of: Some(of), offset: Some(0) };
    let mut answers = client.attach(marked(request)).await?.into_inner();
    let mut told = Told::default();
    while let Some(answer) = answers.message().await? {
        told.hear(answer.event.unwrap().event.unwrap());
    }
    Ok(told.stdout)
}

/// The code of a refusal.
pub(super) fn code(status: &Status) -> String {
    from_status(status).code
}
