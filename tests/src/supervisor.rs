//! A supervisor of one world, as a process of its own. Every test of the command line can be run through one: set
//! `RATCHET_TEST_THROUGH=supervisor`.

use std::os::unix::net::UnixStream;

use crate::call::Running;
use crate::env::TestEnv;
use crate::wait;

/// The variable that has every world start a supervisor.
const THROUGH: &str = "RATCHET_TEST_THROUGH";

/// A running `ratchet supervisor run`. Dropping it kills it.
#[derive(Debug)]
pub struct Supervisor {
    _running: Running,
}

impl Supervisor {
    /// Starts one where the commands of a world look for it, and waits until it listens.
    ///
    /// # Panics
    /// When it can't be started.
    #[track_caller]
    pub(crate) fn start(env: &TestEnv) -> Self {
        let mut running = env.host(["supervisor", "run", "--capacity", "16"]).start();
        let socket = env.socket();
        wait::until("the supervisor to listen", || {
            assert!(!running.has_ended(), "the supervisor has ended: {}", running.stderr_so_far());
            UnixStream::connect(&socket).is_ok()
        });
        Self { _running: running }
    }

    /// Says whether tests are to run through a supervisor.
    pub fn is_asked_for() -> bool {
        std::env::var_os(THROUGH).is_some_and(|said| said == "supervisor")
    }
}
