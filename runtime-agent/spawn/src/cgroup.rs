//! The spawn's own cgroup (v2), where the shim may make one. It is a second net under the agent's process tree: it can
//! be killed in one stroke, and it still knows its members when the shim is dead.
//! Without one everything works; nothing here is an error to the caller.
//!
//! Moving a process takes the kernel 5 to 30 ms (it waits until all processors have passed a quiet point), so a command
//! that is over sooner is spared it; what it has started by then is moved along.

use std::fs;
use std::path::{Path, PathBuf};

use crate::id::SpawnId;
use crate::process::kernel_text;

/// A cgroup below that of the shim, which need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaf {
    path: PathBuf,
}

impl Leaf {
    /// Names the cgroup a spawn of this process would get; `None` where there is no cgroup v2.
    pub(crate) fn planned(layout: &Layout, id: &SpawnId) -> Option<Self> {
        let own = layout.folder(Hierarchy::Unified)?;
        Some(Self { path: own.join(name(id)) })
    }

    /// Takes a path that was planned by another process; `None` for one that cannot be this spawn's.
    pub(crate) fn at(path: PathBuf, id: &SpawnId) -> Option<Self> {
        path.ends_with(name(id)).then_some(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the cgroup and moves processes into it. Whoever may not make one does without.
    pub(crate) fn adopt(&self, pids: impl IntoIterator<Item = i32>) {
        if fs::create_dir(&self.path).is_ok() {
            let members = self.path.join("cgroup.procs");
            for pid in pids {
                // A process may have ended in between.
                let _ = fs::write(&members, pid.to_string());
            }
        }
    }

    /// Lists the members; empty without a cgroup.
    pub(crate) fn members(&self) -> Vec<i32> {
        let list = kernel_text(self.path.join("cgroup.procs")).unwrap_or_default();
        // A member that cannot be seen from here is listed as 0.
        list.lines().filter_map(|pid| pid.parse().ok()).filter(|pid| *pid > 0).collect()
    }

    /// Kills every member at once.
    pub(crate) fn kill(&self) {
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Removes the cgroup, if it is empty.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir(&self.path);
    }
}

fn name(id: &SpawnId) -> String {
    format!("ratchet-{id}")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hierarchy {
    Unified,
    Memory,
}

/// Where the cgroups of this process are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    groups: String,
    mounts: String,
}

impl Layout {
    /// Asks the kernel; where there are no cgroups the layout is empty.
    pub(crate) fn read() -> Self {
        let text = |path: &str| kernel_text(path).unwrap_or_default();
        Self { groups: text("/proc/self/cgroup"), mounts: text("/proc/self/mountinfo") }
    }

    fn folder(&self, hierarchy: Hierarchy) -> Option<PathBuf> {
        mounted(&self.mounts, hierarchy, &own_group(&self.groups, hierarchy)?)
    }
}

/// Counts how often the kernel has ended a process near this one for lack of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OomCounter {
    file: PathBuf,
    before: u64,
}

impl OomCounter {
    /// Begins to count, in the most precise place there is: the cgroup v2, the memory cgroup v1, the whole machine.
    pub(crate) fn begin(layout: &Layout) -> Option<Self> {
        let unified = layout.folder(Hierarchy::Unified).map(|folder| folder.join("memory.events"));
        let memory =
            layout.folder(Hierarchy::Memory).map(|folder| folder.join("memory.oom_control"));
        let files = [unified, memory, Some("/proc/vmstat".into())];
        files.into_iter().flatten().find_map(|file| {
            let before = oom_kills(&kernel_text(&file).ok()?)?;
            Some(Self { file, before })
        })
    }

    pub(crate) fn count(&self) -> u64 {
        let now = kernel_text(&self.file).ok().as_deref().and_then(oom_kills);
        now.unwrap_or_default().saturating_sub(self.before)
    }
}

/// Finds the `oom_kill` line of a kernel file.
fn oom_kills(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// Finds the own cgroup in `/proc/self/cgroup`.
fn own_group(groups: &str, hierarchy: Hierarchy) -> Option<String> {
    let wanted = match hierarchy {
        Hierarchy::Unified => "",
        Hierarchy::Memory => "memory",
    };
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|one| one == wanted).then(|| path.to_owned())
    })
}

/// Finds where a cgroup is mounted, by `/proc/self/mountinfo`.
fn mounted(mounts: &str, hierarchy: Hierarchy, group: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let mut filesystem = filesystem.split(' ');
        let (kind, options) = (filesystem.next()?, filesystem.nth(1)?);
        let fits = match hierarchy {
            Hierarchy::Unified => kind == "cgroup2",
            Hierarchy::Memory => kind == "cgroup" && options.split(',').any(|one| one == "memory"),
        };
        let below = Path::new(group).strip_prefix(root).ok().filter(|_| fits)?;
        Some(Path::new(point).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
30 24 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
31 24 0:27 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn the_own_cgroup_is_found_in_a_hybrid_layout() {
        let groups = "9:name=systemd:/\n4:memory:/a/b\n0::/user.slice/x\n";
        assert_eq!(own_group(groups, Hierarchy::Unified).as_deref(), Some("/user.slice/x"));
        assert_eq!(own_group(groups, Hierarchy::Memory).as_deref(), Some("/a/b"));
        assert_eq!(
            mounted(HYBRID, Hierarchy::Unified, "/user.slice/x"),
            Some("/sys/fs/cgroup/unified/user.slice/x".into())
        );
        assert_eq!(
            mounted(HYBRID, Hierarchy::Memory, "/a/b"),
            Some("/sys/fs/cgroup/memory/a/b".into())
        );
    }

    #[test]
    fn a_cgroup_outside_the_mount_is_not_guessed() {
        let mounts = "31 24 0:27 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        assert_eq!(mounted(mounts, Hierarchy::Unified, "/elsewhere"), None);
        assert_eq!(
            mounted(mounts, Hierarchy::Unified, "/docker/x/y"),
            Some("/sys/fs/cgroup/y".into())
        );
    }

    #[test]
    fn the_kernels_oom_counter_is_read_from_each_of_its_files() {
        assert_eq!(
            oom_kills("low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n"),
            Some(2)
        );
        assert_eq!(oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), Some(7));
        assert_eq!(oom_kills("nr_free_pages 1\n"), None);
    }
}
