//! How many steps a second go through the actors, the journal and a shim each, when their agents do nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ratchet_tests::{Manifest, Phase, TestEnv};
use tokio::task::JoinSet;

use super::super::super::measure::{Line, at_least};
use super::super::super::world::World;
use super::crowd::{name, projects};
use super::daemon::{Client, Daemon, applied, apply, project};

const BATCHES: usize = 100;

/// How many steps each batch runs, one after the other.
const EACH: usize = 10;

/// How many run at a time. More only wait for a processor.
const AT_ONCE: usize = 16;

/// Where a sync costs nothing, because nothing outlives the machine there.
const WITHOUT_DISK: &str = "/dev/shm";

/// An agent that ends at once.
const AGENT: &str = "exec true";

/// On disk, and where a sync costs nothing; beside the bare agent, as many at a time.
pub(crate) fn steps(world: &World) -> Result<Vec<Line>> {
    let bare = bare_rate()?;
    let synced = rate(world, &std::env::temp_dir())?;
    let mut lines = vec![at_least(
        "supervisor, no-op steps over 100 batches, beside the bare agent",
        synced,
        bare,
        100.0,
        "/s",
    )];
    if Path::new(WITHOUT_DISK).is_dir() {
        let free = rate(world, Path::new(WITHOUT_DISK))?;
        lines.push(at_least("  the same without syncs (in memory)", free, bare, 100.0, "/s"));
    }
    Ok(lines)
}

fn rate(world: &World, folder: &Path) -> Result<f64> {
    let env = world.empty_in(folder);
    let one = |manifest: Manifest| manifest.phase(Phase::new("p1").change("add-api"));
    let roots = projects(&env, 1, BATCHES, one)?;
    let daemon = Daemon::start(world, &env, AT_ONCE)?;
    daemon.call(async |client| {
        let started = Instant::now();
        let mut batches = JoinSet::new();
        for number in 0..BATCHES {
            batches.spawn(one_after_the_other(client.clone(), Batch::new(&env, &roots[0], number)));
        }
        while let Some(done) = batches.join_next().await {
            done??;
        }
        Ok((BATCHES * EACH) as f64 / started.elapsed().as_secs_f64())
    })
}

/// One batch, and where its park is kept.
struct Batch {
    request: ratchet_proto::supervisor::v1::ApplyRequest,
    state: PathBuf,
}

impl Batch {
    fn new(env: &TestEnv, root: &Path, number: usize) -> Self {
        let state = root.join(".ratchet/batches").join(name(number)).join("run/state.json");
        Self { request: apply(project(env, root, AGENT), &name(number)), state }
    }
}

async fn one_after_the_other(client: Client, batch: Batch) -> Result<()> {
    for _step in 0..EACH {
        let told = applied(client.clone(), batch.request.clone()).await?;
        ensure!(told.reported && told.spawn.is_some(), "nothing ran: {told:?}");
        // The step is blocked each time; without its park it can run again.
        fs::remove_file(&batch.state)?;
    }
    Ok(())
}

/// How many bare agents a second come and go, as many at a time.
fn bare_rate() -> Result<f64> {
    let started = Instant::now();
    let threads: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            std::thread::spawn(|| -> std::io::Result<usize> {
                let mut done = 0;
                let until = Instant::now() + Duration::from_secs(2);
                while Instant::now() < until {
                    std::process::Command::new("/bin/bash")
                        .args(["-c", AGENT])
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .status()?;
                    done += 1;
                }
                Ok(done)
            })
        })
        .collect();
    let mut sum = 0;
    for thread in threads {
        sum += thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
    }
    Ok(sum as f64 / started.elapsed().as_secs_f64())
}
