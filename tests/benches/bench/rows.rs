//! What is measured: one function a row.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ratchet_tests::script::Action;
use ratchet_tests::{Script, TestEnv, process, wait};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

use crate::measure::{Line, at_least, at_most, medians, over, peak_mib, watched_peak_mib};
use crate::world::World;

/// A row of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) measure: fn(&World) -> Result<Vec<Line>>,
}

/// The table.
pub(crate) const ROWS: [Row; 8] = [
    Row { name: "status, 3 changes", measure: |world| status(world, 3, 0, 5, 12.0) },
    Row {
        name: "status, 1,000 changes",
        measure: |world| status(world, 1_000, 0, 30, f64::INFINITY),
    },
    Row {
        name: "status, journal of 100,000",
        measure: |world| status(world, 3, 100_000, 100, 40.0),
    },
    Row {
        name: "status, both",
        measure: |world| status(world, 1_000, 100_000, 150, f64::INFINITY),
    },
    Row { name: "apply", measure: apply },
    Row { name: "flood", measure: flood },
    Row { name: "latency", measure: latency },
    Row { name: "stop", measure: stop },
];

const MIB: f64 = 1024.0 * 1024.0;

fn status(
    world: &World,
    changes: usize,
    entries: usize,
    bar_ms: u64,
    bar_mib: f64,
) -> Result<Vec<Line>> {
    let env = world.project(changes, entries);
    let ours = || world.command(&env, &["batch", "status", "--json"]);
    let (time, bare) = medians(31, ours, || world.in_project(&env, Path::new("/bin/true"), &[]))?;
    let what = format!("status --json, {changes} changes, {entries} entries, over `true`");
    let mut lines = vec![over(&what, time, bare, Duration::from_millis(bar_ms))];
    if bar_mib.is_finite() {
        lines.push(at_most("  its peak memory", peak_mib(&ours())?, bar_mib, "MiB"));
    }
    if let Some(threads) = threads_started(&ours())? {
        lines.push(at_most("  threads it starts", threads, 0.0, "threads"));
    }
    Ok(lines)
}

/// How often the command asks for a thread or a process; `None` where strace is not installed.
fn threads_started(command: &Command) -> Result<Option<f64>> {
    let trace = tempfile::NamedTempFile::new()?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-e", "trace=clone,clone3,fork,vfork", "-o"]).arg(trace.path());
    strace.arg(command.get_program()).args(command.get_args());
    strace.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    strace.current_dir(command.get_current_dir().context("a command of the bench has a folder")?);
    let Ok(output) = strace.stdin(Stdio::null()).output() else { return Ok(None) };
    if !output.status.success() {
        return Ok(None);
    }
    let calls = fs::read_to_string(trace.path())?;
    Ok(Some(calls.lines().filter(|line| line.contains("clone") || line.contains("fork(")).count()
        as f64))
}

fn apply(world: &World) -> Result<Vec<Line>> {
    let env = world.project(1, 0);
    let exits = Script::always([]);
    let ours = || {
        // The step is blocked each time; without its park it can run again.
        let _first_time_there_is_none =
            fs::remove_file(env.path(".ratchet/batches/shop/run/state.json"));
        world.apply(&env, &exits)
    };
    let (time, bare) = medians(21, ours, || world.bare_agent(&env, &exits))?;
    Ok(vec![over(
        "batch apply over its agent, which exits at once",
        time,
        bare,
        Duration::from_millis(40),
    )])
}

