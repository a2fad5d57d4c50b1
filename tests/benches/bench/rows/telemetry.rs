//! What telemetry costs: nothing while it is off, next to nothing while a collector answers, and two seconds at the very most
//! while none does.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use ratchet_tests::{Script, TestEnv};

use crate::measure::{Line, at_most_beside, medians, over, within};
use crate::world::World;

/// How much longer a step may take, as a share of what it takes without.
const MOST: f64 = 1.05;

/// A step whose agent exits at once, without telemetry and with a collector that answers.
pub(super) fn overhead(world: &World) -> Result<Vec<Line>> {
    let env = world.project(1, 0);
    let collector = answering()?;
    let (ours, plain) = pair(world, &env, &format!("http://{collector}"), 61)?;
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    Ok(vec![
        at_most_beside(
            "batch apply with telemetry, beside one without",
            ms(ours),
            ms(plain),
            ms(plain) * MOST,
            "ms",
        ),
        over("  what that adds", ours, plain, Duration::from_millis(20)),
    ])
}

/// The same while nobody answers, and while somebody never does.
pub(super) fn away(world: &World) -> Result<Vec<Line>> {
    let env = world.project(1, 0);
    let free = TcpListener::bind("127.0.0.1:0")?;
    let slow = format!("http://{}", free.local_addr()?);
    let (silent, plain) = pair(world, &env, &slow, 3)?;
    drop(free);
    let (dead, again) = pair(world, &env, &slow, 21)?;
    Ok(vec![
        over(
            "batch apply, nobody listens to its telemetry",
            dead,
            again,
            Duration::from_millis(20),
        ),
        within(
            "batch apply, a collector never answers",
            silent,
            plain,
            Duration::from_millis(2_300),
        ),
    ])
}

/// The medians of a step with telemetry and of one without, taken turn by turn.
fn pair(
    world: &World,
    env: &TestEnv,
    endpoint: &str,
    times: usize,
) -> Result<(Duration, Duration)> {
    let exits = Script::always([]);
    let step = |traced: bool| -> Command {
        // The step is blocked each time; without its park it can run again.
        drop(std::fs::remove_file(env.path(".ratchet/batches/shop/run/state.json")));
        let mut command = world.apply(env, &exits);
        if traced {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
        }
        command
    };
    medians(times, || step(true), || step(false))
}

/// The least that a collector does: it reads each request and says that all is well. It ends with the bench.
fn answering() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    Ok(address)
}

/// Answers the requests of one connection until it ends or makes no sense.
fn answer(mut stream: TcpStream) -> Option<()> {
    let mut held = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let head = loop {
            if let Some(end) = held.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
            held.extend_from_slice(&piece[..read]);
        };
        let text = String::from_utf8_lossy(&held[..head]).to_ascii_lowercase();
        let length = text.split("content-length: ").nth(1)?;
        let length: usize = length.split("\r\n").next()?.trim().parse().ok()?;
        while held.len() < head + length {
            let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
            held.extend_from_slice(&piece[..read]);
        }
        held.drain(..head + length);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    }
}
