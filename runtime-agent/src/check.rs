//! `runtime-agent check`: what works on this machine, and what to do about the rest. Looks, starts `git --version`, and changes
//! nothing: it makes the state folder if that is missing, and a file in it that it removes.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{ExitCode, Stdio};

use serde::Serialize;

use crate::agents;
use crate::args;
use crate::environment::{Environment, OperatorVariables};
use crate::layout::Layout;
use crate::listen::Doorway;
use crate::setup::{self, Setup, SetupError};
use crate::told::Failure;
use ratchet_door::token::Token;

/// Less than this is told as a trouble, in bytes.
const LITTLE_ROOM: u64 = 1024 * 1024 * 1024;

/// Everything that was looked at.
#[derive(Debug, Serialize)]
struct Diagnosis {
    /// Whether a worker can run here.
    ok: bool,
    checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    /// A name that never changes.
    id: &'static str,
    label: &'static str,
    status: Status,
    detail: String,
    /// What to type, if it did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// It is as it should be.
    Pass,
    /// A worker cannot run like this.
    Fail,
    /// It can, and something is worth knowing.
    Info,
}

impl Check {
    fn pass(id: &'static str, label: &'static str, detail: impl Into<String>) -> Self {
        Self { id, label, status: Status::Pass, detail: detail.into(), remedy: None }
    }

    fn not(
        id: &'static str,
        label: &'static str,
        status: Status,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { id, label, status, detail: detail.into(), remedy: Some(remedy.into()) }
    }

    fn of_setup(id: &'static str, label: &'static str, error: &SetupError) -> Self {
        let failure = Failure::from(error);
        Self::not(id, label, Status::Fail, failure.sentence(), failure.help())
    }
}

/// Looks at everything and tells it.
pub(crate) fn run(args: &args::Check, environment: &Environment) -> ExitCode {
    let checks = vec![
        token(&args.setup),
        tls(&args.setup, environment),
        state(&args.setup, environment),
        room(&args.setup, environment),
        git(environment),
        ratchet(&args.setup, environment),
        coding_agents(environment),
        variables(&args.setup),
    ];
    let ok = checks.iter().all(|check| check.status != Status::Fail);
    let diagnosis = Diagnosis { ok, checks };
    let told = if args.json { tell_json(&diagnosis) } else { tell(&diagnosis) };
    match (ok, told) {
        (true, Ok(())) => ExitCode::SUCCESS,
        (false, _) | (true, Err(_)) => ExitCode::FAILURE,
    }
}

fn tell_json(diagnosis: &Diagnosis) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, diagnosis)?;
    writeln!(out)
}

fn tell(diagnosis: &Diagnosis) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for Check { label, status, detail, remedy, .. } in &diagnosis.checks {
        let sign = match status {
            Status::Pass => "✓",
            Status::Fail => "✗",
            Status::Info => "ℹ",
        };
        writeln!(out, "{sign} {label}: {detail}")?;
        if let Some(remedy) = remedy {
            writeln!(out, "    → {remedy}")?;
        }
    }
    let end = if diagnosis.ok { "Ready: a worker can run here." } else { "Not ready." };
    writeln!(out, "\n{end}")
}

fn token(args: &args::Setup) -> Check {
    let (id, label) = ("token", "Token");
    match Token::read(&args.token_file) {
        Ok(_) => Check::pass(id, label, format!("{} is yours alone", args.token_file.display())),
        Err(error) => Check::not(id, label, Status::Fail, error.to_string(), error.help()),
    }
}

fn tls(args: &args::Setup, environment: &Environment) -> Check {
    let (id, label) = ("tls", "TLS");
    let tls = match setup::tls(args) {
        Err(error) => return Check::of_setup(id, label, &error),
        Ok(tls) => tls,
    };
    match (tls, Setup::of(args, environment)) {
        (None, _) if args.listen.ip().is_loopback() => {
            Check::pass(id, label, format!("not needed: {} is this machine's own", args.listen))
        }
        (None, _) => {
            let detail = format!("none at {}: others can read the token", args.listen);
            Check::not(id, label, Status::Info, detail, "add '--tls-cert FILE --tls-key FILE'")
        }
        // What else is wrong has a line of its own.
        (Some(_), Err(_)) => Check::pass(id, label, "the certificate and its key can be read"),
        (Some(tls), Ok(setup)) => match Doorway::new(&setup) {
            Ok(_) if tls.client_ca.is_some() => {
                Check::pass(id, label, "a certificate, and callers must show theirs")
            }
            Ok(_) => Check::pass(id, label, "the certificate and its key belong together"),
            Err(error) => {
                let failure = Failure::from(&error);
                Check::not(id, label, Status::Fail, failure.sentence(), failure.help())
            }
        },
    }
}

