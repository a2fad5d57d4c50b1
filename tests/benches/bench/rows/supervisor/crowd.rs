//! Many at once: ten thousand batches that nothing is done with, a thousand steps that run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ratchet_proto::supervisor::v1 as wire;
use ratchet_tests::script::Action;
use ratchet_tests::{Manifest, Phase, Script, TestEnv, wait};
use tokio::task::JoinSet;

use super::super::super::measure::{Line, at_most, at_most_beside, p99, within};
use super::super::super::world::World;
use super::daemon::{
    Client, Daemon, Told, applied, apply, children, marked, project, pss_kib, rss_kib,
};

const PROJECTS: usize = 100;
const BATCHES: usize = 100;

/// Every batch of a hundred projects was asked for its next step, and has none.
pub(crate) fn batches(world: &World) -> Result<Vec<Line>> {
    let env = world.project(1, 0);
    let roots = projects(&env, PROJECTS, BATCHES, |manifest| manifest)?;
    let daemon = Daemon::start(world, &env, 4)?;
    // The first project warms up what is there once.
    touch(&daemon, &env, &roots[..1])?;
    let before = rss_kib(daemon.pid())?;
    touch(&daemon, &env, &roots[1..])?;
    let idle = ((PROJECTS - 1) * BATCHES) as f64;
    let each = (rss_kib(daemon.pid())? - before) / idle;
    let ours = daemon.call(async |client| times_of_status(client, &env, &roots).await)?;
    let alone = times_of_the_command(world, &env, &roots[0])?;
    Ok(vec![
        within(
            "supervisor, 10,000 batches: status of one, p99, beside the command",
            p99(ours),
            p99(alone),
            Duration::from_millis(10),
        ),
        at_most("  memory of each idle batch", each, 4.0, "KiB"),
    ])
}

/// Asks for the next step of every batch, and lets the dust settle.
fn touch(daemon: &Daemon, env: &TestEnv, roots: &[PathBuf]) -> Result<()> {
    daemon.call(async |client| {
        for root in roots {
            let of_this = project(env, root, "true");
            for number in 0..BATCHES {
                let request = apply(of_this.clone(), &name(number));
                let told = applied(client.clone(), request).await?;
                ensure!(told.reported && told.spawn.is_none(), "something ran: {told:?}");
            }
        }
        Ok(())
    })?;
    wait::moment(Duration::from_secs(1));
    Ok(())
}

async fn times_of_status(
    mut client: Client,
    env: &TestEnv,
    roots: &[PathBuf],
) -> Result<Vec<Duration>> {
    let known = client.info(marked(wire::InfoRequest {})).await?.into_inner().projects.len();
    ensure!(known >= PROJECTS, "only {known} projects are known");
    let mut taken = Vec::new();
    for (number, root) in roots.iter().cycle().take(1_000).enumerate() {
        let batch = name(number % BATCHES);
        let asked = wire::StatusRequest { project: Some(project(env, root, "true")), batch };
        let started = Instant::now();
        client.status(marked(asked)).await?;
        taken.push(started.elapsed());
    }
    Ok(taken)
}

fn times_of_the_command(world: &World, env: &TestEnv, root: &Path) -> Result<Vec<Duration>> {
    let mut taken = Vec::new();
    for number in 0..BATCHES {
        let mut command = world.command(env, &["batch", "status", &name(number), "--json"]);
        let started = Instant::now();
        let status = command.current_dir(root).stdout(Stdio::null()).status()?;
        ensure!(status.success(), "the status failed");
        taken.push(started.elapsed());
    }
    Ok(taken)
}

pub(super) const STEPS: usize = 1_000;

/// How many lines each of the thousand agents prints, one a second: they must still run when the last one has started.
const LINES: u32 = 60;

/// A thousand agents at once, each of which prints a line a second.
pub(crate) fn steps(world: &World) -> Result<Vec<Line>> {
    let crowd = Crowd::of(world, LINES)?;
    let daemon = Daemon::start(world, &crowd.env, STEPS)?;
    let started = Instant::now();
    let (told, held) = daemon.call(async |client| {
        let mut running = crowd.begin(&client);
        let pid = daemon.pid();
        let held = tokio::task::spawn_blocking(move || held_by(pid));
        let mut told = Vec::with_capacity(STEPS);
        while let Some(step) = running.join_next().await {
            told.push(step??);
        }
        Ok((told, held.await??))
    })?;
    let taken = started.elapsed();
    let whole = told.iter().filter(|told| told.reported && is_whole(told)).count();
    let alone = Duration::from_secs(LINES.into());
    Ok(vec![
        at_most_beside(
            "supervisor, 1,000 steps: memory of ours for each, beside its agent",
            held.ours / 1024.0,
            held.agents / 1024.0,
            1.0,
            "MiB",
        ),
        at_most("  that did not complete with every line once", (STEPS - whole) as f64, 0.0, ""),
        within("  until the last is recorded, beside one alone", taken, alone, alone * 2),
        at_most("  memory of the supervisor alone", held.supervisor / 1024.0, 1024.0, "MiB"),
    ])
}

