//! Finding processes by a mark in their environment or by where they stand, so that a test can say "nothing is left"
//! and clean up what a failure left. Reads `/proc`; signals only by pid, and only pids it has just found.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// A live process that belongs to a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// The kernel's short name for it.
    pub name: String,
}

/// Every live process that carries `mark` in its environment, or works in or names a path below `base`.
/// Zombies don't count: nothing of them is left but the number.
pub fn belonging_to(mark: &str, base: &Path) -> Vec<Process> {
    let own = std::process::id().cast_signed();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != own && belongs(*pid, mark, base))
        .filter_map(|pid| Some(Process { pid, name: name_of(pid)? }))
        .collect()
}

/// Whether the process exists and is no zombie.
pub fn is_alive(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The state follows the name, which stands in brackets and may hold anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// How many threads of a process there are. Of one that has ended and was not waited for, one is left.
pub fn threads(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// The words a process was started with; none when it has gone.
pub fn command_line(pid: i32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Sends a signal to one process; a process that has gone meanwhile is no error.
pub fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _gone_is_fine = kill_process(pid, signal);
    }
}

/// Ends every process of [`belonging_to`], again until none is found (one may be forking while we look).
pub fn end_all(mark: &str, base: &Path) {
    for _round in 0..50 {
        let found = belonging_to(mark, base);
        if found.is_empty() {
            return;
        }
        for process in found {
            signal(process.pid, Signal::KILL);
        }
    }
}

fn belongs(pid: i32, mark: &str, base: &Path) -> bool {
    if !is_alive(pid) {
        return false;
    }
    let base_bytes = base.as_os_str().as_bytes();
    let holds = |file: &str, needle: &[u8]| {
        fs::read(format!("/proc/{pid}/{file}")).is_ok_and(|bytes| contains(&bytes, needle))
    };
    holds("environ", mark.as_bytes())
        || holds("cmdline", base_bytes)
        || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(base))
}

fn name_of(pid: i32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

fn contains(hay: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && hay.windows(needle.len()).any(|window| window == needle)
}
