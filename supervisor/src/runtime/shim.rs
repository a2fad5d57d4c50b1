//! A shim that this process can reach beyond its files: a child of it, or a container. Its end is noticed, nothing of it
//! stays behind, and it can be told to stop even when its directory is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::process;
use std::sync::Arc;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::docker::{Death, Ending, Keeper, Reach};
use super::remote::mirrored::Mirrored;

/// A shim that can be reached.
#[derive(Debug)]
pub(crate) enum Shim {
    /// It is a child of this process.
    Child(Child),
    /// It is in a container.
    Container(Keeper),
    /// It is on another machine; here is its mirror.
    Mirrored(Box<Mirrored>),
}

/// Reaches a shim, and nobody else once it is gone.
#[derive(Debug, Clone)]
pub(crate) enum ShimHandle {
    /// A child of this process.
    Child(Arc<OwnedFd>),
    /// A container.
    Container(Reach),
}

/// A shim that is a child of this process: it never stays as a zombie.
#[derive(Debug)]
pub(crate) struct Child {
    child: Reaped,
    /// Readable once it is gone.
    end: AsyncFd<Arc<OwnedFd>>,
}

/// A child process that is waited for whatever becomes of its watcher.
#[derive(Debug)]
struct Reaped(Option<process::Child>);

impl Shim {
    /// Waits until it is gone. What it exits with says nothing that its record does not say better. Safe to drop.
    pub(crate) async fn ended(&mut self) {
        match self {
            Self::Child(child) => child.ended().await,
            Self::Container(keeper) => keeper.ended().await,
            Self::Mirrored(mirrored) => mirrored.ended().await,
        }
    }

    /// Clears away what is left of the place it ran in, and says what is known there of an end that its record does not
    /// tell. Only for a spawn that is over.
    pub(crate) async fn clear(self, end: Ending) -> Option<Death> {
        match self {
            // One that is about to go is waited for by its drop.
            Self::Child(_) | Self::Mirrored(_) => None,
            Self::Container(keeper) => keeper.clear(end).await,
        }
    }

    /// Brings back what mirrors a command of another machine, if somebody killed it; says whether that goes on.
    pub(crate) async fn revive(&mut self) -> bool {
        match self {
            Self::Child(_) | Self::Container(_) => false,
            Self::Mirrored(mirrored) => mirrored.revive().await,
        }
    }

    pub(crate) fn handle(&self) -> Option<ShimHandle> {
        match self {
            Self::Child(child) => Some(ShimHandle::Child(child.handle())),
            Self::Container(keeper) => Some(ShimHandle::Container(keeper.reach())),
            Self::Mirrored(mirrored) => mirrored.handle().map(ShimHandle::Child),
        }
    }
}

impl Child {
    /// Starts a shim and keeps an eye on it.
    pub(super) fn start(launch: impl FnOnce() -> io::Result<process::Child>) -> io::Result<Self> {
        let child = launch()?;
        let pid = Pid::from_child(&child);
        let child = Reaped(Some(child));
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        #[expect(
            deprecated,
            reason = "sound for a descriptor that is owned; its successor is unsafe"
        )]
        let end = AsyncFd::with_interest(Arc::new(pidfd), Interest::READABLE)?;
        Ok(Self { child, end })
    }

    pub(super) fn handle(&self) -> Arc<OwnedFd> {
        Arc::clone(self.end.get_ref())
    }

    pub(super) async fn ended(&mut self) {
        // One that cannot be waited for any more is gone as well.
        while self.child.is_running() {
            match self.end.readable().await {
                Ok(mut woken) => woken.clear_ready(),
                Err(_) => return,
            }
        }
    }
}

impl Reaped {
    fn is_running(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Reaped {
    /// Its watcher died and it goes on, for as long as the step takes: the wait has a thread of its own.
    fn drop(&mut self) {
        if !self.is_running() {
            return;
        }
        let Some(mut child) = self.0.take() else { return };
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
        match self {
            Self::Child(pidfd) => Ok(pidfd_send_signal(&**pidfd, Signal::TERM)?),
            Self::Container(reach) => {
                reach.terminate();
                Ok(())
            }
        }
    }
}
