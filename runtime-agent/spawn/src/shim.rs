//! The shim: runs one command, keeps its output, ends it in time, leaves nothing behind and says how it went.
//!
//! It is small, synchronous and single-threaded, and it reads nothing of the environment it passes on.
//! This file takes a spawn up, or not; `session` is its life. A command of another machine has a [`Mirror`] for a shim.

mod agent;
mod limits;
mod mirror;
mod output;
mod pump;
mod session;
mod testament;

use std::error::Error as _;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use rustix::process::{Signal, getpid, set_child_subreaper, setsid};

pub use self::mirror::{Mirror, Taken};
use self::session::Session;
use self::testament::Testament;
use crate::directory::SpawnDir;
use crate::directory::is_there;
use crate::handover;
use crate::lock::{self, Held};
use crate::record::ExitRecord;
use crate::standing::{Lost, Standing, settled, was_started};

/// Runs the shim of the spawn whose folder is `dir`, to the end. This is the whole process: it makes a session of its
/// own, and every child of the process is taken for the agent's.
///
/// The code is 0 if the exit record was written, 75 if this shim may not run the spawn (another does, or it is
/// abandoned or over), 70 if it failed. A shim that cannot start the agent writes a record that says so, if it can.
#[must_use]
pub fn run(dir: &Path) -> ExitCode {
    match live(dir) {
        Ok(TakenUp::Recorded) => ExitCode::SUCCESS,
        Ok(TakenUp::NotOurs(standing)) => {
            complain(&format!("nothing to do: {standing:?}"));
            ExitCode::from(75)
        }
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(70)
        }
    }
}

enum TakenUp {
    Recorded,
    NotOurs(Standing),
}

fn live(dir: &Path) -> io::Result<TakenUp> {
    // A file that may not grow any more is an error to handle, not a reason to die. The signal is caught and not ignored,
    // which the agent would inherit.
    signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::default())?;
    let dir = SpawnDir::at(dir).map_err(|error| {
        io::Error::other(match error.source() {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        })
    })?;
    handover::take_on(&dir).map_err(while_doing("cannot take the environment"))?;
    take_up(&dir)
}

fn take_up(dir: &SpawnDir) -> io::Result<TakenUp> {
    let lock = lock::take(&dir.lock_file()).map_err(while_doing("cannot take the lock"))?;
    let Some(lock) = lock else {
        return Ok(TakenUp::NotOurs(Standing::Running(None)));
    };
    match settled(dir)? {
        Standing::NeverStarted => {}
        // A request that cannot be read is answered with a record that says so.
        Standing::Lost(Lost::Damaged) if is_untouched(dir)? => {}
        other => return Ok(TakenUp::NotOurs(other)),
    }
    let testament =
        Testament::prepare(dir).map_err(while_doing("cannot make room for the exit record"))?;
    match make_ready(dir, &lock) {
        Ok(mut session) => {
            let record = session.live()?;
            testament.write(&record, Some(session.spool_file()))?;
            session.tidy();
        }
        Err(error) => {
            complain(&error.to_string());
            testament.write(&ExitRecord::of_no_start(&error), None)?;
        }
    }
    Ok(TakenUp::Recorded)
}

fn make_ready<'a>(dir: &'a SpawnDir, lock: &'a Held) -> io::Result<Session<'a>> {
    // The shim must not keep the workspace's file system busy.
    std::env::set_current_dir("/")?;
    // The leader of a session, such as a container's first process, has one of its own already.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    Session::begin(dir, lock)
}

fn is_untouched(dir: &SpawnDir) -> io::Result<bool> {
    Ok(!was_started(dir)? && !is_there(&dir.exit_file())?)
}

/// Puts before an error of the system what could not be done.
fn while_doing(what: &'static str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Says something in `shim.log`, which is the shim's standard error.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
