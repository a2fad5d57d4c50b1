//! A shim that is a child of this process: its end is noticed, it never stays as a zombie, and it can be told to stop even
//! when its directory is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Arc;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

/// A shim that this process started.
#[derive(Debug)]
pub(crate) struct Shim {
    child: Child,
    /// Woken by the end of any child, so each shim looks whether it was its own.
    children: Signals,
    handle: ShimHandle,
}

/// Reaches a shim, and nobody else once it is gone.
#[derive(Debug, Clone)]
pub(crate) struct ShimHandle(Arc<OwnedFd>);

impl Shim {
    /// Starts a shim and keeps an eye on it from before its start.
    pub(super) fn start(launch: impl FnOnce() -> io::Result<Child>) -> io::Result<Self> {
        let children = signal(SignalKind::child())?;
        let child = launch()?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        Ok(Self { child, children, handle: ShimHandle(Arc::new(pidfd)) })
    }

    /// Waits until it is gone. What it exits with says nothing that its record does not say better. Safe to drop.
    pub(crate) async fn ended(&mut self) {
        // One that cannot be waited for any more is gone as well.
        while matches!(self.child.try_wait(), Ok(None)) {
            if self.children.recv().await.is_none() {
                return;
            }
        }
    }

    pub(crate) fn handle(&self) -> ShimHandle {
        self.handle.clone()
    }
}

impl ShimHandle {
    /// Tells it to stop what it runs.
    ///
    /// # Errors
    /// Fails if it is gone.
    pub(crate) fn terminate(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&*self.0, Signal::TERM)?)
    }
}
