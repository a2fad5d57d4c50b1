//! Starts the agent and knows its process. The only unsafe code of the crate is here.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::Access;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitIdStatus, getpid, getppid, getrlimit,
    kill_process_group, set_parent_process_death_signal, setrlimit, setsid, waitid,
};

use crate::directory::SpawnDir;
use crate::id::MARK_VARIABLE;
use crate::process::look;
use crate::record::{End, Leader, NotStarted};
use crate::request::{StoredRequest, StoredStdin};
use crate::standing::ProcessName;

/// The agent's own process. It is not waited for before everything is over, so its number, which is also that of its
/// group and its session, cannot come to mean somebody else.
#[derive(Debug)]
pub(super) struct Agent {
    pid: Pid,
    start_time: u64,
}

/// How the agent's process went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal { signal: i32, core_dumped: bool },
}

impl From<Exit> for Leader {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Code(code) => Self::Exited { code },
            Exit::Signal { signal, core_dumped } => Self::Signaled { signal, core_dumped },
        }
    }
}

/// The reading ends of the agent's streams.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) stdout: PipeReader,
    pub(super) stderr: PipeReader,
}

/// Starts the agent in a session of its own.
///
/// # Errors
/// [`End::NotStarted`].
pub(super) fn start(dir: &SpawnDir, request: StoredRequest) -> Result<(Agent, Streams), End> {
    let cwd = PathBuf::from(OsString::from(request.cwd));
    let mut words = request.argv.into_iter().map(OsString::from);
    let program = words.next().filter(|program| !program.is_empty()).ok_or_else(|| {
        refusal(NotStarted::BadRequest, "the request names no command".to_owned())
    })?;
    check_folder(&cwd)?;
    let setting_up = |error: io::Error| refusal(NotStarted::Refused, error.to_string());
    let (stdout, stdout_writer) = io::pipe().map_err(setting_up)?;
    let (stderr, stderr_writer) = io::pipe().map_err(setting_up)?;
    let stdin = match request.stdin {
        StoredStdin::Prompt => File::open(dir.prompt_file()).map_err(setting_up)?.into(),
        StoredStdin::Null => Stdio::null(),
    };
    let mut command = Command::new(&program);
    command
        .args(words)
        .current_dir(&cwd)
        .env(MARK_VARIABLE, dir.id().as_str())
        .stdin(stdin)
        .stdout(stdout_writer)
        .stderr(stderr_writer);
    tie_to_this_process(&mut command);
    limit(Resource::Nofile, request.limits.open_files);
    // Not the address space: garbage collectors reserve far more of it than they ever use.
    limit(Resource::Data, request.limits.memory_bytes);
    let child = command.spawn().map_err(|error| not_started(&program, &cwd, &error))?;
    let pid = Pid::from_child(&child);
    let start_time = look(pid.as_raw_nonzero().get()).map_or(0, |process| process.start_time);
    Ok((Agent { pid, start_time }, Streams { stdout, stderr }))
}

/// Limits the shim, and so what it starts. A limit that is refused is above what may be had, and changes nothing.
fn limit(resource: Resource, most: Option<u64>) {
    if most.is_some() {
        let maximum = getrlimit(resource).maximum;
        let _ = setrlimit(resource, Rlimit { current: most, maximum });
    }
}

impl Agent {
    pub(super) fn name(&self) -> ProcessName {
        ProcessName { pid: self.pid.as_raw_nonzero().get(), start_time: self.start_time }
    }

    /// Says how it ended; `None` while it runs. May be asked again.
    pub(super) fn ended(&self) -> io::Result<Option<Exit>> {
        self.ask(WaitIdOptions::NOWAIT)
    }

    /// Gives the process back to the kernel; its number means nothing from here on.
    pub(super) fn reap(self) -> io::Result<Option<Exit>> {
        self.ask(WaitIdOptions::empty())
    }

