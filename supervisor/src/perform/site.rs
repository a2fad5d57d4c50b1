//! The place of a step, as the settings want it, and what an agent is told of it: paths as it sees them, variables that
//! mean something there. Reads git and the settings; makes nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ratchet_engine::decide::Step;
use ratchet_engine::name::BatchName;
use ratchet_engine::permission::{Permissions, Posture};
use ratchet_engine::settings::docker::{parse_memory, parse_user};
use ratchet_engine::settings::{
    AgentSandbox, DEFAULT_DOCKER_MEMORY, DEFAULT_DOCKER_PIDS, DEFAULT_IMAGE, DEFAULT_NETWORK,
    Locus, Settings,
};

use crate::agent::{Agent, Invocation, LocusFacts};
use crate::environment::Environment;
use crate::git;
use crate::house::House;
use crate::runtime::Site;
use crate::runtime::docker::container::{
    BATCH_LABEL, Container, Owner, PROJECT_LABEL, RATCHET, STEP_LABEL, seen,
};

/// Variables of this machine that say where things are on it.
const BOUND_TO_THE_MACHINE: [&str; 7] =
    ["PATH", "HOME", "TMPDIR", "TEMP", "TMP", "CODEX_HOME", "RATCHET_SUPERVISOR"];

/// Works out where a step runs.
pub(super) fn of(house: &House, step: &Step, settings: &Settings, invocation: &Invocation) -> Site {
    match settings.locus {
        Locus::Local => Site::Local,
        Locus::Remote => Site::Remote,
        Locus::Docker => {
            let project = house.project.root();
            let mut labels = BTreeMap::from([
                (PROJECT_LABEL, project.display().to_string()),
                (STEP_LABEL, format!("{} {}", step.kind(), step.key)),
            ]);
            labels.extend(
                step.batch.as_ref().map(|batch| (BATCH_LABEL, BatchName::to_string(batch))),
            );
            Site::Container(Box::new(Container {
                labels,
                trial: trial(invocation),
                ..container(project, settings)
            }))
        }
    }
}

/// Gives the container that the settings describe, for nothing in particular yet.
pub(crate) fn container(project: &Path, settings: &Settings) -> Container {
    let memory = settings.docker_memory.as_deref().and_then(parse_memory);
    let memory = memory.or_else(|| parse_memory(DEFAULT_DOCKER_MEMORY));
    Container {
        image: settings.image.clone().unwrap_or_else(|| DEFAULT_IMAGE.to_owned()),
        pull: settings.docker_pull,
        user: settings.docker_user.as_deref().and_then(parse_user),
        memory: memory.expect("the default is an amount of memory"),
        pids: settings.docker_pids_limit.unwrap_or(DEFAULT_DOCKER_PIDS),
        cpus: settings.docker_cpus,
        network: settings.network.clone().unwrap_or_else(|| DEFAULT_NETWORK.to_owned()),
        read_only: settings.docker_read_only,
        project: project.to_owned(),
        besides: git_elsewhere(project),
        labels: BTreeMap::new(),
        trial: Vec::new(),
    }
}

/// A command that starts the same program, does nothing and costs nothing.
fn trial(invocation: &Invocation) -> Vec<String> {
    match invocation.via {
        Some(_) => ["bash", "-c", ":"].map(str::to_owned).to_vec(),
        None => vec![invocation.program.clone(), "--version".to_owned()],
    }
}

/// A linked work tree, or a submodule, keeps its git directory outside of itself and names it by its path.
fn git_elsewhere(project: &Path) -> Vec<PathBuf> {
    if !project.join(".git").is_file() {
        return Vec::new();
    }
    let dirs = git::dirs(project).map(|dirs| [dirs.common_dir, dirs.git_dir]);
    let mut besides: Vec<PathBuf> = Vec::new();
    for dir in dirs.into_iter().flatten() {
        if !dir.starts_with(project) && !besides.iter().any(|known| dir.starts_with(known)) {
            besides.push(dir);
        }
    }
    besides
}

