//! What ends a server from outside.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, a service manager, the end of the terminal.
#[derive(Debug)]
pub struct Signals([Signal; 3]);

impl Signals {
    /// Takes them over from the system: from here on none of them ends the process by itself.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn take() -> io::Result<Self> {
        let [terminate, interrupt, hangup] =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        Ok(Self([terminate?, interrupt?, hangup?]))
    }

    /// Waits for the next. Safe to drop.
    pub async fn next(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
