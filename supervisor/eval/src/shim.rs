//! Commands under the shim: each has a group of its own, limits, and an end that outlives whoever asked; what it leaves
//! behind is ended with it. The real side of the seams in [`crate::call`].

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ratchet_spawn::{
    End, ExitRecord, Frames, Limits, Position, Request, SpawnDir, SpawnId, Standing, Stdin,
    StopRequest, Stream, TimeLimit, launch, probe, request_stop,
};

use crate::call::{CannotRun, Command, Ended, Ran, Shell};

/// The environment of a command.
pub type Variables = BTreeMap<OsString, OsString>;

/// Starts commands under the shim and waits for them; at most one for each thread that asks.
#[derive(Debug)]
pub struct Spawner {
    root: PathBuf,
    shim: Vec<OsString>,
    prefix: String,
    count: AtomicU64,
    stopped: AtomicBool,
    running: Mutex<Vec<SpawnDir>>,
}

/// One command, ready to be started.
#[derive(Debug, Clone)]
pub struct Job {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Its environment, complete.
    pub environment: Variables,
    /// What it reads.
    pub stdin: Stdin,
    /// When it is ended.
    pub limits: Limits,
}

impl Spawner {
    /// Keeps the folders of spawns in `root`. `shim` is the program and the arguments before the folder; `prefix` begins
    /// the ids and must be fit for one.
    #[must_use]
    pub fn new(root: PathBuf, shim: Vec<OsString>, prefix: String) -> Self {
        Self {
            root,
            shim,
            prefix,
            count: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            running: Mutex::new(Vec::new()),
        }
    }

    /// Stops whatever runs, and starts nothing any more.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        for dir in self.running().iter() {
            ask_to_stop(dir);
        }
    }

    /// Stops one command, if it runs.
    pub(crate) fn stop_one(&self, id: &SpawnId) {
        for dir in self.running().iter().filter(|dir| dir.id() == id) {
            ask_to_stop(dir);
        }
    }

    /// Whether [`Spawner::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Makes a command's id before it runs: an agent has to be told.
    ///
    /// # Errors
    /// A prefix that is not fit for an id.
    pub fn next_id(&self) -> Result<SpawnId, CannotRun> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        SpawnId::parse(&format!("{}-{number}", self.prefix)).map_err(|error| failed(&error))
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// It never started, was stopped, or its end is not known.
    pub fn run(&self, id: SpawnId, job: Job) -> Result<Ran, CannotRun> {
        let request = Request {
            id,
            argv: job.argv,
            cwd: job.cwd,
            stdin: job.stdin,
            limits: job.limits,
            needed_by: None,
        };
        let dir = SpawnDir::create(&self.root, &request).map_err(|error| failed(&error))?;
        self.running().push(dir.clone());
        let ended = self.run_in(&dir, job.environment);
        self.running().retain(|other| other != &dir);
        let ran = ended?;
        // What it said is in the evidence by now, or is nobody's business.
        drop(std::fs::remove_dir_all(dir.path()));
        Ok(ran)
    }

    fn run_in(&self, dir: &SpawnDir, environment: Variables) -> Result<Ran, CannotRun> {
        // After it was entered in the list: either this sees the stop, or the stop sees the entry.
        if self.is_stopped() {
            return Err(CannotRun::Stopped);
        }
        let mut shim = launch(dir, &self.shim, environment).map_err(|error| failed(&error))?;
        shim.wait().map_err(|error| failed(&error))?;
        match probe(dir).map_err(|error| failed(&error))? {
            Standing::Ended(record) => self.ran(dir, &record),
            Standing::Lost(lost) => Err(failed(&lost)),
            Standing::NeverStarted | Standing::Abandoned | Standing::Running(_) => {
                let why =
                    dir.last_complaint().unwrap_or_else(|| "the shim did not start".to_owned());
                Err(CannotRun::Failed(why))
            }
        }
    }

    fn ran(&self, dir: &SpawnDir, record: &ExitRecord) -> Result<Ran, CannotRun> {
        let ended = match &record.end {
            End::Exited { code } => Ended::Exited { code: *code },
            End::Signaled { signal, .. } => Ended::Signaled { signal: *signal },
            End::TimedOut { limit, after_ms, .. } => {
                Ended::TimedOut { limit: word(*limit).to_owned(), after_ms: *after_ms }
            }
            End::OutOfMemory => Ended::OutOfMemory,
            End::OutputLimit { bytes, .. } => Ended::OutputLimit { bytes: *bytes },
            End::Stopped { .. } => return Err(CannotRun::Stopped),
            End::SpoolFailed { message, .. } => {
                return Err(CannotRun::Failed(format!("its output could not be kept: {message}")));
            }
            End::NotStarted { message, .. } => return Err(CannotRun::Failed(message.clone())),
        };
        let mut ran =
            Ran { ended, stdout: Vec::new(), stderr: Vec::new(), took_ms: record.awake_ms };
        for frame in Frames::open(dir, Position::START).map_err(|error| failed(&error))? {
            let frame = frame.map_err(|error| failed(&error))?;
            match frame.stream {
                Stream::Stdout => ran.stdout.extend_from_slice(&frame.bytes),
                Stream::Stderr => ran.stderr.extend_from_slice(&frame.bytes),
            }
        }
        Ok(ran)
    }

    fn running(&self) -> MutexGuard<'_, Vec<SpawnDir>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The project's own commands: `bash -c`, with the user's whole environment but for what would lead git astray.
