//! Waiting for descriptors until a moment of the awake clock (`CLOCK_MONOTONIC` stands still while the machine sleeps).

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until one of the processes ends or the moment comes.
pub(crate) fn wait_for_any(pidfds: &[&OwnedFd], until: Instant) -> io::Result<()> {
    let mut fds: Vec<PollFd<'_>> =
        pidfds.iter().map(|pidfd| PollFd::new(*pidfd, PollFlags::IN)).collect();
    poll_until(&mut fds, Some(until))
}

/// Polls until something is ready, a signal arrives or the moment comes; `None` never comes.
pub(crate) fn poll_until(fds: &mut [PollFd<'_>], until: Option<Instant>) -> io::Result<()> {
    let timeout = until.map(|until| {
        let left = until.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        }
    });
    match poll(fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(other) => Err(other.into()),
    }
}
