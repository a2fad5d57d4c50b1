//! A flood of output: plain lines, and events that have to be read to be shown.

use std::fs::File;
use std::io::{BufWriter, Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ratchet_tests::script::Action;
use ratchet_tests::{Script, TestEnv, wait};
use serde_json::json;

use crate::measure::{Line, at_least, at_most, watched_peak_mib};
use crate::world::World;

const BYTES: u64 = 100_000_000;

/// 100 MB in lines of 100 bytes, from an agent whose format nobody knows: shown as it is.
pub(super) fn plain(world: &World) -> Result<Vec<Line>> {
    let env = world.project(1, 0);
    let script = Script::always([Action::Flood { bytes: BYTES }]);
    let printed = env.base().join("printed");
    let bare = beside_cat(world.bare_agent(&env, &script), &printed)?;
    let poured = pour(&env, world.apply(&env, &script))?;
    poured.lines(world, &env, &printed, "100 MB of output, beside `cat`", bare)
}

/// The same amount as Claude Code prints it: every event is read, and shown as text.
pub(super) fn events(world: &World) -> Result<Vec<Line>> {
    let env = world.project(1, 0);
    let events = env.base().join("events");
    write_events(&events)?;
    let script = Script::always([Action::run(&format!("cat '{}'", events.display()))]);
    let bare = beside_cat(world.bare_agent(&env, &script), &env.base().join("printed"))?;
    let poured = pour(&env, world.apply_claude(&env, &script))?;
    poured.lines(world, &env, &events, "100 MB of events, beside `cat`", bare)
}

/// What a flood through `ratchet` came to.
struct Poured {
    taken: Duration,
    peak_of_ratchet: f64,
    peak_of_shim: f64,
}

/// Runs a step to its end, its live output to a file, and watches what our processes hold meanwhile.
fn pour(env: &TestEnv, mut apply: Command) -> Result<Poured> {
    let started = Instant::now();
    let mut apply = apply
        .stdin(Stdio::null())
        .stdout(File::create(env.base().join("shown"))?)
        .stderr(Stdio::null())
        .spawn()?;
    let ours = [apply.id().cast_signed(), shim_of(env)?];
    let watching = ours.map(|pid| std::thread::spawn(move || watched_peak_mib(pid)));
    ensure!(apply.wait()?.success(), "the apply failed");
    let taken = started.elapsed();
    let [peak_of_ratchet, peak_of_shim] = watching.map(|watch| watch.join().unwrap_or(f64::NAN));
    Ok(Poured { taken, peak_of_ratchet, peak_of_shim })
}

impl Poured {
    /// Makes sure that what is stored is what was printed, and reports.
    fn lines(
        self,
        world: &World,
        env: &TestEnv,
        printed: &Path,
        what: &str,
        bare: Duration,
    ) -> Result<Vec<Line>> {
        let raw = env.base().join("raw");
        let log = world
            .command(env, &["batch", "log", "--last", "--raw"])
            .stdout(File::create(&raw)?)
            .status()?;
        ensure!(log.success(), "the stored output cannot be printed");
        let bytes = same_bytes(&raw, printed)?;
        let rate = |taken: Duration| bytes as f64 / 1e6 / taken.as_secs_f64();
        Ok(vec![
            at_least(what, rate(self.taken), rate(bare), 200.0, "MB/s"),
            at_most("  peak memory of ratchet", self.peak_of_ratchet, 40.0, "MiB"),
            at_most("  peak memory of the shim", self.peak_of_shim, 40.0, "MiB"),
        ])
    }
}

/// How long the agent alone takes to print it all into `cat`, which writes it to `printed`.
fn beside_cat(mut agent: Command, printed: &Path) -> Result<Duration> {
    let started = Instant::now();
    let mut agent = agent.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let pipe = agent.stdout.take().context("a pipe was asked for")?;
    let cat = Command::new("cat").stdin(pipe).stdout(File::create(printed)?).status()?;
    ensure!(cat.success() && agent.wait()?.success(), "cat failed");
    Ok(started.elapsed())
}

/// The number of bytes in both files.
fn same_bytes(one: &Path, other: &Path) -> Result<u64> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut left, mut right) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    let mut count = 0;
    loop {
        let (got, wanted) = (fill(&mut one, &mut left)?, fill(&mut other, &mut right)?);
        ensure!(left[..got] == right[..wanted], "what is stored differs after {count} bytes");
        if got == 0 {
            ensure!(count > 0, "nothing is stored");
            return Ok(count);
        }
        count += got as u64;
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// 100 MB of what Claude Code prints: of its bytes most are files that it reads and what it thinks and says of them.
fn write_events(path: &Path) -> Result<()> {
    let code = "    let total = items.iter().map(|item| item.price * item.count).sum::<u64>();\n";
    let words = "The totals are right now, but the cart \"forgets\" its coupon.\nNext: the tests.";
    let message = |role: &str, block: serde_json::Value| {
        json!({"type": role, "message": {"role": role, "content": [block]}, "session_id": "s", "uuid": "u"})
            .to_string()
    };
    let turn = [
        message("assistant", json!({"type": "thinking", "thinking": words.repeat(20)})),
        message("assistant", json!({"type": "text", "text": words.repeat(4)})),
        message("assistant", json!({"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "src/cart.rs"}})),
        message("user", json!({"type": "tool_result", "tool_use_id": "t", "content": code.repeat(60)})),
    ]
    .join("\n");
    let mut file = BufWriter::new(File::create(path)?);
    for _turn in 0..BYTES / turn.len() as u64 {
        writeln!(file, "{turn}")?;
    }
    writeln!(
        file,
        "{}",
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "Done."})
    )?;
    Ok(file.flush()?)
}

/// The shim of the running step: the process of ours that is called `ratchet` and was told `shim`.
fn shim_of(env: &TestEnv) -> Result<i32> {
    let mut found = None;
    wait::within(wait::DEADLINE, || {
        found = env.processes().into_iter().map(|process| process.pid).find(|pid| {
            std::fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.split(|byte| *byte == 0).nth(1) == Some(b"shim"))
        });
        found.is_some()
    });
    found.context("no shim was seen")
}
