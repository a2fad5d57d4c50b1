//! One call of a program: built, run, and judged by its exit, its output and its JSON. A call that is still running
//! when it is dropped is killed by its own process group.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::{schema, wait};

/// The variable that stands a command in for the agent.
const AGENT_VAR: &str = "RATCHET_BATCH_AGENT_CMD";

/// A call that has not been started.
#[derive(Debug, Clone)]
pub struct Call {
    words: Vec<OsString>,
    cwd: PathBuf,
    variables: BTreeMap<OsString, OsString>,
}

impl Call {
    /// A call of `program` in `cwd` with exactly these variables.
    pub fn new(program: &Path, cwd: &Path, variables: BTreeMap<OsString, OsString>) -> Self {
        Self { words: vec![program.as_os_str().to_owned()], cwd: cwd.to_owned(), variables }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = I>) -> Self {
        self.words.extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn var(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.insert(name.into(), value.as_ref().to_owned());
        self
    }

    /// Has this very process host its steps, whatever supervisor is there: it is what the test kills or limits.
    #[must_use]
    pub fn embedded(self) -> Self {
        self.var("RATCHET_SUPERVISOR", "embedded")
    }

    /// Stands a command in for the agent.
    #[must_use]
    pub fn agent(self, command: &str) -> Self {
        self.var(AGENT_VAR, command)
    }

    /// Runs in another folder.
    #[must_use]
    pub fn cwd(mut self, cwd: PathBuf) -> Self {
        self.cwd = cwd;
        self
    }

    /// Takes away what makes root unstoppable, so that file modes count for it too. No change for other users.
    #[must_use]
    pub fn without_privileges(self) -> Self {
        if rustix::process::geteuid().is_root() {
            return self.behind(["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]);
        }
        self
    }

    /// Lets no file grow beyond `blocks` KiB: writing more fails as on a full disk. The two outputs go through pipes,
    /// which have no size to limit.
    #[must_use]
    pub fn with_file_size_limit(self, blocks: u32) -> Self {
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\" 2>&1 >&3 3>&-");
        let script =
            format!("set -o pipefail; {{ {{ ({limited}) | cat >&2 3>&-; }} 3>&1; }} | cat");
        self.behind(["bash", "-c", &script, "limited"])
    }

    /// Lets each process of the call have only so many files open, though it may ask for more.
    #[must_use]
    pub fn with_open_files(self, most: u32) -> Self {
        let script = format!("ulimit -Sn {most}; exec \"$@\"");
        self.behind(["bash", "-c", &script, "limited"])
    }

    /// Hands a listening socket over, as systemd does.
    #[must_use]
    pub fn handed(self, socket: &impl AsFd) -> Self {
        rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::empty())
            .expect("a socket of ours can be inherited");
        let number = socket.as_fd().as_raw_fd();
        let moved =
            if number == 3 { String::new() } else { format!("exec 3<&{number} {number}<&-;") };
        let script = format!("{moved} LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"");
        self.behind(["bash", "-c", &script, "handed"])
    }

    /// Starts the call in the background.
    ///
    /// # Panics
    /// When the program can't be started at all.
    #[track_caller]
    pub fn start(self) -> Running {
        let stdout = tempfile::tempfile().expect("a temporary file");
        let stderr = tempfile::tempfile().expect("a temporary file");
        let child = Command::new(&self.words[0])
            .args(&self.words[1..])
            .current_dir(&self.cwd)
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::null())
            .stdout(stdout.try_clone().expect("a descriptor"))
            .stderr(stderr.try_clone().expect("a descriptor"))
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| {
                panic!("cannot start {}: {error}", self.words_as_text().join(" "))
            });
        Running {
            child,
            stdout,
            stderr,
            started: Instant::now(),
            words: self.words_as_text(),
            status: None,
        }
    }

    /// Runs the call to its end.
    ///
    /// # Panics
    /// When it does not end within [`wait::DEADLINE`].
    #[track_caller]
    pub fn run(self) -> Finished {
        self.start().wait()
    }

    /// Runs the call and demands exit 0.
    ///
    /// # Panics
    /// When it exits otherwise.
    #[track_caller]
    pub fn ok(self) -> Finished {
        self.run().assert_code(0)
    }

    /// Runs the call with `--json`, demands exit 0, and gives the one document on standard output.
    ///
    /// # Panics
    /// When it exits otherwise or prints anything else.
    #[track_caller]
    pub fn json(self) -> Value {
        self.args(["--json"]).ok().json()
    }

