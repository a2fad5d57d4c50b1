//! What is measured: one function a row.

mod containers;
mod flood;
mod mutation;
mod plain;
mod supervisor;
mod telemetry;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ratchet_tests::script::Action;
use ratchet_tests::{Script, process, wait};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

use crate::measure::{Line, at_most, medians, over, peak_mib, within};
use crate::world::World;

/// A row of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) measure: fn(&World) -> Result<Vec<Line>>,
}

/// The table.
pub(crate) const ROWS: [Row; 27] = [
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
    Row { name: "version", measure: plain::version },
    Row { name: "init", measure: plain::init },
    Row { name: "validate, 1,000 changes", measure: plain::validate },
    Row { name: "apply", measure: apply },
    Row { name: "telemetry", measure: telemetry::overhead },
    Row { name: "telemetry, no collector", measure: telemetry::away },
    Row { name: "flood", measure: flood::plain },
    Row { name: "flood of events", measure: flood::events },
    Row { name: "latency", measure: latency },
    Row { name: "stop", measure: stop },
    Row { name: "containers, first byte", measure: containers::first_byte },
    Row { name: "containers, throughput", measure: containers::throughput },
    Row { name: "containers, cancel", measure: containers::cancel },
    Row { name: "containers, fifty", measure: containers::fifty },
    Row { name: "mutation, overhead", measure: mutation::overhead },
    Row { name: "mutation, jobs", measure: mutation::jobs },
    Row { name: "supervisor, idle", measure: supervisor::idle },
    Row { name: "supervisor, a call", measure: supervisor::calls },
    Row { name: "supervisor, 10,000 batches", measure: supervisor::crowd::batches },
    Row { name: "supervisor, 1,000 steps", measure: supervisor::crowd::steps },
    Row { name: "supervisor, steps a second", measure: supervisor::pace::steps },
    Row { name: "supervisor, killed", measure: supervisor::death::returns },
    Row { name: "supervisor, restarted among 1,000 steps", measure: supervisor::death::among_many },
];

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
    Ok(vec![within(
        "a line's way to the terminal, p99, beside a bare pipe",
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
    let here = || Action::write("agent-is-here", "");
    let deaf = |more: Vec<Action>| Action::IgnoreTerm { actions: more };
    let obeys = Script::always([here(), Action::Hang]);
    let never = Script::always([deaf(vec![here(), Action::Hang])]);
    // What it leaves stands in a session of its own and hears no signal; only the agent itself obeys.
    let away = vec![Action::NewSession, deaf(vec![here(), Action::Hang])];
    let leaves = Script::always([Action::BackgroundUnmarked { actions: away }, Action::Hang]);
    Ok(vec![
        at_most(
            "stop: an agent that obeys, until nothing is left",
            stopping(world, &obeys)?,
            100.0,
            "ms",
        ),
        at_most(
            "stop: one that does not, grace of 2,000 ms included",
            stopping(world, &never)?,
            2_200.0,
            "ms",
        ),
        at_most(
            "stop: one that leaves a deaf process behind",
            stopping(world, &leaves)?,
            2_200.0,
            "ms",
        ),
    ])
}

/// From the signal until no process of the step is left, in milliseconds: the worst of five.
fn stopping(world: &World, script: &Script) -> Result<f64> {
    (0..5).try_fold(0.0, |worst, _turn| Ok(f64::max(worst, stopped_once(world, script)?)))
}

fn stopped_once(world: &World, script: &Script) -> Result<f64> {
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
