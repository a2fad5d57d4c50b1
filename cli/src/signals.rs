//! Ctrl-C and `kill`: the first asks, the second leaves at once, and either way the process dies by the signal.
//!
//! What asking means is the command's: it stops a step, or only ends the following of one.

use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// Has a file that may not grow any more (`ulimit -f`) be an error that says so, not a reason to die.
pub(crate) fn outlive_full_files() {
    // A process that may not even say so goes on as before.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// A signal that asks the process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// `kill`, a service manager, a CI runner.
    Terminate,
}

impl Signal {
    /// Returns the name that a person knows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }

    /// Dies by this signal; the exit code is for the case that the system refuses.
    pub(crate) fn die(self) -> ExitCode {
        let number = match self {
            Self::Interrupt => signal_hook::consts::SIGINT,
            Self::Terminate => signal_hook::consts::SIGTERM,
        };
        match signal_hook::low_level::emulate_default_handler(number) {
            Ok(()) | Err(_) => {
                ExitCode::from(128 + u8::try_from(number).expect("both numbers are below 128"))
            }
        }
    }
}

/// Receives both signals from the moment it is made; until then they end the process.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Stream,
    terminate: Stream,
}

impl Signals {
    /// Takes the signals over. Needs a running tokio runtime.
    pub(crate) fn take() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}