    /// Runs the call and demands that it is refused: exit 1, `Error: …` on standard error, nothing on standard output.
    /// Gives the error text.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn refused(self) -> String {
        let finished = self.run().assert_code(1);
        assert!(finished.stderr().starts_with("Error: "), "no error text:\n{finished}");
        finished.stderr()
    }

    /// Runs the call by another program, which is given it as its last arguments.
    #[must_use]
    pub fn behind<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        all.append(&mut self.words);
        self.words = all;
        self
    }

    fn words_as_text(&self) -> Vec<String> {
        self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }
}

/// A call in the background.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: File,
    stderr: File,
    started: Instant,
    words: Vec<String>,
    status: Option<ExitStatus>,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Sends it, and only it, a signal.
    ///
    /// # Panics
    /// When it has ended already.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        assert!(self.status.is_none(), "{} has ended already", self.words.join(" "));
        kill_process(Pid::from_child(&self.child), signal).expect("our own child takes a signal");
    }

    /// What it has printed so far.
    pub fn stdout_so_far(&mut self) -> String {
        String::from_utf8_lossy(&read_all(&mut self.stdout)).into_owned()
    }

    /// What it has said on standard error so far.
    pub fn stderr_so_far(&mut self) -> String {
        String::from_utf8_lossy(&read_all(&mut self.stderr)).into_owned()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("our own child can be waited for");
        }
        self.status.is_some()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not come within [`wait::DEADLINE`].
    #[track_caller]
    pub fn wait(mut self) -> Finished {
        let ended = wait::within(wait::DEADLINE, || self.has_ended());
        let (stdout, stderr) = (read_all(&mut self.stdout), read_all(&mut self.stderr));
        let finished = Finished {
            words: self.words.clone(),
            code: self.status.and_then(|status| status.code()),
            signal: self.status.and_then(|status| status.signal()),
            stdout,
            stderr,
            elapsed: self.started.elapsed(),
        };
        assert!(ended, "no end within {} s:\n{finished}", wait::DEADLINE.as_secs());
        finished
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_none() {
            let _may_be_gone = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _reaped = self.child.wait();
        }
    }
}

/// A call that has ended.
#[derive(Debug, Clone)]
pub struct Finished {
    words: Vec<String>,
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output, byte for byte.
    pub stdout: Vec<u8>,
    /// Standard error, byte for byte.
    pub stderr: Vec<u8>,
    /// From start to end.
    pub elapsed: Duration,
}

impl Finished {
    /// Standard output as text.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Demands an exit code.
    ///
    /// # Panics
    /// When it is another.
    #[track_caller]
    pub fn assert_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "wrong exit:\n{self}");
        self
    }

    /// The one JSON document that standard output must be; it must fit the schema of its command.
    ///
    /// # Panics
    /// When it is not or does not.
    #[track_caller]
    pub fn json(&self) -> Value {
        let document = serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("not one document ({error}):\n{self}"));
        if let Some(name) = schema::name_for(self.arguments()) {
            let problems = schema::problems(name, &document);
            assert!(problems.is_empty(), "no {name}.json: {problems:#?}\n{self}");
        }
        document
    }

    /// What stood after `ratchet` on the command line.
    pub fn arguments(&self) -> &[String] {
        let program = self.words.iter().rposition(|word| word.ends_with("/ratchet"));
        program.map_or(&[], |at| &self.words[at + 1..])
    }

    /// Demands a text on standard output.
    ///
    /// # Panics
    /// When it is not there.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stdout().contains(text), "`{text}` is not said:\n{self}");
        self
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ {}", self.words.join(" "))?;
        writeln!(f, "exit {:?}, signal {:?}, after {:?}", self.code, self.signal, self.elapsed)?;
        writeln!(f, "--- stdout\n{}", clipped(&self.stdout))?;
        write!(f, "--- stderr\n{}", clipped(&self.stderr))
    }
}

fn clipped(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(4000)]).into_owned()
}

fn read_all(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    // The descriptor shares its position with the child's, so it is read through a second opening of the same file.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut again = File::open(path).expect("a file of ours opens again");
    again.seek(SeekFrom::Start(0)).expect("a file seeks");
    again.read_to_end(&mut bytes).expect("a file reads");
    bytes
}
