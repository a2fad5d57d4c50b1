//! A supervisor of one world, as a process of its own. Every test of the command line can be run through one: set
//! `RATCHET_TEST_THROUGH=supervisor`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::wait;

/// The variable that has every world start a supervisor.
const THROUGH: &str = "RATCHET_TEST_THROUGH";

/// A running `ratchet supervisor run`. It belongs to no world by the marks of [`crate::process`]: what a step leaves is
/// told from what watches steps. Dropping it kills it.
#[derive(Debug)]
pub struct Supervisor {
    child: Child,
    log: PathBuf,
}

impl Supervisor {
    /// Starts one at the socket where commands with these variables look for it, and waits until it listens.
    ///
    /// # Panics
    /// When it can't be started.
    #[track_caller]
    pub fn start(program: &str, base: &Path, variables: &BTreeMap<OsString, OsString>) -> Self {
        let log = base.join("supervisor.log");
        let told = File::create(&log).expect("the world's folder takes a file");
        let mut child = Command::new(program)
            .args(["supervisor", "run", "--capacity", "16"])
            .current_dir("/")
            .env_clear()
            .envs(variables)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(told)
            .spawn()
            .expect("the tested program starts");
        let socket = base.join("run/ratchet/supervisor.sock");
        wait::until("the supervisor to listen", || {
            assert!(matches!(child.try_wait(), Ok(None)), "the supervisor ended: {log:?}");
            std::os::unix::net::UnixStream::connect(&socket).is_ok()
        });
        Self { child, log }
    }

    /// Says whether tests are to run through a supervisor.
    pub fn is_asked_for() -> bool {
        std::env::var_os(THROUGH).is_some_and(|said| said == "supervisor")
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _may_be_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