/// Says what an agent has to know of where it will run.
pub(super) fn facts(house: &House, agent: Agent, settings: &Settings) -> LocusFacts {
    let root = house.project.root();
    let environment = house.project.environment();
    match settings.locus {
        Locus::Local | Locus::Remote => here(environment, agent, root),
        Locus::Docker => {
            let dirs = git::dirs(root);
            LocusFacts {
                repo_root: seen(root, root),
                git_dir: dirs.as_ref().map(|dirs| seen(&dirs.git_dir, root)),
                git_common_dir: dirs.map(|dirs| seen(&dirs.common_dir, root)),
                program: None,
                as_root: owner(settings).user == 0,
                marked_sandbox: environment.var("IS_SANDBOX").is_some()
                    || settings.docker_agent_sandbox == AgentSandbox::Container,
            }
        }
    }
}

/// Says what an agent has to know that runs on this machine, in a folder.
pub(crate) fn here(environment: &Environment, agent: Agent, root: &Path) -> LocusFacts {
    let dirs = git::dirs(root);
    let is_there = |binary: &&&str| environment.find_program(binary).is_some();
    let installed = agent.binaries().iter().find(is_there);
    LocusFacts {
        repo_root: root.to_owned(),
        git_dir: dirs.as_ref().map(|dirs| dirs.git_dir.clone()),
        git_common_dir: dirs.map(|dirs| dirs.common_dir),
        program: installed.map(|binary| (*binary).to_owned()),
        as_root: rustix::process::geteuid().is_root(),
        marked_sandbox: environment.var("IS_SANDBOX").is_some(),
    }
}

fn owner(settings: &Settings) -> Owner {
    let named = settings.docker_user.as_deref().and_then(parse_user);
    named.map_or_else(Owner::caller, |(user, group)| Owner { user, group })
}

/// Gives what the agent may do: everything, where the container is said to be the wall.
pub(super) fn permissions(settings: &Settings) -> Cow<'_, Permissions> {
    match (settings.locus, settings.docker_agent_sandbox) {
        (Locus::Docker, AgentSandbox::Container) => Cow::Owned(Permissions {
            posture: Posture::FullAutonomy,
            ..settings.permissions.clone()
        }),
        (Locus::Docker, AgentSandbox::Own) | (Locus::Local | Locus::Remote, _) => {
            Cow::Borrowed(&settings.permissions)
        }
    }
}

/// Gives the host's variables that may mean something where the step runs, and what git there cannot find out by itself.
pub(super) fn host_variables<'a>(
    house: &'a House,
    settings: &Settings,
) -> Cow<'a, BTreeMap<OsString, OsString>> {
    let all = house.project.environment().vars();
    match settings.locus {
        Locus::Local | Locus::Remote => Cow::Borrowed(all),
        Locus::Docker => {
            let bound = |name: &OsStr| BOUND_TO_THE_MACHINE.iter().any(|known| name == *known);
            let kept = all.iter().filter(|(name, _)| !bound(name));
            Cow::Owned(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
    }
}

/// Variables that a container needs besides: it has no configuration of the user's.
pub(super) fn own_variables(house: &House, settings: &Settings) -> Vec<(&'static str, String)> {
    if settings.locus != Locus::Docker {
        return Vec::new();
    }
    let mut own = Vec::new();
    if settings.docker_agent_sandbox == AgentSandbox::Container {
        own.push(("IS_SANDBOX", "1".to_owned()));
    }
    if let Some(identity) = git::identity(house.project.root()) {
        own.push(("GIT_AUTHOR_NAME", identity.name.clone()));
        own.push(("GIT_AUTHOR_EMAIL", identity.email.clone()));
        own.push(("GIT_COMMITTER_NAME", identity.name));
        own.push(("GIT_COMMITTER_EMAIL", identity.email));
    }
    own
}

/// Says how an agent at the settings' locus calls this program, if that is known without looking.
pub(super) fn word_for_ratchet(settings: &Settings) -> Option<&'static str> {
    match settings.locus {
        Locus::Docker => Some(RATCHET),
        Locus::Local | Locus::Remote => None,
    }
}
