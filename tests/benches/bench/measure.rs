//! Taking times and peak memory, and the line that reports them.

use std::ffi::OsString;
use std::fmt;
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};

/// Before a command that the bench runs for itself, to learn its peak memory.
pub(crate) const CHILD_FLAG: &str = "--measure-child";

/// One printed line.
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) ours: String,
    pub(crate) baseline: String,
    pub(crate) difference: String,
    pub(crate) bar: String,
    pub(crate) holds: bool,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.holds { "holds" } else { "MISSED" };
        write!(
            f,
            "{:<58} {:>14} {:>14} {:>14}  {} {verdict}",
            self.what, self.ours, self.baseline, self.difference, self.bar
        )
    }
}

/// A duration beside its baseline; the difference must stay below the bar.
pub(crate) fn over(what: &str, ours: Duration, baseline: Duration, bar: Duration) -> Line {
    let difference = ours.saturating_sub(baseline);
    Line {
        what: what.to_owned(),
        ours: millis(ours),
        baseline: millis(baseline),
        difference: format!("+{}", millis(difference)),
        bar: format!("≤ {}", millis(bar)),
        holds: difference <= bar,
    }
}

/// A duration beside its baseline; the duration itself must stay below the bar.
pub(crate) fn within(what: &str, ours: Duration, baseline: Duration, bar: Duration) -> Line {
    Line { holds: ours <= bar, ..over(what, ours, baseline, bar) }
}

/// A value that must stay below its bar.
pub(crate) fn at_most(what: &str, ours: f64, bar: f64, unit: &str) -> Line {
    Line {
        what: what.to_owned(),
        ours: format!("{ours:.2} {unit}"),
        baseline: String::new(),
        difference: String::new(),
        bar: format!("≤ {bar} {unit}"),
        holds: ours <= bar,
    }
}

/// A value beside its baseline; it must stay below its bar.
pub(crate) fn at_most_beside(what: &str, ours: f64, baseline: f64, bar: f64, unit: &str) -> Line {
    Line {
        baseline: format!("{baseline:.2} {unit}"),
        difference: format!("× {:.2}", ours / baseline),
        ..at_most(what, ours, bar, unit)
    }
}

/// A rate beside its baseline; it must reach the bar.
pub(crate) fn at_least(what: &str, ours: f64, baseline: f64, bar: f64, unit: &str) -> Line {
    Line {
        what: what.to_owned(),
        ours: format!("{ours:.0} {unit}"),
        baseline: format!("{baseline:.0} {unit}"),
        difference: format!("× {:.2}", ours / baseline),
        bar: format!("≥ {bar} {unit}"),
        holds: ours >= bar,
    }
}

/// The value of a sorted list below which 99 of 100 lie.
pub(crate) fn p99(mut taken: Vec<Duration>) -> Duration {
    taken.sort_unstable();
    taken.get((taken.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default()
}

fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}

/// The median of `times` runs of a command that must succeed, its output thrown away.
pub(crate) fn median(times: usize, mut command: impl FnMut() -> Command) -> Result<Duration> {
    let mut taken = Vec::with_capacity(times);
    for _run in 0..times {
        let mut command = command();
        let started = Instant::now();
        let status =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        taken.push(started.elapsed());
        ensure!(status.success(), "{command:?} ended with {status}");
    }
    taken.sort_unstable();
    Ok(taken[taken.len() / 2])
}

/// Two medians taken turn by turn, so that a busy moment of the machine touches both.
pub(crate) fn medians(
    times: usize,
    mut ours: impl FnMut() -> Command,
    mut baseline: impl FnMut() -> Command,
) -> Result<(Duration, Duration)> {
    let (mut our_times, mut base_times) = (Vec::new(), Vec::new());
    for _turn in 0..times {
        our_times.push(median(1, &mut ours)?);
        base_times.push(median(1, &mut baseline)?);
    }
    our_times.sort_unstable();
    base_times.sort_unstable();
    Ok((our_times[times / 2], base_times[times / 2]))
}

/// The peak memory of a command, in MiB. It runs below a fresh copy of this program, which holds next to nothing.
pub(crate) fn peak_mib(command: &Command) -> Result<f64> {
    let mut measuring = Command::new(std::env::current_exe()?);
    measuring.arg(CHILD_FLAG).arg(command.get_program()).args(command.get_args()).env_clear();
    measuring.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        measuring.current_dir(folder);
    }
    let output = measuring.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let kib: f64 =
        String::from_utf8_lossy(&output.stdout).trim().parse().context("no number came back")?;
    Ok(kib / 1024.0)
}

/// Runs a command and prints the peak memory of it and its children, in KiB.
pub(crate) fn child(words: &[String]) -> ExitCode {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let Some((program, arguments)) = words.split_first() else { return ExitCode::FAILURE };
    let ran = Command::new(program).args(arguments).stdout(Stdio::null()).status();
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return ExitCode::FAILURE };
    let _reader_is_the_bench = writeln!(std::io::stdout(), "{}", usage.max_rss());
    if ran.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Watches a process's peak memory until it ends, in MiB: for processes that are not our children, like the shim.
pub(crate) fn watched_peak_mib(pid: i32) -> f64 {
    let mut peak = 0.0_f64;
    while let Some(kib) = peak_now_kib(pid) {
        peak = peak.max(kib / 1024.0);
        let ended =
            ratchet_tests::wait::within(Duration::from_millis(2), || peak_now_kib(pid).is_none());
        if ended {
            break;
        }
    }
    peak
}

/// `VmHWM`: the most memory the process has held so far.
fn peak_now_kib(pid: i32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
}
