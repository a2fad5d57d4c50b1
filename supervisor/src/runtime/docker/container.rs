//! What a container is asked to be: the walls, the mounts, the labels. Pure; the hardening is here and nowhere else
//! (design `architecture` 5).
//!
//! Variables are not here: the engine would keep them on its disk. They are handed to the shim
//! ([`ratchet_spawn::Handover`]).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountBindOptions, MountType,
};
use ratchet_engine::settings::PullPolicy;

use super::engine::Traits;

/// Where the project is, as seen from inside.
pub(crate) const WORKSPACE: &str = "/workspace";
/// Where ratchet is, as seen from inside: on every usual `PATH`.
pub(crate) const RATCHET: &str = "/usr/local/bin/ratchet";
/// Where the spawn's folder is, as seen from inside, below its id.
pub(crate) const SPAWNS: &str = "/ratchet";
/// A home that can be written to, and that is gone with the container.
const HOME: &str = "/home/agent";

/// The label that names the spawn; its value is also the container's name, after `ratchet-`.
pub(crate) const SPAWN_LABEL: &str = "dev.ratchet.spawn";
/// The label that says in which folder the spawn's folder is.
pub(crate) const FOLDER_LABEL: &str = "dev.ratchet.spawns";
/// The label that names the project's folder.
pub(crate) const PROJECT_LABEL: &str = "dev.ratchet.project";
/// The label that names the batch.
pub(crate) const BATCH_LABEL: &str = "dev.ratchet.batch";
/// The label that names the step.
pub(crate) const STEP_LABEL: &str = "dev.ratchet.step";

/// A container for one command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Container {
    /// The image's name.
    pub(crate) image: String,
    /// When it is fetched.
    pub(crate) pull: PullPolicy,
    /// Whose the processes and files are, as user and group; `None`: the caller's.
    pub(crate) user: Option<(u32, u32)>,
    /// In bytes, swap included.
    pub(crate) memory: u64,
    /// How many processes there may be.
    pub(crate) pids: u64,
    /// How many processors' time it may take.
    pub(crate) cpus: Option<f64>,
    /// The network's name; `none` for none.
    pub(crate) network: String,
    /// Only the project, the home and `/tmp` can be written to.
    pub(crate) read_only: bool,
    /// The project's folder.
    pub(crate) project: PathBuf,
    /// Folders outside of it that the project cannot do without, mounted under their own names.
    pub(crate) besides: Vec<PathBuf>,
    /// What it is for. Never a secret.
    pub(crate) labels: BTreeMap<&'static str, String>,
    /// A command that ends well only if the real one can start: it is tried once for each image.
    pub(crate) trial: Vec<String>,
}

/// Who runs inside, as numbers that mean something outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl Owner {
    /// The user of this process.
    pub(crate) fn caller() -> Self {
        Self {
            user: rustix::process::geteuid().as_raw(),
            group: rustix::process::getegid().as_raw(),
        }
    }
}

/// What of a container is known only when its spawn and its engine are.
#[derive(Debug)]
pub(super) struct Fitting<'a> {
    /// The spawn's folder.
    pub(super) spawn: &'a Path,
    /// The spawn's id.
    pub(super) id: &'a str,
    /// The ratchet to mount.
    pub(super) binary: &'a Path,
    /// The image by the engine's own number: what was looked at is what runs.
    pub(super) image: &'a str,
    /// The engine.
    pub(super) traits: &'a Traits,
}

impl Container {
    /// Gives who runs inside, as seen from outside.
    pub(super) fn owner(&self) -> Owner {
        self.user.map_or_else(Owner::caller, |(user, group)| Owner { user, group })
    }

    /// Writes the request for the engine.
    pub(super) fn body(&self, fitting: &Fitting<'_>) -> ContainerCreateBody {
        let owner = self.owner_inside(fitting.traits);
        let inside = format!("{SPAWNS}/{}", fitting.id);
        let mut labels: HashMap<String, String> =
            self.labels.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        labels.insert(SPAWN_LABEL.to_owned(), fitting.id.to_owned());
        let spawns = fitting.spawn.parent().unwrap_or(Path::new("/"));
        labels.insert(FOLDER_LABEL.to_owned(), spawns.display().to_string());
        ContainerCreateBody {
            image: Some(fitting.image.to_owned()),
            entrypoint: Some(vec![RATCHET.to_owned()]),
            cmd: Some(vec!["shim".to_owned(), inside.clone()]),
            user: Some(format!("{}:{}", owner.user, owner.group)),
            working_dir: Some("/".to_owned()),
            env: Some(vec![format!("HOME={HOME}"), "USER=agent".to_owned()]),
            labels: Some(labels),
            host_config: Some(self.walls(fitting, &inside, owner)),
            ..Default::default()
        }
    }

