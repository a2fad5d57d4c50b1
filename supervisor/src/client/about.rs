//! What a supervisor says about itself.

use std::path::PathBuf;

use ratchet_engine::name::{BatchName, ChangeName};
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::active_step::Home;

use super::{Client, ClientError};
use crate::actor::board::{Active, StepOf};
use crate::grpc::convert::Malformed;
use crate::store::layout::RunHome;

/// What answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The version of ratchet.
    pub version: String,
    /// The number of the protocol.
    pub protocol: u32,
    /// Its process id, on its machine.
    pub pid: u32,
    /// When it started, ISO 8601 in UTC.
    pub started_at: String,
    /// Where it listens.
    pub listeners: Vec<String>,
    /// How many commands may run at a time.
    pub capacity: u32,
    /// The steps that run or wait for room.
    pub active: Vec<Active>,
    /// The roots of the projects that it knows.
    pub projects: Vec<PathBuf>,
    /// Whether it is about to end and begins no step.
    pub draining: bool,
}

impl Client {
    /// Asks what answers there.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn about(&mut self) -> Result<About, ClientError> {
        let info = self.info().await?;
        Ok(About {
            version: info.version,
            protocol: info.protocol,
            pid: info.pid,
            started_at: info.started_at,
            listeners: info.listeners,
            capacity: info.local_capacity,
            active: steps(info.active)?,
            projects: info.projects.into_iter().map(PathBuf::from).collect(),
            draining: info.draining,
        })
    }
}

/// Reads active steps.
pub(super) fn steps(active: Vec<wire::ActiveStep>) -> Result<Vec<Active>, Malformed> {
    active.into_iter().map(step).collect()
}

fn step(active: wire::ActiveStep) -> Result<Active, Malformed> {
    let missing = || Malformed::missing("whose step it is");
    let home = match active.home.ok_or_else(missing)? {
        Home::Batch(name) => RunHome::Batch(BatchName::parse(&name).map_err(|_| missing())?),
        Home::Change(name) => RunHome::Change(ChangeName::parse(&name).map_err(|_| missing())?),
    };
    let before = active.before.map(|turns| usize::try_from(turns).unwrap_or(usize::MAX));
    Ok(Active { of: StepOf { root: PathBuf::from(active.root), home }, before })
}
