//! What the kernel says about processes and about the machine: `/proc`, read and nothing else.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::id::{MARK_VARIABLE, SpawnId};

/// The most that is read of a process's environment; the kernel's own limit is lower.
const LARGEST_ENVIRONMENT: u64 = 4 * 1024 * 1024;

/// The most that is told of a command line's first word.
const LONGEST_PROGRAM: u64 = 128;

/// One process, at the moment of the look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// In clock ticks since boot: with the number it names the process for ever.
    pub(crate) start_time: u64,
    pub(crate) comm: String,
    pub(crate) life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Alive,
    /// Over, but not yet waited for by its parent.
    Zombie,
}

/// Names the current boot of the machine.
pub(crate) fn boot_id() -> io::Result<String> {
    kernel_text("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned())
}

/// Names the pid namespace of the calling process: numbers of processes mean the same within it.
pub(crate) fn pid_namespace() -> io::Result<String> {
    Ok(fs::read_link("/proc/self/ns/pid")?.to_string_lossy().into_owned())
}

/// Reads a file that the kernel writes as it is read: it has no size, so room is made beforehand to read it in one go.
pub(crate) fn kernel_text(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    let mut text = String::with_capacity(16 * 1024);
    File::open(path).and_then(|mut file| file.read_to_string(&mut text)).map_err(|error| {
        // Whoever reads this in a container's log should see that `/proc` is missing.
        io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()))
    })?;
    Ok(text)
}

/// Lists all processes that can be seen.
pub(crate) fn all() -> io::Result<Vec<Process>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let pid = name.to_str().and_then(|name| name.parse::<i32>().ok());
        found.extend(pid.and_then(look));
    }
    Ok(found)
}

/// Looks at one process; `None` if there is none of this number.
pub(crate) fn look(pid: i32) -> Option<Process> {
    // The kernel gives the whole line to the first read; about 300 bytes are usual. This is done for every process of
    // the machine at the end of every spawn, so no call is wasted.
    let mut line = [0; 2048];
    let count = File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line));
    parse_stat(&line[..count.ok()?])
}

/// Lists the children of the calling process, zombies too.
pub(crate) fn own_children() -> io::Result<Vec<i32>> {
    let own = std::process::id();
    match kernel_text(format!("/proc/self/task/{own}/children")) {
        Ok(list) => Ok(list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()),
        // Kernels can be built without this file.
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
            let mine = |process: &Process| u32::try_from(process.parent) == Ok(own);
            Ok(all()?.into_iter().filter(mine).map(|process| process.pid).collect())
        }
        Err(other) => Err(other),
    }
}

/// Asks whether a process carries the mark of a spawn in the environment it was started with.
pub(crate) fn carries_mark(pid: i32, id: &SpawnId) -> bool {
    let mut environment = Vec::new();
    let read = File::open(format!("/proc/{pid}/environ"))
        .and_then(|file| file.take(LARGEST_ENVIRONMENT).read_to_end(&mut environment));
    let mark = format!("{MARK_VARIABLE}={id}");
    read.is_ok() && environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
}

/// Gives the first word of a command line. Never more: arguments hold secrets, and programs that rewrite their title
/// put the arguments into the first word too, so it also ends at a blank.
pub(crate) fn program(pid: i32) -> String {
    let mut line = Vec::new();
    let read = File::open(format!("/proc/{pid}/cmdline"))
        .and_then(|file| file.take(LONGEST_PROGRAM).read_to_end(&mut line));
    let word = line.split(|byte| *byte == 0 || *byte == b' ').next().unwrap_or_default();
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(word).into_owned())
}

/// Parses a line of `/proc/<pid>/stat`. The name may hold blanks and brackets, so it ends at the last bracket.
fn parse_stat(line: &[u8]) -> Option<Process> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(line.get(..open)?).ok()?.trim().parse().ok()?;
    let comm = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
    // Fields 3, 4, 6 and 22 of proc(5): state, parent, session, start time.
    let mut fields = rest.split_ascii_whitespace();
    let life = match fields.next()? {
        "Z" | "X" | "x" => Life::Zombie,
        _ => Life::Alive,
    };
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let start_time = fields.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, session, start_time, comm, life })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_brackets_does_not_shift_the_fields() {
        let line = b"42 (a) b (c) S 7 42 41 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2";
        let process = parse_stat(line).unwrap();
        assert_eq!(
            process,
            Process {
                pid: 42,
                parent: 7,
                session: 41,
                start_time: 987_654,
                comm: "a) b (c".into(),
                life: Life::Alive
            }
        );
    }

    #[test]
    fn this_process_is_among_all_processes() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(look(own).unwrap().life, Life::Alive);
        assert!(all().unwrap().iter().any(|process| process.pid == own));
    }

    #[test]
    fn a_process_that_is_not_there_is_none() {
        assert_eq!(look(i32::MAX), None);
        assert_eq!(program(i32::MAX), "");
    }
}
