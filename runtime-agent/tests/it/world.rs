//! One worker's world: its state, its token, its process, and calls to it. Dropping it ends everything that it started.

use std::fs::{self, File, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ratchet_proto::error::v1::ErrorDetail;
use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::runtime_service_client::RuntimeServiceClient;
use ratchet_proto::status::{from_status, mark};
use rustix::process::{Pid, Signal, kill_process};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

/// How long a state may take to come; a passing test never waits it out.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) const TOKEN: &str = "a-token-of-the-tests-0123456789";

pub(crate) type Client = RuntimeServiceClient<InterceptedService<Channel, Bearer>>;

/// Puts the token on every call.
#[derive(Debug, Clone)]
pub(crate) struct Bearer(pub(crate) String);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        mark(request.metadata_mut());
        let value = format!("Bearer {}", self.0).parse().unwrap();
        request.metadata_mut().insert("authorization", value);
        Ok(request)
    }
}

/// A world.
pub(crate) struct World {
    base: tempfile::TempDir,
    /// Where the worker keeps its state; a test may put it on another disk.
    pub(crate) state: PathBuf,
}

/// A worker that listens.
pub(crate) struct Worker {
    child: Child,
    pub(crate) address: SocketAddr,
    log: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        let base = tempfile::Builder::new().prefix("worker.").tempdir().unwrap();
        let world = Self { state: base.path().join("state"), base };
        world.secret("token", TOKEN);
        // What the worker takes for `ratchet`: it is only looked for.
        fs::write(world.path("ratchet"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(world.path("ratchet"), Permissions::from_mode(0o755)).unwrap();
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// Writes a file that is for this user alone.
    pub(crate) fn secret(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// A call of the program. Its environment is the test's own, but for where state would lie.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        self.program_behind(&[], arguments)
    }

    /// The same, started by other words, such as those that enter another network.
    pub(crate) fn program_behind(&self, words: &[&str], arguments: &[&str]) -> Command {
        let mut all = words.to_vec();
        all.push(env!("CARGO_BIN_EXE_runtime-agent"));
        let mut command = start_of(all[0]);
        command.args(&all[1..]).args(arguments).env("HOME", self.base.path());
        command.env_remove("XDG_STATE_HOME");
        command
    }

    /// The usual arguments of `serve`, and more.
    pub(crate) fn serving(&self, more: &[&str]) -> Vec<String> {
        let fixed = ["serve", "--listen", "127.0.0.1:0"].map(str::to_owned);
        self.set_up(fixed.to_vec(), more)
    }

    fn set_up(&self, mut words: Vec<String>, more: &[&str]) -> Vec<String> {
        for (flag, path) in [
            ("--token-file", self.path("token")),
            ("--state-dir", self.state.clone()),
            ("--ratchet", self.path("ratchet")),
        ] {
            words.extend([flag.to_owned(), path.display().to_string()]);
        }
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words
    }

    /// Starts a worker and waits until it listens.
    pub(crate) fn start(&self, more: &[&str]) -> Worker {
        let arguments = self.serving(more);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.start_command(self.program(&words))
    }

    /// Starts one that listens elsewhere, in another network.
    pub(crate) fn start_behind(&self, words: &[&str], listen: &str, more: &[&str]) -> Worker {
        let fixed = vec!["serve".to_owned(), "--listen".to_owned(), listen.to_owned()];
        let arguments = self.set_up(fixed, more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.start_command(self.program_behind(words, &arguments))
    }

    pub(crate) fn start_command(&self, mut command: Command) -> Worker {
        let log = self.path(&format!("log.{}", fastrand::u64(..)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let mut address = None;
        until("the worker to listen", || {
            let text = fs::read_to_string(&log).unwrap_or_default();
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the worker has ended with {status}: {text}");
            }
            address = text.lines().find_map(|line| {
                let (_, at) = line.split_once("listening at ")?;
                at.split_once("://")?.1.split_whitespace().next()?.parse().ok()
            });
            address.is_some()
        });
        Worker { child, address: address.unwrap(), log }
    }

    /// How often a command of this world was started, by the lines that each writes.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for World {
    /// Ends what this test's commands have left. Their shims follow.
    fn drop(&mut self) {
        let own = OWN.with(Clone::clone).into_bytes();
        let is_ours = |word: &[u8]| word.starts_with(b"RATCHET_SPAWN_ID=") && word.ends_with(&own);
        let mut found = true;
        while std::mem::take(&mut found) {
            for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
                let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
                let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
                let marked = environment.split(|byte| *byte == 0).any(is_ours);
                if marked && pid != std::process::id().cast_signed() {
                    found = true;
                    let _may_be_gone = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
                }
            }
        }
    }
}

impl Worker {
    /// Connects with the right token.
    pub(crate) async fn client(&self) -> Client {
        self.client_with(TOKEN).await
    }

    pub(crate) async fn client_with(&self, token: &str) -> Client {
        let channel = channel(&format!("http://{}", self.address)).await.unwrap();
        client(channel, token)
    }

    /// Kills it, and nothing else.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Has it end in order.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _may_be_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

pub(crate) fn client(channel: Channel, token: &str) -> Client {
    RuntimeServiceClient::with_interceptor(channel, Bearer(token.to_owned()))
}

/// Connects as a supervisor does: with pings, so that a line that is cut is noticed.
pub(crate) async fn channel(to: &str) -> Result<Channel, tonic::transport::Error> {
    Endpoint::from_shared(to.to_owned())?
        .http2_keep_alive_interval(Duration::from_secs(5))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true)
        .initial_stream_window_size(4 * 1024 * 1024)
        .initial_connection_window_size(8 * 1024 * 1024)
        .connect()
        .await
}

/// The error of a call that must have been refused.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(answer: Result<T, Status>) -> ErrorDetail {
    from_status(&answer.unwrap_err())
}

#[track_caller]
pub(crate) fn code_of<T: std::fmt::Debug>(answer: Result<T, Status>) -> String {
    refused(answer).code
}

/// Waits for a state, by looking again and again.
#[track_caller]
pub(crate) fn until(state: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain for: {state}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// The same, while calls go on.
pub(crate) async fn until_async(state: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain for: {state}");
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where these tests start programs")]
pub(crate) fn start_of(program: &str) -> Command {
    Command::new(program)
}

/// Runs a program to its end.
#[track_caller]
pub(crate) fn run(words: &[&str]) -> String {
    let output = start_of(words[0]).args(&words[1..]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

thread_local! {
    /// What the ids of this test end with: the mark of a command is looked for on the whole machine.
    static OWN: String = format!(".{:08x}", fastrand::u32(..));
}

/// Names a spawn of this test.
pub(crate) fn id(name: &str) -> String {
    OWN.with(|own| format!("{name}{own}"))
}

/// Files for a spawn.
pub(crate) fn file(path: &str, content: &str) -> wire::File {
    wire::File { path: path.to_owned(), content: content.to_owned().into() }
}

pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
