//! A worker for one world: a `runtime-agent` on a loopback address, with a token and a state folder of its own.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::call::Running;
use crate::env::TestEnv;
use crate::wait;

/// The token that opens every worker of the tests.
pub const TOKEN: &str = "a-token-of-the-tests-0123456789";

/// A running `runtime-agent serve`. Dropping it kills it; what it started goes on.
#[derive(Debug)]
pub struct Worker {
    running: Running,
    address: SocketAddr,
    token: PathBuf,
}

impl Worker {
    /// Starts one and waits until it listens. A second one of the same name finds what the first has left; `more` are further
    /// arguments, such as `--max-sessions`. `listen` is an address, such as `127.0.0.1:0` for any port.
    ///
    /// # Panics
    /// When it can't be started.
    #[track_caller]
    pub fn start(env: &TestEnv, name: &str, listen: &str, more: &[&str]) -> Self {
        let folder = env.base().join("workers").join(name);
        fs::create_dir_all(&folder).expect("a worker has a folder");
        let token = folder.join("token");
        fs::write(&token, TOKEN).expect("a token is written");
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).expect("it is ours");
        let state = folder.join("state");
        let mut arguments: Vec<&OsStr> =
            ["serve", "--listen", listen, "--token-file"].map(OsStr::new).to_vec();
        arguments.extend([token.as_os_str(), OsStr::new("--state-dir"), state.as_os_str()]);
        arguments.extend(more.iter().map(OsStr::new));
        let mut running = env.runtime_agent(arguments).start();
        let mut address = None;
        wait::until("the worker to listen", || {
            let said = running.stderr_so_far();
            assert!(!running.has_ended(), "the worker has ended: {said}");
            address = said.lines().find_map(|line| {
                let (_, at) = line.split_once("listening at ")?;
                at.split_once("://")?.1.split_whitespace().next()?.parse().ok()
            });
            address.is_some()
        });
        Self { running, address: address.expect("it was waited for"), token }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file with its token.
    pub fn token_file(&self) -> &PathBuf {
        &self.token
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.running.pid()
    }

    /// Kills it, and only it.
    pub fn kill(self) {
        self.running.signal(Signal::KILL);
        self.running.wait();
    }

    /// What it has logged so far.
    pub fn log(&mut self) -> String {
        self.running.stderr_so_far()
    }
}