    /// Who runs inside, as seen from inside: the user of a rootless engine is root there, and nobody else is known.
    fn owner_inside(&self, traits: &Traits) -> Owner {
        if traits.rootless { Owner { user: 0, group: 0 } } else { self.owner() }
    }

    fn walls(&self, fitting: &Fitting<'_>, inside: &str, owner: Owner) -> HostConfig {
        let own = format!("uid={},gid={},mode=0700", owner.user, owner.group);
        let mut memory_disks =
            HashMap::from([(HOME.to_owned(), format!("rw,exec,nosuid,nodev,{own}"))]);
        if self.read_only {
            for folder in ["/tmp", "/var/tmp"] {
                memory_disks.insert(folder.to_owned(), "rw,exec,nosuid,nodev,mode=1777".to_owned());
            }
        }
        let mut security = vec!["no-new-privileges".to_owned()];
        if fitting.traits.selinux {
            security.push("label=disable".to_owned());
        }
        let memory = i64::try_from(self.memory).unwrap_or(i64::MAX);
        HostConfig {
            init: Some(true),
            cap_drop: Some(vec!["ALL".to_owned()]),
            security_opt: Some(security),
            privileged: Some(false),
            memory: Some(memory),
            memory_swap: Some(memory),
            pids_limit: Some(i64::try_from(self.pids).unwrap_or(i64::MAX)),
            nano_cpus: self.cpus.map(nanos),
            network_mode: Some(self.network.clone()),
            readonly_rootfs: Some(self.read_only),
            // Files must belong to the caller, so numbers must mean the same on both sides.
            userns_mode: fitting.traits.remaps_users.then(|| "host".to_owned()),
            tmpfs: Some(memory_disks),
            mounts: Some(self.mounts(fitting, inside)),
            log_config: Some(small_log()),
            ..Default::default()
        }
    }

    /// As structures, not as `a:b` texts: a path may hold colons.
    fn mounts(&self, fitting: &Fitting<'_>, inside: &str) -> Vec<Mount> {
        let mut mounts = vec![
            Mount { read_only: Some(true), ..bind(fitting.binary, RATCHET) },
            bind(fitting.spawn, inside),
            bind(&self.project, WORKSPACE),
        ];
        let own_names =
            self.besides.iter().map(|folder| bind(folder, &folder.display().to_string()));
        mounts.extend(own_names);
        mounts
    }
}

fn bind(from: &Path, to: &str) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(from.display().to_string()),
        target: Some(to.to_owned()),
        bind_options: Some(MountBindOptions::default()),
        ..Default::default()
    }
}

/// The shim says nothing here unless it cannot begin, but an engine's own default may keep logs anywhere.
fn small_log() -> HostConfigLogConfig {
    let options = [("max-size", "64k"), ("max-file", "1")];
    HostConfigLogConfig {
        typ: Some("json-file".to_owned()),
        config: Some(
            options.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        ),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a count of processors times 10^9 fits by far, and `as` saturates"
)]
fn nanos(cpus: f64) -> i64 {
    (cpus * 1e9).round() as i64
}

