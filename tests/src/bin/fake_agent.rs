//! A coding agent that obeys a script. Each behaviour is documented at its [`Action`]; nothing here decides.
//!
//! Called as `fake_agent SCRIPT.json` (the override), as `claude …` with the script named by the environment (standing
//! in for a real agent), or as `fake_agent --actions FILE` by itself, for processes it leaves behind.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use ratchet_tests::asked::Asked;
use ratchet_tests::process;
use ratchet_tests::script::{Action, SCRIPT_VAR, Script};
use ratchet_tests::wait;
use rustix::process::Signal;

/// What the agent exits with when its report command fails.
const REPORT_FAILED: u8 = 97;
/// What it exits with when it can't obey its script: a broken test, not a behaviour.
const CANNOT_OBEY: u8 = 99;

/// What marks every process of a spawn.
const SPAWN_VAR: &str = "RATCHET_SPAWN_ID";

/// The flag before a file of actions.
const ACTIONS: &str = "--actions";

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _stderr_may_be_closed = writeln!(io::stderr(), "fake agent: {error:#}");
            ExitCode::from(CANNOT_OBEY)
        }
    }
}

fn run() -> Result<u8> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [flag, file] = &arguments[..]
        && flag == ACTIONS
    {
        return Agent::default().obey_all(&read_json::<Vec<Action>>(Path::new(file))?);
    }
    let script: Script = read_json(&script_path(&arguments)?)?;
    let mut agent = Agent::default();
    let code = agent.obey_all(&script.always)?;
    if script.on.is_empty() || agent.exited {
        return Ok(code);
    }
    agent.read_prompt()?;
    let asked = agent.asked()?.clone();
    match script.on.get(&asked.kind) {
        Some(actions) => agent.obey_all(actions),
        None => bail!("the script has nothing for the step {}", asked.kind),
    }
}