    /// Asks the agent's group to end. A group that was halted hears nothing until it goes on.
    pub(super) fn ask_to_end(&self) {
        // The group may be empty already.
        let _ = kill_process_group(self.pid, Signal::TERM)
            .and_then(|()| kill_process_group(self.pid, Signal::CONT));
    }

    /// Kills the agent's group.
    pub(super) fn kill(&self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
    }

    fn ask(&self, more: WaitIdOptions) -> io::Result<Option<Exit>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | more;
        loop {
            match waitid(WaitId::Pid(self.pid), options) {
                Ok(status) => return Ok(status.as_ref().map(exit)),
                Err(rustix::io::Errno::INTR) => {}
                Err(other) => return Err(other.into()),
            }
        }
    }
}

fn exit(status: &WaitIdStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => {
            Exit::Signal { signal: signal.unwrap_or_default(), core_dumped: status.dumped() }
        }
    }
}

/// Gives the agent a session and a group of its own, and lets the kernel kill it should the shim be killed.
#[expect(
    unsafe_code,
    reason = "between fork and exec there is no safe way in; a second exec would cost a millisecond"
)]
fn tie_to_this_process(command: &mut Command) {
    let shim = getpid();
    let between_fork_and_exec = move || {
        setsid()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Had the shim died before, the kernel would have nothing to tell any more.
        if getppid() == Some(shim) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: the closure runs in the forked child, where only async-signal-safe calls are allowed. It makes three
    // plain system calls, allocates nothing, takes no lock and touches no memory but its own copy of a number.
    unsafe { command.pre_exec(between_fork_and_exec) };
}

fn check_folder(cwd: &Path) -> Result<(), End> {
    let missing = |why: &dyn std::fmt::Display| {
        refusal(NotStarted::FolderMissing, format!("cannot work in {}: {why}", cwd.display()))
    };
    match std::fs::metadata(cwd) {
        Ok(found) if !found.is_dir() => Err(missing(&"it is not a folder")),
        Ok(_) => rustix::fs::access(cwd, Access::EXEC_OK)
            .map_err(|error| missing(&io::Error::from(error))),
        Err(error) => Err(missing(&error)),
    }
}

fn not_started(program: &std::ffi::OsStr, cwd: &Path, error: &io::Error) -> End {
    let name = Path::new(program);
    let reason = match error.kind() {
        io::ErrorKind::NotFound => NotStarted::CommandNotFound,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ExecutableFileBusy => {
            NotStarted::NotExecutable
        }
        _ => NotStarted::Refused,
    };
    let searched = if name.components().count() > 1 { None } else { Some(search_path()) };
    let file = match &searched {
        None => Some(cwd.join(name)).filter(|file| file.is_file()),
        Some(path) => std::env::split_paths(path).map(|at| at.join(name)).find(|it| it.is_file()),
    };
    let why = match (reason, &file, &searched) {
        // The kernel says "not found" of a script, too, whose interpreter is not there.
        (NotStarted::CommandNotFound, Some(file), _) => {
            format!("the interpreter of {} is not there", file.display())
        }
        (NotStarted::CommandNotFound, None, Some(path)) => {
            format!("not found on PATH ({})", path.display())
        }
        (NotStarted::NotExecutable, Some(file), Some(_)) => format!("{}: {error}", file.display()),
        _ => error.to_string(),
    };
    refusal(reason, format!("cannot run {}: {why}", name.display()))
}

/// Says where programs are looked for.
#[expect(
    clippy::disallowed_methods,
    reason = "a person has to know where a program was looked for"
)]
fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

fn refusal(reason: NotStarted, message: String) -> End {
    let code = match reason {
        NotStarted::CommandNotFound => 127,
        NotStarted::NotExecutable => 126,
        NotStarted::FolderMissing | NotStarted::BadRequest | NotStarted::Refused => 1,
    };
    End::NotStarted { reason, message, code }
}