fn state(args: &args::Setup, environment: &Environment) -> Check {
    let (id, label) = ("state", "State folder");
    let layout = match setup::layout(args, environment) {
        Ok(layout) => layout,
        Err(error) => return Check::of_setup(id, label, &error),
    };
    let root = layout.root().display().to_string();
    match try_out(&layout) {
        Ok(()) => Check::pass(id, label, root),
        Err(error) => {
            let detail = format!("{root} cannot be written: {error}");
            Check::not(id, label, Status::Fail, detail, "name another one with '--state-dir'")
        }
    }
}

fn try_out(layout: &Layout) -> io::Result<()> {
    crate::layout::make_folder(layout.root())?;
    let file = layout.root().join(format!("check.{}", std::process::id()));
    fs::write(&file, b"x")?;
    fs::remove_file(file)
}

fn room(args: &args::Setup, environment: &Environment) -> Check {
    let (id, label) = ("disk", "Room");
    let remedy = "make room, or name a folder on another disk with '--state-dir'";
    let found = setup::layout(args, environment).ok().and_then(|layout| {
        // The folder itself may not be there yet.
        let mut folders = layout.root().ancestors();
        folders.find_map(|folder| rustix::fs::statvfs(folder).ok())
    });
    match found.map(|found| found.f_bavail.saturating_mul(found.f_frsize)) {
        None => Check::not(id, label, Status::Info, "it cannot be told how much there is", remedy),
        Some(free) if free < LITTLE_ROOM => {
            let detail = format!("{} MiB are free", free >> 20);
            Check::not(id, label, Status::Info, detail, remedy)
        }
        Some(free) => Check::pass(id, label, format!("{} GiB are free", free >> 30)),
    }
}

fn git(environment: &Environment) -> Check {
    let (id, label) = ("git", "Git");
    let remedy = "install git: workspaces travel as git objects";
    let Some(program) = environment.find_program("git") else {
        return Check::not(id, label, Status::Fail, "it is not on PATH", remedy);
    };
    match version(&program, environment) {
        Ok(version) => Check::pass(id, label, version),
        Err(error) => {
            let detail = format!("{} does not start: {error}", program.display());
            Check::not(id, label, Status::Fail, detail, remedy)
        }
    }
}

fn version(program: &Path, environment: &Environment) -> io::Result<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a question to a program that is asked for its version only; it needs no record"
    )]
    let mut command = std::process::Command::new(program);
    command.arg("--version").env_clear().env("PATH", environment.path());
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    match (output.status.success(), text.lines().next()) {
        (true, Some(line)) => Ok(line.to_owned()),
        _ => Err(io::Error::other(output.status.to_string())),
    }
}

fn ratchet(args: &args::Setup, environment: &Environment) -> Check {
    let (id, label) = ("ratchet", "Ratchet");
    match setup::ratchet(args, environment) {
        Ok(Some(path)) => Check::pass(id, label, path.display().to_string()),
        Ok(None) => Check::not(
            id,
            label,
            Status::Fail,
            "there is none, so no agent can report",
            "put it beside runtime-agent, or name it with '--ratchet PATH'",
        ),
        Err(error) => Check::of_setup(id, label, &error),
    }
}

fn coding_agents(environment: &Environment) -> Check {
    let (id, label) = ("agents", "Coding agents");
    let found: Vec<&str> =
        agents::installed(environment).into_iter().map(|(name, _)| name).collect();
    if found.is_empty() {
        let remedy =
            "install one of them, for example Claude Code or Codex, on the PATH of the worker";
        return Check::not(id, label, Status::Info, "none is on PATH", remedy);
    }
    Check::pass(id, label, found.join(", "))
}

fn variables(args: &args::Setup) -> Check {
    let (id, label) = ("variables", "Variables");
    let Some(file) = &args.env_file else {
        return Check::not(
            id,
            label,
            Status::Info,
            "none are given to commands; keys of agents are not sent by supervisors",
            "name a file of NAME=VALUE lines with '--env-file FILE'",
        );
    };
    match OperatorVariables::read(file) {
        Ok(variables) => {
            let names: Vec<String> =
                variables.names().map(|name| name.to_string_lossy().into_owned()).collect();
            Check::pass(id, label, names.join(", "))
        }
        Err(error) => Check::of_setup(id, label, &error.into()),
    }
}