fn script_path(arguments: &[OsString]) -> Result<PathBuf> {
    match std::env::var_os(SCRIPT_VAR) {
        Some(path) => Ok(path.into()),
        None => Ok(arguments.first().context("no script named")?.into()),
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is no script", path.display()))
}

/// What the agent knows while it works.
#[derive(Debug, Default)]
struct Agent {
    prompt: Option<Vec<u8>>,
    asked: Option<Asked>,
    exited: bool,
}

impl Agent {
    /// Obeys one action after the other; the code to exit with.
    fn obey_all(&mut self, actions: &[Action]) -> Result<u8> {
        for action in actions {
            if let Some(code) = self.obey(action)? {
                self.exited = true;
                return Ok(code);
            }
        }
        Ok(0)
    }

    /// Obeys one action; `Some` ends the agent.
    fn obey(&mut self, action: &Action) -> Result<Option<u8>> {
        match action {
            Action::ReadPrompt => self.read_prompt()?,
            Action::SavePrompt { path } => {
                self.read_prompt()?;
                put(path, self.prompt.as_deref().unwrap_or_default())?;
            }
            Action::SaveArguments { path } => put(path, &arguments())?,
            Action::SaveEnvironment { path } => put(path, &environment())?,
            Action::AskOnTerminal { question } => ask_on_terminal(question),
            Action::Print { text } => print(text.as_bytes())?,
            Action::PrintError { text } => io::stderr().lock().write_all(text.as_bytes())?,
            Action::PrintBytes { bytes } => print(bytes)?,
            Action::PrintLongLine { bytes } => {
                let mut line = vec![b'x'; *bytes];
                line.push(b'\n');
                print(&line)?;
            }
            Action::Flood { bytes } => flood(*bytes)?,
            Action::PrintClock { count, every_us } => print_clock(*count, *every_us)?,
            Action::CloseOutput => rustix::stdio::dup2_stdout(fs::File::open("/dev/null")?)?,
            Action::Write { path, text } => put(path, text.as_bytes())?,
            Action::WriteBytes { path, bytes } => put(path, bytes)?,
            Action::Append { path, text } => append(path, text)?,
            Action::Start { log, intent, note } => start(log, intent, note)?,
            Action::Remove { path } => remove(Path::new(path))?,
            Action::Plan { change, tasks } => plan(&self.change(change.as_deref())?, *tasks)?,
            Action::Tick { change, tasks } => tick(&self.change(change.as_deref())?, *tasks)?,
            Action::Run { command } => {
                Command::new("sh").args(["-c", command]).status()?;
            }
            Action::Report { flag, text } => return self.report(flag, text),
            Action::Ratchet { arguments } => {
                Command::new("ratchet").args(arguments).status()?;
            }
            Action::WaitFor { path } => {
                // No deadline of its own: the test that holds it here ends it.
                while !wait::within(wait::DEADLINE, || Path::new(path).exists()) {}
            }
            Action::Pause { us } => wait::moment(Duration::from_micros(*us)),
            Action::Hang => hang(),
            Action::Background { actions } => background(actions, Marks::Kept)?,
            Action::BackgroundUnmarked { actions } => background(actions, Marks::Cleared)?,
            Action::NewSession => {
                rustix::process::setsid()?;
            }
            Action::IgnoreTerm { actions } => return Err(become_deaf(actions)),
            Action::TrapTermAndExitZero { ready } => return Err(become_trapper(ready)),
            Action::DieBy { signal } => die_by(signal)?,
            Action::Exit { code } => return Ok(Some(*code)),
        }
        Ok(None)
    }

    fn read_prompt(&mut self) -> Result<()> {
        if self.prompt.is_none() {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            self.asked = Asked::read(&String::from_utf8_lossy(&bytes));
            self.prompt = Some(bytes);
        }
        Ok(())
    }

    fn asked(&self) -> Result<&Asked> {
        self.asked.as_ref().context("the prompt was not read, or asks for nothing known")
    }

    fn change(&self, named: Option<&str>) -> Result<String> {
        match named {
            Some(name) => Ok(name.to_owned()),
            None => Ok(self.asked()?.key.clone()),
        }
    }

    fn report(&mut self, flag: &str, text: &str) -> Result<Option<u8>> {
        self.read_prompt()?;
        let words = &self.asked()?.report;
        let status = Command::new(&words[0])
            .args(&words[1..])
            .args([flag, &text.replace("{spawn}", &spawn())])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        Ok((!status.success()).then_some(REPORT_FAILED))
    }
}

/// Whether a process left behind carries the marks by which it can be found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    Kept,
    Cleared,
}

fn background(actions: &[Action], marks: Marks) -> Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(ACTIONS).arg(actions_file(actions)?).stdin(Stdio::null());
    if marks == Marks::Cleared {
        command.env_clear().stdout(Stdio::null()).stderr(Stdio::null());
    }
    command.spawn()?;
    Ok(())
}

/// An ignored signal stays ignored across an exec, so a shell can do what would need unsafe code here.
fn become_deaf(actions: &[Action]) -> anyhow::Error {
    let become_it = || -> Result<io::Error> {
        let file = actions_file(actions)?;
        Ok(Command::new("bash")
            .args(["-c", "trap '' TERM; exec \"$@\"", "deaf"])
            .arg(std::env::current_exe()?)
            .arg(ACTIONS)
            .arg(file)
            .exec())
    };
    become_it().map_or_else(|error| error, anyhow::Error::from)
}

fn become_trapper(ready: &str) -> anyhow::Error {
    let script = "trap 'exit 0' TERM; : > \"$1\"; while :; do sleep 3600 & wait $!; done";
    Command::new("bash").args(["-c", script, "trapper", ready]).exec().into()
}

fn actions_file(actions: &[Action]) -> Result<PathBuf> {
    let mut file = tempfile::Builder::new().prefix("fake-agent-").suffix(".json").tempfile()?;
    serde_json::to_writer(&mut file, actions)?;
    Ok(file.into_temp_path().keep()?)
}

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

