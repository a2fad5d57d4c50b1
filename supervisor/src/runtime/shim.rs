//! A shim that is a child of this process: its end is noticed, it never stays as a zombie, and it can be told to stop even
//! when its directory is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Arc;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A shim that this process started.
#[derive(Debug)]
pub(crate) struct Shim {
    child: Option<Child>,
    /// Readable once it is gone.
    end: AsyncFd<Arc<OwnedFd>>,
}

/// Reaches a shim, and nobody else once it is gone.
#[derive(Debug, Clone)]
pub(crate) struct ShimHandle(Arc<OwnedFd>);

impl Shim {
    /// Starts a shim and keeps an eye on it.
    pub(super) fn start(launch: impl FnOnce() -> io::Result<Child>) -> io::Result<Self> {
        let child = launch()?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        #[expect(
            deprecated,
            reason = "sound for a descriptor that is owned; its successor is unsafe"
        )]
        let end = AsyncFd::with_interest(Arc::new(pidfd), Interest::READABLE)?;
        Ok(Self { child: Some(child), end })
    }

    /// Waits until it is gone. What it exits with says nothing that its record does not say better. Safe to drop.
    pub(crate) async fn ended(&mut self) {
        // One that cannot be waited for any more is gone as well.
        while self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None))) {
            match self.end.readable().await {
                Ok(mut woken) => woken.clear_ready(),
                Err(_) => return,
            }
        }
    }

    pub(crate) fn handle(&self) -> ShimHandle {
        ShimHandle(Arc::clone(self.end.get_ref()))
    }
}

impl Drop for Shim {
    /// Its watcher died and it goes on, for as long as the step takes: the wait has a thread of its own.
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        let wait = std::thread::Builder::new().name("shim-wait".to_owned()).stack_size(128 * 1024);
        if let Err(error) = wait.spawn(move || child.wait()) {
            tracing::warn!(%error, "a shim cannot be waited for");
        }
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
