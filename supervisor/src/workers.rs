//! The door to workers for whoever looks after them: what each is like and has to do, whether it can take steps, and whether it
//! may take new ones.
//!
//! Steps do not come here: they run through [`crate::Supervisor`].

use std::collections::BTreeMap;

use ratchet_engine::permission::Escalation;
use ratchet_engine::settings::{self, Worker};
use ratchet_proto::runtime::v1 as wire;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::doctor::{Check, Diagnosis, Severity, Status};
use crate::error::Error;
use crate::project::Project;
use crate::runtime::remote::RemoteError;
use crate::runtime::remote::client::{Client, token_of};
use crate::runtime::{StartError, remote};

/// Less room than this is told as a trouble, in bytes.
const LITTLE_ROOM: u64 = 1024 * 1024 * 1024;

/// A worker of the settings, and what it answered.
#[derive(Debug)]
pub struct Looked {
    /// Where it is: `host:port`.
    pub name: String,
    /// What it is like, or why nobody knows.
    pub answer: Result<About, Error>,
}

/// What a worker is like, and what it has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The version of its runtime-agent.
    pub version: String,
    /// How many commands run.
    pub running: u32,
    /// How many may.
    pub max_sessions: u32,
    /// Whether it takes no new ones.
    pub draining: bool,
    /// What its operator says of it.
    pub labels: BTreeMap<String, String>,
    /// The coding agents that are installed there.
    pub agents: Vec<String>,
    /// Where its `ratchet` is; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratchet: Option<String>,
    /// What is free on its disk, in bytes.
    pub free_bytes: u64,
    /// How many workspaces it keeps of this project.
    pub workspaces: u32,
    /// What it knows of commands, oldest first.
    pub sessions: Vec<Session>,
}

/// A command that a worker knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The spawn's id.
    pub id: String,
    /// The worker's name for the project.
    pub project: String,
    /// How far it is.
    pub state: SessionState,
    /// Words about it.
    pub labels: BTreeMap<String, String>,
}

/// How far a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// Its workspace is laid out.
    Preparing,
    /// It runs.
    Running,
    /// It has ended, and what it left is taken.
    Concluding,
    /// Its result waits for a supervisor.
    Ended,
}

/// Whether a worker takes new commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// It does.
    Open,
    /// It does not; what runs goes on.
    Draining,
}

/// What a worker still has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drained {
    /// Where it is: `host:port`.
    pub name: String,
    /// Whether it takes no new commands now.
    pub draining: bool,
    /// How many commands run.
    pub running: u32,
    /// How many results wait for a supervisor.
    pub unreleased: u32,
}

impl Project {
    /// Asks every worker of the settings, all at once.
    ///
    /// # Errors
    /// If the settings cannot be read, or name no worker. A worker that does not answer hides no other.
    pub async fn workers(&self) -> Result<Vec<Looked>, Error> {
        let mut asked = JoinSet::new();
        let project = remote::errand::project_name(self.root());
        for (at, worker) in self.named_workers()?.into_iter().enumerate() {
            let project = project.clone();
            asked.spawn(async move {
                let answer = about(&worker, &project).await.map_err(failed);
                (at, Looked { name: worker.name, answer })
            });
        }
        let mut looked = asked.join_all().await;
        looked.sort_by_key(|(at, _)| *at);
        Ok(looked.into_iter().map(|(_, looked)| looked).collect())
    }

    /// Says of every worker of the settings whether it can take steps, and what to do if not.
    ///
    /// # Errors
    /// As [`Project::workers`].
    pub async fn check_workers(&self) -> Result<Diagnosis, Error> {
        let checks: Vec<Check> = self.workers().await?.iter().flat_map(checks).collect();
        let ok = checks.iter().all(|check| check.status != Status::Fail);
        Ok(Diagnosis { ok, checks })
    }

    /// Has a worker take no new commands, or take them again. Without a name it is the only one of the settings.
    ///
    /// # Errors
    /// If no worker, or more than one, is meant; if it cannot be asked.
    pub async fn set_door(&self, name: Option<&str>, door: Door) -> Result<Drained, Error> {
        let mut workers = self.named_workers()?;
        workers.retain(|worker| name.is_none_or(|name| worker.name == name));
        let [worker] = workers.as_slice() else {
            let meant = name.map(str::to_owned);
            let known = self.named_workers()?.into_iter().map(|worker| worker.name).collect();
            return Err(failed(RemoteError::WhichWorker { meant, known }));
        };
        let drained = async {
            let mode = match door {
                Door::Open => wire::DrainMode::Resume,
                Door::Draining => wire::DrainMode::Drain,
            };
            connect(worker).await?.drain(mode).await
        };
        let wire::DrainResponse { running, unreleased } = drained.await.map_err(failed)?;
        let draining = door == Door::Draining;
        Ok(Drained { name: worker.name.clone(), draining, running, unreleased })
    }