/// A thousand batches with a step each.
pub(super) struct Crowd {
    pub(super) env: TestEnv,
    pub(super) roots: Vec<PathBuf>,
    agent: String,
}

impl Crowd {
    pub(super) fn of(world: &World, lines: u32) -> Result<Self> {
        let env = world.project(1, 0);
        let one = |manifest: Manifest| manifest.phase(Phase::new("p1").change("add-api"));
        let roots = projects(&env, 10, STEPS / 10, one)?;
        let clock = Action::PrintClock { count: lines, every_us: 1_000_000 };
        let agent = format!("exec {}", env.agent(&Script::always([clock])));
        Ok(Self { env, roots, agent })
    }

    /// Asks for all steps at once.
    pub(super) fn begin(&self, client: &Client) -> JoinSet<Result<Told>> {
        let mut running = JoinSet::new();
        for root in &self.roots {
            let of_this = project(&self.env, root, &self.agent);
            for number in 0..STEPS / 10 {
                running.spawn(applied(client.clone(), apply(of_this.clone(), &name(number))));
            }
        }
        running
    }
}

/// The lines are moments, each after the one before: whatever is lost or told twice is seen.
fn is_whole(told: &Told) -> bool {
    let text = String::from_utf8_lossy(&told.stdout);
    let moments: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    moments.len() == LINES as usize
        && text.lines().count() == moments.len()
        && moments.windows(2).all(|pair| pair[0] < pair[1])
}

/// What is held while all run, in KiB.
struct Held {
    supervisor: f64,
    /// For each step: its shim, and its share of the supervisor.
    ours: f64,
    /// For each step: its agent.
    agents: f64,
}

/// Waits until all run, and looks.
fn held_by(supervisor: i32) -> Result<Held> {
    let shims = until_all_run(supervisor)?;
    wait::moment(Duration::from_secs(2));
    let sum = |pids: &[i32]| pids.iter().map(|pid| pss_kib(*pid)).sum::<Result<f64>>();
    let agents: Vec<Vec<i32>> = shims.iter().map(|shim| children(*shim)).collect::<Result<_>>()?;
    let agents = sum(&agents.concat()).context("an agent is gone already")?;
    let alone = pss_kib(supervisor)?;
    let each = |sum: f64| sum / STEPS as f64;
    Ok(Held { supervisor: alone, ours: each(alone + sum(&shims)?), agents: each(agents) })
}

/// Waits until a thousand agents run under a supervisor, and gives their shims.
pub(super) fn until_all_run(supervisor: i32) -> Result<Vec<i32>> {
    let mut shims = Vec::new();
    let all = wait::within(Duration::from_secs(LINES.into()), || {
        // Looking costs, too.
        wait::moment(Duration::from_millis(100));
        shims = children(supervisor).unwrap_or_default();
        if shims.len() < STEPS {
            return false;
        }
        let running = shims.iter().filter(|shim| children(**shim).is_ok_and(|of| !of.is_empty()));
        running.count() == STEPS
    });
    ensure!(all, "only {} steps ran at once", shims.len());
    Ok(shims)
}

/// Makes projects of so many batches each.
pub(super) fn projects(
    env: &TestEnv,
    projects: usize,
    batches: usize,
    fill: impl Fn(Manifest) -> Manifest,
) -> Result<Vec<PathBuf>> {
    let mut roots = Vec::with_capacity(projects);
    for number in 0..projects {
        let root = env.base().join(format!("many/p{number}"));
        for number in 0..batches {
            let folder = root.join(".ratchet/batches").join(name(number));
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("batch.yaml"), fill(Manifest::new(&name(number))).to_yaml())?;
        }
        roots.push(root);
    }
    Ok(roots)
}

pub(super) fn name(number: usize) -> String {
    format!("batch-{number}")
}
