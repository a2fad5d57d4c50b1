//! The supervisor as a process of its own: what it costs when nothing happens, how fast it answers, and (below) what many
//! batches, many steps and its sudden end come to.

pub(super) mod crowd;
mod daemon;
pub(super) mod death;
pub(super) mod pace;

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ratchet_proto::supervisor::v1 as wire;
use ratchet_tests::wait;

use self::daemon::{Daemon, marked, project, rss_kib, switches};
use super::super::measure::{Line, at_most, at_most_beside, p99, within};
use super::super::world::World;

/// How long an idle process is looked at.
const A_WHILE: Duration = Duration::from_secs(5);

const CALLS: usize = 2_000;

/// Its memory and its wake-ups when nothing happens, beside `sleep`. It has answered before, and holds a connection.
pub(super) fn idle(world: &World) -> Result<Vec<Line>> {
    let env = world.project(3, 0);
    let daemon = Daemon::start(world, &env, 4)?;
    let mut sleep = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn()?;
    let bare = i32::try_from(sleep.id())?;
    daemon.call(async |mut client| {
        let status = status_of(&env, "shop");
        client.status(marked(status)).await?;
        Ok(())
    })?;
    wait::moment(Duration::from_millis(500));
    let wakes = |pid: i32| -> Result<f64> {
        let before = switches(pid)?;
        wait::moment(A_WHILE);
        Ok((switches(pid)? - before) as f64 / A_WHILE.as_secs_f64())
    };
    let (ours, baseline) = (wakes(daemon.pid())?, wakes(bare)?);
    let memory = (rss_kib(daemon.pid())? / 1024.0, rss_kib(bare)? / 1024.0);
    sleep.kill()?;
    sleep.wait()?;
    let mut lines = vec![
        at_most_beside("supervisor, idle: memory, beside `sleep`", memory.0, memory.1, 25.0, "MiB"),
        at_most("supervisor, idle: wake-ups a second", ours, 0.0, "/s"),
        at_most("  those of `sleep`, the same way", baseline, 0.0, "/s"),
    ];
    lines.push(at_most("  threads it has", daemon::threads(daemon.pid())? as f64, 16.0, ""));
    Ok(lines)
}

/// How long an answer takes, beside a plain round trip over a Unix socket.
pub(super) fn calls(world: &World) -> Result<Vec<Line>> {
    let env = world.project(3, 0);
    let daemon = Daemon::start(world, &env, 4)?;
    let bare = p99(round_trips()?);
    let (info, status) = daemon.call(async |mut client| {
        let (mut info, mut status) = (Vec::new(), Vec::new());
        for _call in 0..CALLS {
            let started = Instant::now();
            client.info(marked(wire::InfoRequest {})).await?;
            info.push(started.elapsed());
            let started = Instant::now();
            client.status(marked(status_of(&env, "shop"))).await?;
            status.push(started.elapsed());
        }
        Ok((info, status))
    })?;
    let bar = Duration::from_millis(2);
    Ok(vec![
        within("supervisor, a unary call, p99, beside a bare round trip", p99(info), bare, bar),
        within("  the status of a batch, p99", p99(status), bare, bar),
    ])
}

fn status_of(env: &ratchet_tests::TestEnv, batch: &str) -> wire::StatusRequest {
    wire::StatusRequest {
        project: Some(project(env, &env.root(), "true")),
        batch: batch.to_owned(),
    }
}

/// So many bytes there and back between two threads.
fn round_trips() -> Result<Vec<Duration>> {
    let folder = tempfile::tempdir()?;
    let listener = UnixListener::bind(folder.path().join("s"))?;
    let mut caller = UnixStream::connect(folder.path().join("s"))?;
    let answering = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut callee, _) = listener.accept()?;
        let mut bytes = [0; 256];
        while callee.read_exact(&mut bytes).is_ok() {
            callee.write_all(&bytes)?;
        }
        Ok(())
    });
    let mut taken = Vec::with_capacity(CALLS);
    let mut bytes = [7; 256];
    for _call in 0..CALLS {
        let started = Instant::now();
        caller.write_all(&bytes)?;
        caller.read_exact(&mut bytes)?;
        taken.push(started.elapsed());
    }
    drop(caller);
    let answered = answering.join().ok().context("the other thread panicked")?;
    ensure!(answered.is_ok(), "the other thread failed: {answered:?}");
    Ok(taken)
}
