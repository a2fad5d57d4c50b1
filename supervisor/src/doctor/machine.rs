//! The machine: can steps be kept, is this a repository, can everything a step started be ended, is there room, is it
//! today?

use std::fs;
use std::path::Path;

use super::Check;
use crate::git;
use crate::project::Project;
use crate::store::file::{Doing, Of as _};
use crate::store::layout;

const GIBIBYTE: u64 = 1 << 30;
/// What a step with much output, a container and a build can fill.
const ENOUGH_ROOM: u64 = GIBIBYTE;
/// This was written in 2026; a clock before it is wrong.
const OLDEST_NOW: &str = "2026-01-01";

/// Steps are kept outside of the project, and a step that cannot be kept is not started.
pub(super) fn spawns(project: &Project) -> Check {
    let check = Check::required("runtime", "Local runtime");
    let Some(root) = layout::spawns_root(project.environment()) else {
        return check
            .failed("there is no home folder to keep steps in", "set HOME, or XDG_STATE_HOME");
    };
    let shown = root.display();
    let made = fs::create_dir_all(&root).of(&root, Doing::MakeFolder);
    let written = made
        .and_then(|()| tempfile::NamedTempFile::new_in(&root).map(drop).of(&root, Doing::Write));
    match written {
        Ok(()) => check.passed(format!("steps are kept in {shown}")),
        Err(error) => check.failed(error.to_string(), error.help()),
    }
}

pub(super) fn git(project: &Project) -> Check {
    let check = Check::optional("git", "Git");
    if project.environment().find_program("git").is_none() {
        return check.noted("git is not on PATH; batches run, pull requests do not", "install git");
    }
    match git::dirs(project.root()) {
        Some(_) => check.passed("a repository"),
        None => check.noted("this is no repository, so that nothing can be undone", "git init"),
    }
}

/// Without an own cgroup a stray is found by its parent and its environment only.
pub(super) fn cgroup() -> Check {
    let check = Check::optional("cgroup", "Control group");
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).map(str::trim_end);
    let folder = own.map(|own| Path::new("/sys/fs/cgroup").join(own.trim_start_matches('/')));
    let is_writable = |folder: &Path| {
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok() && folder.is_dir()
    };
    match folder {
        Some(folder) if is_writable(&folder) => check.passed("every step gets its own"),
        Some(_) | None => check.noted(
            "steps get none of their own; strays are found by their parents and their environment",
            "systemd-run --user --scope -p Delegate=yes ratchet batch run",
        ),
    }
}

pub(super) fn disk(project: &Project) -> Check {
    let check = Check::optional("disk", "Free disk space");
    let state = layout::spawns_root(project.environment());
    let folders = [Some(project.root().to_owned()), state];
    let free = |folder: &Path| {
        let there = folder.ancestors().find(|folder| folder.exists())?;
        let stat = rustix::fs::statvfs(there).ok()?;
        Some((stat.f_bavail.saturating_mul(stat.f_frsize), there.to_owned()))
    };
    let least = folders.iter().flatten().filter_map(|folder| free(folder)).min();
    match least {
        None => check.noted("it cannot be told", "df -h ."),
        Some((bytes, folder)) if bytes < ENOUGH_ROOM => check.noted(
            format!("{} MiB are left at {}", bytes >> 20, folder.display()),
            format!("df -h {}", folder.display()),
        ),
        Some((bytes, _)) => check.passed(format!("{} GiB", bytes / GIBIBYTE)),
    }
}

pub(super) fn clock(project: &Project) -> Check {
    let check = Check::optional("clock", "Clock");
    let now = project.now();
    if now.date().as_str() < OLDEST_NOW {
        return check.noted(
            format!("it says {now}, which is long ago; limits and archives go by it"),
            "sudo timedatectl set-ntp true",
        );
    }
    check.passed(now.to_string())
}
