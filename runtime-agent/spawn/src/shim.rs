//! The shim: runs one command, keeps its output, ends it in time, leaves nothing behind and says how it went.
//!
//! It is small, synchronous and single-threaded, and it reads nothing of the environment it passes on.
//! This file takes a spawn up, or not; `session` is its life.

mod agent;
mod limits;
mod output;
mod pump;
mod session;
mod testament;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use rustix::process::{getpid, set_child_subreaper, setsid};

use self::session::Session;
use self::testament::Testament;
use crate::directory::SpawnDir;
use crate::lock;
use crate::standing::{Lost, Standing, settled};

/// Runs the shim of the spawn whose folder is `dir`, to the end. This is the whole process: it makes a session of its
/// own, and every child of the process is taken for the agent's.
///
/// The code is 0 if the exit record was written, 75 if this shim may not run the spawn (another does, or it is
/// abandoned or over), 70 if it failed.
#[must_use]
pub fn run(dir: &Path) -> ExitCode {
    let done = SpawnDir::at(dir).map_err(io::Error::other).and_then(|dir| take_up(&dir));
    match done {
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

fn take_up(dir: &SpawnDir) -> io::Result<TakenUp> {
    let Some(_lock) = lock::take(&dir.lock_file())? else {
        return Ok(TakenUp::NotOurs(Standing::Running(None)));
    };
    match settled(dir)? {
        Standing::NeverStarted => {}
        // A request that cannot be read is answered with a record that says so.
        Standing::Lost(Lost::Damaged) if is_untouched(dir)? => {}
        other => return Ok(TakenUp::NotOurs(other)),
    }
    // The shim must not keep the workspace's file system busy.
    std::env::set_current_dir("/")?;
    // The leader of a session, such as a container's first process, has one of its own already.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    let testament = Testament::prepare(dir)?;
    let mut session = Session::begin(dir)?;
    let record = session.live()?;
    testament.write(&record, session.spool_file())?;
    session.tidy();
    Ok(TakenUp::Recorded)
}

fn is_untouched(dir: &SpawnDir) -> io::Result<bool> {
    Ok(!dir.started_file().try_exists()? && !dir.exit_file().try_exists()?)
}

/// Says something in `shim.log`, which is the shim's standard error.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