    fn named_workers(&self) -> Result<Vec<Worker>, Error> {
        let settings = self.settings(None, Escalation::Clamped)?;
        settings.remote_workers().map_err(|error: settings::RemoteError| failed(error.into()))
    }
}

async fn connect(worker: &Worker) -> Result<Client, RemoteError> {
    let token = token_of(worker)?;
    Client::connect(&worker.address, worker.tls_ca.as_deref(), &token).await
}

async fn about(worker: &Worker, project: &str) -> Result<About, RemoteError> {
    let client = connect(worker).await?;
    let about = client.capabilities(project).await?;
    let sessions = client.list().await?.sessions;
    Ok(About {
        version: about.version,
        running: about.running,
        max_sessions: about.max_sessions,
        draining: about.draining,
        labels: labels(about.labels),
        agents: about.agents.into_iter().map(|agent| agent.name).collect(),
        ratchet: about.ratchet,
        free_bytes: about.free_bytes,
        workspaces: about.workspaces,
        sessions: sessions.into_iter().filter_map(session).collect(),
    })
}

/// One whose state this version does not know is left out.
fn session(session: wire::Session) -> Option<Session> {
    let state = match session.state() {
        wire::SessionState::Unspecified => return None,
        wire::SessionState::Preparing => SessionState::Preparing,
        wire::SessionState::Running => SessionState::Running,
        wire::SessionState::Concluding => SessionState::Concluding,
        wire::SessionState::Ended => SessionState::Ended,
    };
    let wire::Session { id, project, labels: words, .. } = session;
    Some(Session { id, project, state, labels: labels(words) })
}

fn labels(labels: Vec<wire::Label>) -> BTreeMap<String, String> {
    labels.into_iter().map(|label| (label.name, label.value)).collect()
}

fn failed(error: RemoteError) -> Error {
    Error::Start(StartError::Remote(error))
}

fn checks(looked: &Looked) -> Vec<Check> {
    let check = |status, detail: String, remedy: Option<String>| Check {
        id: "worker",
        label: "Worker",
        status,
        severity: Severity::Required,
        detail: format!("{}: {detail}", looked.name),
        remedy,
    };
    let about = match &looked.answer {
        Err(error) => return vec![check(Status::Fail, error.to_string(), error.help())],
        Ok(about) => about,
    };
    let (running, most) = (about.running, about.max_sessions);
    let mut checks =
        vec![check(Status::Pass, format!("answers; {running} of {most} commands run"), None)];
    if about.version != env!("CARGO_PKG_VERSION") {
        let detail =
            format!("runs version {}, this is {}", about.version, env!("CARGO_PKG_VERSION"));
        let remedy = "install the same version on both".to_owned();
        checks.push(check(Status::Info, detail, Some(remedy)));
    }
    if about.draining {
        let remedy = format!("ratchet worker drain {} --resume", looked.name);
        checks.push(check(Status::Fail, "takes no new steps: it drains".to_owned(), Some(remedy)));
    }
    if about.ratchet.is_none() {
        let remedy = "put ratchet beside runtime-agent there, or start it with '--ratchet PATH'";
        let detail = "has no ratchet, so no agent can report".to_owned();
        checks.push(check(Status::Fail, detail, Some(remedy.to_owned())));
    }
    if about.agents.is_empty() {
        let remedy = "install one there, on the PATH of runtime-agent".to_owned();
        checks.push(check(Status::Info, "has no coding agent".to_owned(), Some(remedy)));
    } else {
        checks.push(check(Status::Pass, format!("has {}", about.agents.join(", ")), None));
    }
    if about.free_bytes < LITTLE_ROOM {
        let detail = format!("has {} MiB left on its disk", about.free_bytes >> 20);
        checks.push(check(Status::Info, detail, Some("make room there".to_owned())));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> About {
        About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            running: 1,
            max_sessions: 4,
            draining: false,
            labels: BTreeMap::new(),
            agents: vec!["claude".to_owned()],
            ratchet: Some("/usr/local/bin/ratchet".to_owned()),
            free_bytes: 1 << 40,
            workspaces: 0,
            sessions: Vec::new(),
        }
    }

    fn found(about: About) -> Vec<(Status, String)> {
        let looked = Looked { name: "attic:7431".to_owned(), answer: Ok(about) };
        let told = |check: Check| {
            assert_eq!(check.status == Status::Pass, check.remedy.is_none(), "{check:?}");
            (check.status, check.detail)
        };
        checks(&looked).into_iter().map(told).collect()
    }

    #[test]
    fn a_worker_that_is_well_passes_and_each_trouble_has_its_remedy() {
        assert!(found(about()).iter().all(|(status, _)| *status == Status::Pass));
        let troubled = About {
            draining: true,
            ratchet: None,
            agents: Vec::new(),
            free_bytes: 5,
            version: "9.9.9".to_owned(),
            ..about()
        };
        let count = |wanted| found(troubled.clone()).iter().filter(|(s, _)| *s == wanted).count();
        assert_eq!((count(Status::Fail), count(Status::Info)), (2, 3));
    }
}
