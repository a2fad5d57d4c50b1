//! A place for spawns, and short ways to run one to its end. Nothing here waits for a time, only for events.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use ratchet_spawn::{
    Attachment, Event, ExitRecord, Frame, Limits, Position, Request, SpawnDir, SpawnId, Stdin,
    Stream, end_strays, launch,
};
use rustix::process::Pid;
use tempfile::TempDir;

/// Far more than any test needs; only a test that would hang for ever meets it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder for spawns and one for their work.
pub(crate) struct Place {
    temp: TempDir,
}

/// All that a spawn printed, and how it ended.
pub(crate) struct Outcome {
    pub(crate) record: ExitRecord,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path().join("spawns")
    }

    pub(crate) fn path(&self) -> &Path {
        self.temp.path()
    }

    /// Gives an id that no other test has: processes are found by it.
    pub(crate) fn id(&self, suffix: &str) -> SpawnId {
        let unique = self.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.');
        SpawnId::parse(&format!("{unique}{suffix}")).unwrap()
    }

    /// Asks for a shell command, without a prompt or limits.
    pub(crate) fn shell(&self, script: &str) -> Request {
        self.command(&["/bin/sh", "-c", script])
    }

    /// Asks for a shell command that knows its spawn's folder as `$D`.
    pub(crate) fn in_folder(&self, script: &str) -> Request {
        self.shell(&format!("D='{}'/\"$RATCHET_SPAWN_ID\"; {script}", self.root().display()))
    }

    pub(crate) fn command(&self, words: &[&str]) -> Request {
        Request {
            id: self.id(""),
            argv: words.iter().map(OsString::from).collect(),
            cwd: self.path().to_owned(),
            stdin: Stdin::Null,
            limits: Limits::default(),
            needed_by: None,
        }
    }

    pub(crate) fn create(&self, request: &Request) -> SpawnDir {
        SpawnDir::create(&self.root(), request).unwrap()
    }

    /// Runs a request to its end.
    pub(crate) async fn run(&self, request: &Request) -> Outcome {
        let dir = self.create(request);
        let mut shim = start(&dir);
        let outcome = outcome(&dir).await;
        assert!(shim.wait().success());
        outcome
    }
}

pub(crate) fn shim_command() -> Vec<OsString> {
    vec![env!("CARGO_BIN_EXE_ratchet-shim").into()]
}

pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]
}

pub(crate) fn start(dir: &SpawnDir) -> Shim {
    start_with(dir, &shim_command(), environment())
}

pub(crate) fn start_with(
    dir: &SpawnDir,
    command: &[OsString],
    environment: Vec<(OsString, OsString)>,
) -> Shim {
    Shim { child: launch(dir, command, environment).unwrap(), dir: dir.clone() }
}

/// A shim that outlives no test, not even a failing one, and neither does its agent.
pub(crate) struct Shim {
    pub(crate) child: Child,
    dir: SpawnDir,
}

impl Shim {
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.wait();
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
            let _ = end_strays(&self.dir);
        }
    }
}

pub(crate) async fn next(attachment: &mut Attachment) -> Event {
    tokio::time::timeout(PATIENCE, attachment.next()).await.expect("an event comes").unwrap()
}

/// Watches a spawn from the beginning to its end.
pub(crate) async fn outcome(dir: &SpawnDir) -> Outcome {
    let mut attachment = Attachment::open(dir, Position::START).unwrap();
    let (frames, last) = rest(&mut attachment).await;
    let Event::Ended(record) = last else {
        let complaints = std::fs::read_to_string(dir.shim_log()).unwrap_or_default();
        panic!("the spawn is {last:?}: {complaints}")
    };
    let of = |stream: Stream| {
        let frames = frames.iter().filter(|frame| frame.stream == stream);
        frames.flat_map(|frame| frame.bytes.clone()).collect()
    };
    Outcome { record: *record, stdout: of(Stream::Stdout), stderr: of(Stream::Stderr) }
}

/// Takes all frames, and the last event.
pub(crate) async fn rest(attachment: &mut Attachment) -> (Vec<Frame>, Event) {
    let mut frames = Vec::new();
    loop {
        match next(attachment).await {
            Event::Frame(frame) => frames.push(frame),
            last => return (frames, last),
        }
    }
}

/// Waits until the spawn has printed a whole line, and gives it.
pub(crate) async fn line(attachment: &mut Attachment) -> String {
    let mut text = String::new();
    while !text.ends_with('\n') {
        match next(attachment).await {
            Event::Frame(frame) => text.push_str(std::str::from_utf8(&frame.bytes).unwrap()),
            last => panic!("it ended before the line: {last:?}"),
        }
    }
    text.trim_end().to_owned()
}

/// Tells whether a process is there and not a zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !"ZX".contains(state))
}

/// Reads the process ids that an agent wrote down.
pub(crate) fn pids(file: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(file).unwrap();
    text.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
}
