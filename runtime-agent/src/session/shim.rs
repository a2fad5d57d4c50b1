//! Notices the end of a shim, be it a child of this process or of an earlier one. The wait has a small thread of its own, as
//! the kernel tells this only to whoever waits.

use std::io;
use std::process::Child;
use std::thread;

use ratchet_spawn::{SpawnDir, await_shim_end};
use tokio::sync::oneshot;

/// Becomes ready when the shim is gone.
pub(super) type Gone = oneshot::Receiver<()>;

/// Waits for a shim that this process started; it never stays as a zombie.
pub(super) fn of_child(mut child: Child) -> io::Result<Gone> {
    waiting(move || {
        // What it exits with says nothing that its record does not say better.
        let _code = child.wait();
    })
}

/// Waits for the shim of a spawn that an earlier process started.
pub(super) fn of_earlier(dir: SpawnDir) -> io::Result<Gone> {
    waiting(move || {
        if let Err(error) = await_shim_end(&dir) {
            tracing::warn!(%error, spawn = %dir.id(), "a shim cannot be waited for");
        }
    })
}

fn waiting(wait: impl FnOnce() + Send + 'static) -> io::Result<Gone> {
    let (tell, gone) = oneshot::channel();
    thread::Builder::new().name("shim-wait".to_owned()).stack_size(128 * 1024).spawn(
        move || {
            wait();
            // Nobody may listen any more when the worker ends.
            let _heard = tell.send(());
        },
    )?;
    Ok(gone)
}
