//! Steps in containers, beside the engine's own command line with the same command and image. They need an engine and the
//! images of `tests/docker/prepare.sh`, and the measured `ratchet` must be static.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ratchet_tests::{TestEnv, engine, wait};

use crate::measure::{Line, at_least, at_most, at_most_beside, median};
use crate::world::World;

const IMAGE: &str = "ratchet-test:busybox";

/// How many bytes the flood is.
const FLOOD: u64 = 600_000_000;

/// How many steps run at once.
const MANY: usize = 50;

/// A project whose steps run in containers.
fn project(world: &World) -> TestEnv {
    let env = world.project(1, 0);
    env.write(".ratchet/config.yaml", format!("batch:\n  locus: docker\n  image: {IMAGE}\n"));
    env
}

fn apply(world: &World, env: &TestEnv, script: &str) -> Command {
    // The step is blocked each time; without its park it can run again.
    let _first_time_there_is_none =
        std::fs::remove_file(env.path(".ratchet/batches/shop/run/state.json"));
    let mut command = world.command(env, &["batch", "apply"]);
    command.env("RATCHET_BATCH_AGENT_CMD", script).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

fn spawns(env: &TestEnv) -> String {
    env.base().join("state/ratchet/spawns").display().to_string()
}

/// From the start of a command until a line of its output is this word.
fn until_said(mut command: Command, word: &str) -> Result<Duration> {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut pipe = child.stdout.take().context("a pipe was asked for")?;
    let (mut said, mut chunk) = (Vec::new(), [0; 4096]);
    let taken = loop {
        let count = pipe.read(&mut chunk)?;
        ensure!(count > 0, "`{word}` was never said");
        said.extend_from_slice(&chunk[..count]);
        if said.windows(word.len()).any(|window| window == word.as_bytes()) {
            break started.elapsed();
        }
    };
    drop(pipe.read_to_end(&mut said));
    child.wait()?;
    Ok(taken)
}

pub(crate) fn first_byte(world: &World) -> Result<Vec<Line>> {
    let env = project(world);
    let ours = || apply(world, &env, "echo here-it-is");
    let bare = || {
        let mut command = Command::new("docker");
        let words = ["run", "--rm", "--init", "--entrypoint", "sh", IMAGE, "-c", "echo here-it-is"];
        command.args(words).stdin(Stdio::null()).stderr(Stdio::null());
        command
    };
    // The image is tried once before the first step in it.
    until_said(ours(), "here-it-is")?;
    let (mut our_times, mut base_times) = (Vec::new(), Vec::new());
    for _turn in 0..21 {
        our_times.push(until_said(ours(), "here-it-is")?);
        base_times.push(until_said(bare(), "here-it-is")?);
    }
    our_times.sort_unstable();
    base_times.sort_unstable();
    let ms = |times: &[Duration]| times[times.len() / 2].as_secs_f64() * 1000.0;
    let (ours, base) = (ms(&our_times), ms(&base_times));
    let what = "batch apply in a container to its first byte, × `docker run`";
    Ok(vec![at_most_beside(what, ours, base, base * 1.15, "ms")])
}

pub(crate) fn throughput(world: &World) -> Result<Vec<Line>> {
    let env = project(world);
    // Not `head`: busybox's takes byte by byte, and would be what is measured.
    let flood = format!("dd if=/dev/zero bs=1000000 count={} 2> /dev/null", FLOOD / 1_000_000);
    // The median of three, because one busy moment of the machine is a second or two.
    let timed =
        |command: &dyn Fn() -> Command| -> Result<f64> { Ok(median(3, command)?.as_secs_f64()) };
    let empty = timed(&|| apply(world, &env, "true"))?;
    let full = timed(&|| apply(world, &env, &flood))?;
    let mut log = world.command(&env, &["batch", "log", "--last", "--raw"]);
    let log = log.stderr(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let stored = count(log)?;
    ensure!(stored == FLOOD, "{stored} bytes came through of {FLOOD}");
    let docker = |script: &str| {
        let mut command = Command::new("docker");
        command.args(["run", "--rm", "--entrypoint", "sh", IMAGE, "-c", script]);
        command
    };
    let bare_empty = timed(&|| docker("true"))?;
    let bare_full = timed(&|| docker(&flood))?;
    let rate = |full: f64, empty: f64| FLOOD as f64 / 1e6 / (full - empty).max(0.001);
    let (ours, base) = (rate(full, empty), rate(bare_full, bare_empty));
    Ok(vec![at_least(
        "output of a container, whole, beside `docker run`",
        ours,
        base,
        150.0,
        "MB/s",
    )])
}

fn count(mut child: Child) -> Result<u64> {
    let mut pipe = child.stdout.take().context("a pipe was asked for")?;
    let counted = std::io::copy(&mut pipe, &mut std::io::sink())?;
    child.wait()?;
    Ok(counted)
}

pub(crate) fn cancel(world: &World) -> Result<Vec<Line>> {
    let worst = |script: &str| -> Result<f64> {
        (0..5).try_fold(0.0, |worst, _turn| Ok(f64::max(worst, cancelled(world, script)?)))
    };
    Ok(vec![
        at_most(
            "cancel until the container is gone: an agent that obeys",
            worst("touch here; exec sleep 1000")?,
            500.0,
            "ms",
        ),
        at_most(
            "cancel until it is gone: one that does not, grace included",
            worst("trap '' TERM; touch here; while true; do sleep 0.05; done")?,
            2_500.0,
            "ms",
        ),
    ])
}

fn cancelled(world: &World, script: &str) -> Result<f64> {
    let env = project(world);
    let mut step = apply(world, &env, script).stdout(Stdio::null()).spawn()?;
    ensure!(wait::within(wait::DEADLINE, || env.path("here").exists()), "the agent did not start");
    let started = Instant::now();
    let status = world.command(&env, &["batch", "cancel"]).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "cancel ended with {status}");
    let gone = wait::within(wait::DEADLINE, || engine::containers_of(&spawns(&env)).is_empty());
    let taken = started.elapsed();
    ensure!(gone, "the container is left");
    step.wait()?;
    Ok(taken.as_secs_f64() * 1000.0)
}

pub(crate) fn fifty(world: &World) -> Result<Vec<Line>> {
    let projects: Vec<TestEnv> = (0..MANY).map(|_| project(world)).collect();
    let script = "touch here; while [ ! -e go ]; do sleep 0.1; done; \
        ratchet batch report shop --change change-0 --blocker done; echo over";
    let started = Instant::now();
    let mut steps = Vec::new();
    for env in &projects {
        steps.push(apply(world, env, script).stdout(Stdio::null()).spawn()?);
    }
    let long = Duration::from_secs(300);
    let all_here = || projects.iter().all(|env| env.path("here").exists());
    ensure!(wait::within(long, all_here), "not all of them started");
    let here = started.elapsed().as_secs_f64();
    projects.iter().for_each(|env| env.write("go", ""));
    for mut step in steps {
        ensure!(step.wait()?.success(), "a step failed");
    }
    let over = started.elapsed().as_secs_f64();
    let reported =
        projects.iter().filter(|env| env.journaled("shop", "change-0", "blocker").len() == 2);
    let complete = reported.count();
    let left: usize = projects.iter().map(|env| engine::containers_of(&spawns(env)).len()).sum();
    Ok(vec![
        at_least(
            "steps at once, each in its container, complete",
            complete as f64,
            MANY as f64,
            MANY as f64,
            "",
        ),
        at_most("  containers left", left as f64, 0.0, ""),
        at_most("  until all of them ran", here, f64::INFINITY, "s"),
        at_most("  until all of them were recorded", over, f64::INFINITY, "s"),
    ])
}
