//! The supervisor is killed while steps run, and another one is started: how long until it follows them again, and whether
//! anything of their output is lost or told twice.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::attach_request::Of;
use ratchet_tests::{TestEnv, wait};

use super::super::super::measure::{Line, at_most, p99, within};
use super::super::super::world::World;
use super::crowd::{Crowd, STEPS, until_all_run};
use super::daemon::{Client, Daemon, Told, apply, marked, project};

const ROUNDS: u32 = 30;

/// Prints for a second, the same each time.
const AGENT: &str = "for i in {1..100}; do echo \"line $i\"; sleep 0.01; done";

/// From the start of a new supervisor until it follows the step again, beside the start of one that has nothing to do.
pub(crate) fn returns(world: &World) -> Result<Vec<Line>> {
    let (mut taken, mut bare, mut damaged) = (Vec::new(), Vec::new(), 0);
    for round in 0..ROUNDS {
        let env = world.project(1, 0);
        let started = Instant::now();
        Daemon::start(world, &env, 1)?.kill()?;
        bare.push(started.elapsed());
        let first = Daemon::start(world, &env, 1)?;
        let after = Duration::from_millis(u64::from(round) * 10);
        let spawn = first.call(async |client| begin(client, &env, after).await)?;
        first.kill()?;
        let started = Instant::now();
        let second = Daemon::launch(world, &env, 1)?;
        second.call(async |client| until_followed(client, 1).await)?;
        taken.push(started.elapsed());
        let transcript = second.call(async |client| transcript(client, &env, spawn).await)?;
        damaged += u32::from(transcript != undisturbed());
        let inflight = env.path(".ratchet/batches/shop/run/inflight.json");
        ensure!(wait::within(wait::DEADLINE, || !inflight.exists()), "the step is not recorded");
        ensure!(env.journal("shop").len() == 1, "not one outcome: {:?}", env.journal("shop"));
    }
    Ok(vec![
        within(
            "supervisor, killed: until a new one follows its step, p99",
            p99(taken),
            p99(bare),
            Duration::from_secs(1),
        ),
        at_most("  transcripts unlike those of an undisturbed run", damaged.into(), 0.0, ""),
    ])
}

/// The same with a thousand steps: until the last one is followed again.
pub(crate) fn among_many(world: &World) -> Result<Vec<Line>> {
    let crowd = Crowd::of(world, 120)?;
    let first = Daemon::start(world, &crowd.env, STEPS)?;
    let asked = Instant::now();
    first.call(async |client| {
        let mut running = crowd.begin(&client);
        let pid = first.pid();
        let all = tokio::task::spawn_blocking(move || until_all_run(pid));
        tokio::select! {
            all = all => all?.map(drop),
            // One that ends now has failed.
            ended = running.join_next() => bail!("a step ended early: {ended:?}"),
        }
    })?;
    let begun = asked.elapsed();
    first.kill()?;
    let started = Instant::now();
    let second = Daemon::launch(world, &crowd.env, STEPS)?;
    second.call(async |client| until_followed(client, STEPS).await)?;
    Ok(vec![within(
        "supervisor, killed: until a new one follows 1,000 steps, beside asking",
        started.elapsed(),
        begun,
        Duration::from_secs(10),
    )])
}

/// Begins the step and goes away a while after its first line.
async fn begin(mut client: Client, env: &TestEnv, after: Duration) -> Result<String> {
    let request = apply(project(env, &env.root(), AGENT), "shop");
    let mut answers = client.apply(marked(request)).await?.into_inner();
    let mut told = Told::default();
    while told.stdout.is_empty() {
        match answers.message().await?.context("the step ended early")?.message {
            Some(wire::apply_response::Message::Event(event)) => told.hear(event),
            other => bail!("no event: {other:?}"),
        }
    }
    tokio::time::sleep(after).await;
    told.spawn.context("the step has a spawn")
}

/// Waits until so many steps are followed.
async fn until_followed(mut client: Client, steps: usize) -> Result<()> {
    loop {
        let info = client.info(marked(wire::InfoRequest {})).await?.into_inner();
        if info.active.len() >= steps {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Hears the step to its end.
async fn transcript(mut client: Client, env: &TestEnv, spawn: String) -> Result<Vec<u8>> {
    let project = Some(project(env, &env.root(), AGENT));
    let asked = wire::AttachRequest { project, of: Some(Of::Spawn(spawn)), offset: Some(0) };
    let mut answers = client.attach(marked(asked)).await?.into_inner();
    let mut told = Told::default();
    while let Some(answer) = answers.message().await? {
        told.hear(answer.event.context("an event")?);
    }
    Ok(told.stdout)
}

fn undisturbed() -> Vec<u8> {
    (1..=100).flat_map(|number| format!("line {number}\n").into_bytes()).collect()
}
