//! Asking a supervisor to end, and waiting until it is gone: the kernel tells when its process has ended; of one on another
//! machine the connection does.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use ratchet_proto::supervisor::v1 as wire;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::net::UnixStream;
use tonic::Streaming;
use tonic_health::pb::HealthCheckResponse;

use super::about::steps;
use super::place::Place;
use super::{Client, ClientError, refused, whole};
use crate::actor::board::Active;
use crate::grpc::service::Ending;

/// A supervisor that has been asked to end.
#[derive(Debug)]
pub struct Leaving {
    /// Its process id, on its machine.
    pub pid: u32,
    /// The steps that ran or waited for room when it was asked.
    pub active: Vec<Active>,
    tells: Tells,
}

/// What tells of its end.
#[derive(Debug)]
enum Tells {
    /// Its process, on this machine.
    Process(OwnedFd),
    /// A call that lasts as long as the connection.
    Call(Box<Streaming<HealthCheckResponse>>),
}

impl Client {
    /// Asks for the end.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn stop(&mut self, place: &Place, ending: Ending) -> Result<Leaving, ClientError> {
        let info = self.info().await?;
        // Taken hold of before it is asked: it answers once more, so it was this very process.
        let tells = match process(place, &info).await {
            Some(process) => Tells::Process(process),
            None => Tells::Call(Box::new(self.listen().await?)),
        };
        let (mode, drain_ms) = match ending {
            Ending::Leave => (wire::StopMode::Leave, 0),
            Ending::Drain(ms) => (wire::StopMode::Drain, ms.unwrap_or_default()),
        };
        let asked = wire::StopRequest { mode: mode.into(), drain_ms };
        let answer = self.service.stop(asked).await.map_err(refused)?.into_inner();
        Ok(Leaving { pid: info.pid, active: steps(answer.active)?, tells })
    }

    async fn listen(&self) -> Result<Streaming<HealthCheckResponse>, ClientError> {
        Ok(self.health().watch(whole()).await.map_err(refused)?.into_inner())
    }
}

impl Leaving {
    /// Waits until it is gone.
    ///
    /// # Errors
    /// Fails if its process cannot be waited for.
    pub async fn gone(self) -> io::Result<()> {
        match self.tells {
            Tells::Process(process) => {
                let wait = move || poll(&mut [PollFd::new(&process, PollFlags::IN)], None);
                tokio::task::spawn_blocking(wait).await.map_err(io::Error::other)??;
            }
            Tells::Call(mut call) => while let Ok(Some(_)) = call.message().await {},
        }
        Ok(())
    }
}

/// Takes hold of the supervisor's process, if it can be seen from here. A container may share the socket and not the
/// process ids; then the number that it gives is somebody else's.
async fn process(place: &Place, info: &wire::InfoResponse) -> Option<OwnedFd> {
    let Place::Socket(path) = place else { return None };
    let pid = i32::try_from(info.pid).ok()?;
    // The kernel names who made the socket: the supervisor, or systemd, which handed it over.
    let maker = maker_of(path).await.ok()??;
    let seen = maker == pid || is_above(maker, pid);
    seen.then(|| pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()).flatten()
}

async fn maker_of(path: &Path) -> io::Result<Option<i32>> {
    Ok(UnixStream::connect(path).await?.peer_cred()?.pid())
}

/// Says whether one process is above another, as systemd is above what it starts.
fn is_above(above: i32, pid: i32) -> bool {
    std::iter::successors(parent_of(pid), |pid| parent_of(*pid)).any(|parent| parent == above)
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok().filter(|parent| *parent > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_below_its_parent_and_not_below_itself() {
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(is_above(parent_of(me).unwrap(), me));
        assert!(!is_above(me, me));
    }
}