fn flood(world: &World) -> Result<Vec<Line>> {
    const BYTES: u64 = 100_000_000;
    let env = world.project(1, 0);
    let script = Script::always([Action::Flood { bytes: BYTES }]);
    let shown = env.path("shown");

    let started = Instant::now();
    let mut apply = world
        .apply(&env, &script)
        .stdin(Stdio::null())
        .stdout(fs::File::create(&shown)?)
        .spawn()?;
    let ours = [apply.id().cast_signed(), shim_of(&env)?];
    let watching = ours.map(|pid| std::thread::spawn(move || watched_peak_mib(pid)));
    ensure!(apply.wait()?.success(), "the apply failed");
    let taken = started.elapsed();
    let peaks = watching.map(|watch| watch.join().unwrap_or(f64::NAN));

    let raw = env.base().join("raw");
    let log = world
        .command(&env, &["batch", "log", "--last", "--raw"])
        .stdout(fs::File::create(&raw)?)
        .status()?;
    ensure!(
        log.success() && fs::metadata(&raw)?.len() == BYTES,
        "the stored output is not what was printed"
    );

    let bare_started = Instant::now();
    let mut agent =
        world.bare_agent(&env, &script).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let pipe = agent.stdout.take().context("a pipe was asked for")?;
    let cat = Command::new("cat")
        .stdin(pipe)
        .stdout(fs::File::create(env.base().join("cat"))?)
        .status()?;
    ensure!(cat.success() && agent.wait()?.success(), "cat failed");
    let bare = bare_started.elapsed();

    let rate = |taken: Duration| BYTES as f64 / MIB * 1.048_576 / taken.as_secs_f64();
    Ok(vec![
        at_least("100 MB of output, beside `cat`", rate(taken), rate(bare), 200.0, "MB/s"),
        at_most("  peak memory of ratchet", peaks[0], 40.0, "MiB"),
        at_most("  peak memory of the shim", peaks[1], 40.0, "MiB"),
    ])
}

/// The shim of the running step: the process of ours that is called `ratchet` and was told `shim`.
fn shim_of(env: &TestEnv) -> Result<i32> {
    let mut found = None;
    wait::within(wait::DEADLINE, || {
        found = env.processes().into_iter().map(|process| process.pid).find(|pid| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.split(|byte| *byte == 0).nth(1) == Some(b"shim"))
        });
        found.is_some()
    });
    found.context("no shim was seen")
}

fn latency(world: &World) -> Result<Vec<Line>> {
    let env = world.project(1, 0);
    let script = Script::always([Action::PrintClock { count: 500, every_us: 4_000 }]);
    let mut ours = through_pipe(world.apply(&env, &script))?;
    let mut bare = through_pipe(world.bare_agent(&env, &script))?;
    let p99 = |delays: &mut Vec<Duration>| -> Result<Duration> {
        ensure!(delays.len() >= 400, "only {} lines came through", delays.len());
        delays.sort_unstable();
        Ok(delays[delays.len() * 99 / 100])
    };
    let (ours, bare) = (p99(&mut ours)?, p99(&mut bare)?);
    Ok(vec![over(
        "a line's way to the terminal, p99, over a pipe",
        ours,
        bare,
        Duration::from_millis(20),
    )])
}

/// How long each line of the clock took to arrive.
fn through_pipe(mut command: Command) -> Result<Vec<Duration>> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let pipe = child.stdout.take().context("a pipe was asked for")?;
    let mut delays = Vec::new();
    for line in BufReader::new(pipe).lines() {
        if let Ok(sent) = line?.trim().parse::<i64>() {
            let now = clock_gettime(ClockId::Monotonic);
            let nanos = now.tv_sec * 1_000_000_000 + now.tv_nsec - sent;
            delays.push(Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)));
        }
    }
    child.wait()?;
    Ok(delays)
}

fn stop(world: &World) -> Result<Vec<Line>> {
    let obeys = || vec![Action::write("agent-is-here", ""), Action::Hang];
    let deaf = Action::IgnoreTerm { actions: obeys() };
    let willing = stopping(world, &Script::always(obeys()))?;
    let stubborn = stopping(world, &Script::always([deaf]))?;
    Ok(vec![
        at_most("stop: an agent that obeys, until nothing is left", willing, 100.0, "ms"),
        at_most("stop: one that does not, grace of 2,000 ms included", stubborn, 2_200.0, "ms"),
    ])
}

/// From the signal until no process of the step is left, in milliseconds.
fn stopping(world: &World, script: &Script) -> Result<f64> {
    let env = world.project(1, 0);
    let mut apply = world
        .apply(&env, script)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    ensure!(
        wait::within(wait::DEADLINE, || env.path("agent-is-here").exists()),
        "the agent did not start"
    );
    let started = Instant::now();
    process::signal(apply.id().cast_signed(), Signal::TERM);
    apply.wait()?;
    ensure!(wait::within(wait::DEADLINE, || env.processes().is_empty()), "something is left");
    Ok(started.elapsed().as_secs_f64() * 1000.0)
}