/// Maps a path of this machine to where a container sees it; one outside of the project stays as it is
/// (spec `agents-and-runtimes` 7.2).
#[must_use]
pub(crate) fn seen(path: &Path, project: &Path) -> PathBuf {
    match path.strip_prefix(project) {
        Ok(rest) if rest.as_os_str().is_empty() => WORKSPACE.into(),
        Ok(rest) => Path::new(WORKSPACE).join(rest),
        Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container() -> Container {
        Container {
            image: "i".into(),
            pull: PullPolicy::Missing,
            user: None,
            memory: 2 << 30,
            pids: 512,
            cpus: None,
            network: "bridge".into(),
            read_only: false,
            project: "/home/me/a b:ü".into(),
            besides: Vec::new(),
            labels: BTreeMap::from([(BATCH_LABEL, "shop".to_owned())]),
            trial: Vec::new(),
        }
    }

    fn asked(container: &Container, traits: &Traits) -> (ContainerCreateBody, HostConfig) {
        let body = container.body(&Fitting {
            spawn: Path::new("/s/spawns/id1"),
            id: "id1",
            binary: Path::new("/opt/ratchet"),
            image: "sha256:1",
            traits,
        });
        let walls = body.host_config.clone().unwrap();
        (body, walls)
    }

    // B-R07
    #[test]
    fn the_walls_are_there_without_being_asked_for() {
        let (body, walls) = asked(&container(), &Traits::default());
        assert_eq!(walls.init, Some(true));
        assert_eq!(walls.cap_drop.unwrap(), ["ALL"]);
        assert_eq!(walls.security_opt.unwrap(), ["no-new-privileges"]);
        assert_eq!((walls.memory, walls.memory_swap), (Some(2 << 30), Some(2 << 30)));
        assert_eq!((walls.pids_limit, walls.nano_cpus), (Some(512), None));
        assert_eq!(walls.network_mode.as_deref(), Some("bridge"));
        assert_eq!(walls.readonly_rootfs, Some(false));
        assert_eq!(walls.binds, None);
        let caller = Owner::caller();
        assert_eq!(body.user, Some(format!("{}:{}", caller.user, caller.group)));
        assert!(walls.tmpfs.unwrap()[HOME].contains(&format!("uid={}", caller.user)));
    }

    // B-R07
    #[test]
    fn every_knob_reaches_the_engine() {
        let knobs = Container {
            user: Some((7, 8)),
            memory: 64 << 20,
            pids: 9,
            cpus: Some(1.5),
            network: "none".into(),
            read_only: true,
            ..container()
        };
        let (body, walls) = asked(&knobs, &Traits::default());
        assert_eq!(body.user.as_deref(), Some("7:8"));
        assert_eq!((walls.memory, walls.pids_limit), (Some(64 << 20), Some(9)));
        assert_eq!(walls.nano_cpus, Some(1_500_000_000));
        assert_eq!(walls.network_mode.as_deref(), Some("none"));
        assert_eq!(walls.readonly_rootfs, Some(true));
        assert!(walls.tmpfs.unwrap().contains_key("/tmp"));
    }

    // B-R02
    #[test]
    fn the_project_is_mounted_whatever_its_name_and_the_command_is_the_shim() {
        let (body, walls) = asked(&container(), &Traits::default());
        let mounts = walls.mounts.unwrap();
        let by_target = |target: &str| {
            mounts.iter().find(|mount| mount.target.as_deref() == Some(target)).unwrap()
        };
        assert_eq!(by_target(WORKSPACE).source.as_deref(), Some("/home/me/a b:ü"));
        assert_eq!(by_target("/ratchet/id1").source.as_deref(), Some("/s/spawns/id1"));
        assert_eq!(by_target(RATCHET).read_only, Some(true));
        assert_eq!(
            (body.entrypoint.unwrap(), body.cmd.unwrap()),
            (vec![RATCHET.into()], vec!["shim".into(), "/ratchet/id1".into()])
        );
        let labels = body.labels.unwrap();
        assert_eq!((labels[SPAWN_LABEL].as_str(), labels[BATCH_LABEL].as_str()), ("id1", "shop"));
        assert_eq!(labels[FOLDER_LABEL], "/s/spawns");
    }

    #[test]
    fn the_user_of_a_rootless_engine_is_root_inside_and_numbers_are_never_remapped() {
        let rootless = Traits { rootless: true, ..Traits::default() };
        assert_eq!(asked(&container(), &rootless).0.user.as_deref(), Some("0:0"));
        let remapping = Traits { remaps_users: true, ..Traits::default() };
        assert_eq!(asked(&container(), &remapping).1.userns_mode.as_deref(), Some("host"));
    }

    // B-R01
    #[test]
    fn a_path_below_the_project_is_seen_below_the_workspace_and_others_stay() {
        let seen = |path: &str| seen(Path::new(path), Path::new("/p")).display().to_string();
        assert_eq!(seen("/p"), "/workspace");
        assert_eq!(seen("/p/a/b"), "/workspace/a/b");
        assert_eq!(seen("/pa"), "/pa");
        assert_eq!(seen("/etc"), "/etc");
    }
}