#[derive(Debug)]
pub struct Bash<'a> {
    spawner: &'a Spawner,
    environment: Variables,
}

impl<'a> Bash<'a> {
    /// Takes the user's environment.
    #[must_use]
    pub fn new(spawner: &'a Spawner, environment: &Variables) -> Self {
        let mut environment = without_git(environment);
        // Bytecode is found stale by a time in whole seconds.
        environment.entry("PYTHONDONTWRITEBYTECODE".into()).or_insert_with(|| "1".into());
        Self { spawner, environment }
    }
}

impl Bash<'_> {
    /// Starts something that is not to end by itself, does `meanwhile`, and stops it whatever came of that.
    pub(crate) fn during<T>(
        &self,
        command: &Command<'_>,
        meanwhile: impl FnOnce(&dyn Fn() -> bool) -> T,
    ) -> Result<T, CannotRun> {
        let id = self.spawner.next_id()?;
        let job = self.job(command);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let runs = scope.spawn(|| {
                let ran = self.spawner.run(id.clone(), job);
                over.store(true, Ordering::SeqCst);
                ran
            });
            let result = meanwhile(&|| over.load(Ordering::SeqCst));
            // One that has only just been asked for is not in the list yet.
            while !runs.is_finished() {
                self.spawner.stop_one(&id);
                std::thread::park_timeout(std::time::Duration::from_millis(20));
            }
            match runs.join() {
                Ok(_) if self.spawner.is_stopped() => Err(CannotRun::Stopped),
                Ok(_) => Ok(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    fn job(&self, command: &Command<'_>) -> Job {
        Job {
            argv: ["bash", "-c", command.script].map(OsString::from).to_vec(),
            cwd: command.cwd.to_owned(),
            environment: self.environment.clone(),
            stdin: Stdin::Null,
            limits: command.limits,
        }
    }
}

impl Shell for Bash<'_> {
    fn run(&self, command: &Command<'_>) -> Result<Ran, CannotRun> {
        self.spawner.run(self.spawner.next_id()?, self.job(command))
    }
}

/// Leaves out the variables by which git would find another repository than the one it stands in: whoever starts an
/// evaluation from a hook has them set, and a fault would be staged in the user's index.
#[must_use]
pub fn without_git(environment: &Variables) -> Variables {
    let misleads = |name: &OsStr| {
        let name = name.to_string_lossy();
        let personal = ["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH"];
        name.starts_with("GIT_") && !personal.iter().any(|start| name.starts_with(start))
    };
    let kept = environment.iter().filter(|(name, _)| !misleads(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Asks a spawn to stop and waits until it has; for one that a process left behind which is gone.
pub(crate) fn end(dir: &SpawnDir) {
    ask_to_stop(dir);
    drop(ratchet_spawn::abandon(dir));
    drop(ratchet_spawn::await_shim_end(dir));
    drop(ratchet_spawn::end_strays(dir));
}

/// Lists the spawns below a folder.
pub(crate) fn spawns_in(root: &Path) -> Vec<SpawnDir> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    entries.flatten().filter_map(|entry| SpawnDir::at(&entry.path()).ok()).collect()
}

fn ask_to_stop(dir: &SpawnDir) {
    let request = StopRequest { by: "ratchet eval".to_owned(), grace_ms: Some(500) };
    // One that has ended, or whose folder is gone, needs no stop.
    drop(request_stop(dir, &request));
}

fn word(limit: TimeLimit) -> &'static str {
    match limit {
        TimeLimit::Start => "start",
        TimeLimit::Idle => "idle",
        TimeLimit::Wall => "wall",
    }
}

fn failed(error: &dyn std::error::Error) -> CannotRun {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    CannotRun::Failed(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_git_astray_is_left_out_and_who_commits_is_not() {
        let names = ["GIT_DIR", "GIT_INDEX_FILE", "GIT_AUTHOR_NAME", "PATH"];
        let all: Variables = names.iter().map(|name| (name.into(), "x".into())).collect();
        let kept: Vec<OsString> = without_git(&all).into_keys().collect();
        assert_eq!(kept, ["GIT_AUTHOR_NAME", "PATH"]);
    }
}
