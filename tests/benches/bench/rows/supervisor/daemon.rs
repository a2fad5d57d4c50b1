//! A supervisor of the measured binary, calls to it, and what the kernel says of a process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use ratchet_proto::status::mark;
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::apply_response;
use ratchet_proto::supervisor::v1::step_event::Event;
use ratchet_proto::supervisor::v1::supervisor_service_client::SupervisorServiceClient;
use ratchet_tests::{TestEnv, wait};
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

use super::super::super::world::World;

pub(super) type Client = SupervisorServiceClient<Channel>;

/// A running supervisor. Dropping it kills it.
pub(super) struct Daemon {
    child: Child,
    socket: String,
    runtime: Runtime,
}

impl Daemon {
    /// Starts one with room for this many commands, and waits until it answers.
    pub(super) fn start(world: &World, env: &TestEnv, capacity: usize) -> Result<Self> {
        let daemon = Self::launch(world, env, capacity)?;
        daemon.call(async |_| Ok(()))?;
        Ok(daemon)
    }

    /// Starts one and waits for nothing.
    pub(super) fn launch(world: &World, env: &TestEnv, capacity: usize) -> Result<Self> {
        let log = File::options().create(true).append(true).open(env.base().join("log"))?;
        let child = world
            .command(env, &["supervisor", "run", "--capacity", &capacity.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let socket = env.socket().display().to_string();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { child, socket, runtime })
    }

    pub(super) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Runs a client, once the supervisor answers.
    pub(super) fn call<T>(&self, client: impl AsyncFnOnce(Client) -> Result<T>) -> Result<T> {
        self.runtime.block_on(async { client(self.connect().await?).await })
    }

    async fn connect(&self) -> Result<Client> {
        let endpoint = Endpoint::from_shared(format!("unix:{}", self.socket))?;
        let end = tokio::time::Instant::now() + wait::DEADLINE;
        loop {
            match endpoint.connect().await {
                Ok(channel) => return Ok(SupervisorServiceClient::new(channel)),
                Err(error) if tokio::time::Instant::now() > end => bail!(error),
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    }

    /// Ends it as a crash would.
    pub(super) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _may_be_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A project as a caller sees it whose agent is this command.
pub(super) fn project(env: &TestEnv, root: &Path, agent: &str) -> wire::Project {
    let mut variables: BTreeMap<OsString, OsString> = env.variables();
    variables.insert("RATCHET_BATCH_AGENT_CMD".into(), agent.into());
    let variable = |(name, value): (OsString, OsString)| wire::Variable {
        name: name.as_bytes().to_vec(),
        value: value.as_bytes().to_vec(),
    };
    let variables = variables.into_iter().map(variable).collect();
    wire::Project {
        root: root.display().to_string(),
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

/// A request of this version.
pub(super) fn marked<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    mark(request.metadata_mut());
    request
}

/// What one apply came to.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) stdout: Vec<u8>,
    pub(super) spawn: Option<String>,
    pub(super) reported: bool,
}

/// Applies once and hears it to its end; one that is told to come again does so.
pub(super) async fn applied(mut client: Client, request: wire::ApplyRequest) -> Result<Told> {
    loop {
        let heard = match client.apply(marked(request.clone())).await {
            Ok(answers) => hear(answers.into_inner()).await,
            Err(status) => Err(status),
        };
        match heard {
            Ok(told) => return Ok(told),
            Err(status) if status.code() == Code::ResourceExhausted => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(status) => bail!(status),
        }
    }
}

async fn hear(mut answers: Streaming<wire::ApplyResponse>) -> Result<Told, Status> {
    let mut told = Told::default();
    while let Some(answer) = answers.message().await? {
        match answer.message {
            Some(apply_response::Message::Event(event)) => told.hear(event),
            Some(apply_response::Message::Report(_)) => told.reported = true,
            None => {}
        }
    }
    Ok(told)
}

impl Told {
    pub(super) fn hear(&mut self, event: wire::StepEvent) {
        match event.event {
            Some(Event::Started(started)) => self.spawn = Some(started.spawn),
            Some(Event::Output(output)) if output.stream() == wire::OutputStream::Stdout => {
                self.stdout.extend_from_slice(&output.data);
            }
            Some(Event::Output(_) | Event::Notice(_) | Event::Ended(_)) | None => {}
        }
    }
}

/// The memory that a process holds, in KiB.
pub(super) fn rss_kib(pid: i32) -> Result<f64> {
    kib(&format!("/proc/{pid}/status"), "VmRSS:")
}

/// The memory that is there because of a process, in KiB: what it shares is divided by those who share it.
pub(super) fn pss_kib(pid: i32) -> Result<f64> {
    kib(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

pub(super) fn threads(pid: i32) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/task"))?.count())
}

/// The processes that a process has started and not yet waited for.
pub(super) fn children(pid: i32) -> Result<Vec<i32>> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("children"))?;
        found.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok()));
    }
    Ok(found)
}

/// How often a process was given a processor, all its threads together.
pub(super) fn switches(pid: i32) -> Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(task?.path().join("status"))?;
        let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        sum += counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum::<u64>();
    }
    ensure!(sum > 0, "the kernel tells of no switch");
    Ok(sum)
}

fn kib(file: &str, field: &str) -> Result<f64> {
    let text = fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    number.with_context(|| format!("{file} has no {field}"))
}