fn die_by(name: &str) -> Result<()> {
    let signal = match name {
        "KILL" => Signal::KILL,
        "SEGV" => Signal::SEGV,
        "TERM" => Signal::TERM,
        other => bail!("no signal {other} in this script language"),
    };
    // Twice: the first SEGV only makes Rust's own handler for stack overflows step aside.
    process::signal(std::process::id().cast_signed(), signal);
    process::signal(std::process::id().cast_signed(), signal);
    hang()
}

fn print(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

fn flood(bytes: u64) -> Result<()> {
    let line = [b"0123456789".repeat(10)[..99].to_vec(), vec![b'\n']].concat();
    let block = line.repeat(640);
    let mut left = usize::try_from(bytes)?;
    let mut out = io::stdout().lock();
    while left > 0 {
        let now = left.min(block.len());
        out.write_all(&block[..now])?;
        left -= now;
    }
    Ok(out.flush()?)
}

fn print_clock(count: u32, every_us: u64) -> Result<()> {
    for _line in 0..count {
        wait::moment(Duration::from_micros(every_us));
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        print(format!("{}\n", now.tv_sec * 1_000_000_000 + now.tv_nsec).as_bytes())?;
    }
    Ok(())
}

fn ask_on_terminal(question: &str) {
    let Ok(mut terminal) = fs::OpenOptions::new().read(true).write(true).open("/dev/tty") else {
        return;
    };
    let _either_way = terminal.write_all(question.as_bytes());
    let _answer = terminal.read(&mut [0; 1]);
}

fn put(path: &str, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = Path::new(path).parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {path}"))
}

fn append(path: &str, text: &str) -> Result<()> {
    let text = text.replace("{pid}", &std::process::id().to_string()).replace("{spawn}", &spawn());
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}

fn start(log: &str, intent: &str, note: &str) -> Result<()> {
    let spawn = spawn();
    let is_intended = fs::read_to_string(intent).is_ok_and(|text| text.contains(&spawn));
    let answer = if is_intended { "intended" } else { "unintended" };
    append(log, &format!("{spawn} {note} {answer}\n"))
}

fn spawn() -> String {
    std::env::var(SPAWN_VAR).unwrap_or_default()
}

fn remove(path: &Path) -> Result<()> {
    if path.is_dir() {
        // The working directory itself can be emptied but is named by its full path to be removed.
        return Ok(fs::remove_dir_all(fs::canonicalize(path)?)?);
    }
    Ok(fs::remove_file(path)?)
}

fn arguments() -> Vec<u8> {
    std::env::args_os().skip(1).flat_map(|word| [word.as_bytes(), b"\n"].concat()).collect()
}

fn environment() -> Vec<u8> {
    std::env::vars_os()
        .flat_map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat())
        .collect()
}

fn plan(change: &str, tasks: u32) -> Result<()> {
    let folder = format!(".ratchet/changes/{change}");
    put(
        &format!("{folder}/features/{change}.feature"),
        format!("Feature: {change}\n  Scenario: it works\n    Given nothing\n    When it is used\n    Then it works\n")
            .as_bytes(),
    )?;
    let boxes: String = (1..=tasks).map(|number| format!("- [ ] task {number}\n")).collect();
    let text = format!(
        "# {change}\n\n## Why\nIt is asked for.\n\n## What Changes\nOne thing.\n\n## Design\nSimple.\n\n## Tasks\n{boxes}"
    );
    replace(&format!("{folder}/plan.md"), &text)
}

fn tick(change: &str, tasks: Option<u32>) -> Result<()> {
    let path = format!(".ratchet/changes/{change}/plan.md");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let most = tasks.map_or(usize::MAX, |tasks| tasks as usize);
    replace(&path, &text.replacen("- [ ]", "- [x]", most))
}

/// Writes a plan that is there as a whole or not at all: an agent that is killed leaves none that nobody can work on.
fn replace(path: &str, text: &str) -> Result<()> {
    let beside = format!("{path}.{}", std::process::id());
    put(&beside, text.as_bytes())?;
    Ok(fs::rename(&beside, path)?)
}
