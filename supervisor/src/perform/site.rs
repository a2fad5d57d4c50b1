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
    DEFAULT_WORKER_LOST_MS, Locus, Settings,
};

use ratchet_workspace::Rules;

use crate::agent::{Agent, Invocation, LocusFacts, environment};
use crate::environment::Environment;
use crate::git;
use crate::house::House;
use crate::runtime::docker::container::{
    BATCH_LABEL, Container, Owner, PROJECT_LABEL, RATCHET, STEP_LABEL, seen,
};
use crate::runtime::remote::errand::Home;
use crate::runtime::remote::{self, Remote};
use crate::runtime::{RemoteError, Site};
use crate::store::layout::{RATCHET_DIR, RunHome};

/// Variables of this machine that say where things are on it.
const BOUND_TO_THE_MACHINE: [&str; 7] =
    ["PATH", "HOME", "TMPDIR", "TEMP", "TMP", "CODEX_HOME", "RATCHET_SUPERVISOR"];

/// What is to run, as far as its place has to know.
pub(super) struct Errand<'a> {
    /// The batch it belongs to.
    pub(super) batch: Option<&'a BatchName>,
    /// Whose step it is; none for a proof-of-work.
    pub(super) key: Option<String>,
    /// What it is, in two words.
    pub(super) what: String,
    /// A command that starts the same program, does nothing and costs nothing.
    pub(super) trial: Vec<String>,
    /// A file of the project that it reads, ignored or not.
    pub(super) reads: Option<PathBuf>,
}

impl<'a> Errand<'a> {
    /// Says it of a step.
    pub(super) fn of(step: &'a Step, invocation: &Invocation, reads: Option<PathBuf>) -> Self {
        Self {
            batch: step.batch.as_ref(),
            key: Some(step.key.to_string()),
            what: format!("{} {}", step.kind(), step.key),
            trial: trial(invocation),
            reads,
        }
    }
}

/// Works out where something runs.
///
/// # Errors
/// If it is to run on a worker, and the settings name none that may be asked.
pub(super) fn of(
    house: &House,
    home: &RunHome,
    locus: Locus,
    settings: &Settings,
    errand: Errand<'_>,
) -> Result<Site, RemoteError> {
    let project = house.project.root();
    match locus {
        Locus::Local => Ok(Site::Local),
        Locus::Remote => Ok(Site::Remote(Box::new(remote(house, home, settings, errand)?))),
        Locus::Docker => {
            let mut labels = BTreeMap::from([
                (PROJECT_LABEL, project.display().to_string()),
                (STEP_LABEL, errand.what),
            ]);
            labels.extend(errand.batch.map(|batch| (BATCH_LABEL, BatchName::to_string(batch))));
            let trial = errand.trial;
            Ok(Site::Container(Box::new(Container {
                labels,
                trial,
                ..container(project, settings)
            })))
        }
    }
}

/// Works out what a worker has to know.
fn remote(
    house: &House,
    home: &RunHome,
    settings: &Settings,
    errand: Errand<'_>,
) -> Result<Remote, RemoteError> {
    let project = house.project.root();
    let inner = |path: &Path| path.strip_prefix(project).map(Path::to_owned).ok();
    let mut always = vec![RATCHET_DIR.to_owned()];
    always
        .extend(errand.reads.and_then(|path| inner(&path)).map(|path| path.display().to_string()));
    let journal = house.project.layout().run(home).journal();
    let batch = errand.batch.map(|batch| ("batch", BatchName::to_string(batch)));
    Ok(Remote {
        workers: settings.remote_workers()?,
        rules: Rules {
            always,
            // Run state is this machine's: what is reported on the worker is relayed.
            never: vec![
                format!("/{RATCHET_DIR}/batches/*/run/"),
                format!("/{RATCHET_DIR}/changes/**/.run/"),
                format!("/{RATCHET_DIR}/.next/"),
            ],
            excludes: Vec::new(),
        },
        home: match home {
            RunHome::Batch(batch) => Home::Batch(batch.to_string()),
            RunHome::Change(change) => Home::Change(change.to_string()),
        },
        key: errand.key,
        journal: inner(&journal).unwrap_or(journal),
        labels: batch.into_iter().chain([("step", errand.what)]).collect(),
        lost_ms: settings.worker_lost_ms.unwrap_or(DEFAULT_WORKER_LOST_MS),
        project: project.to_owned(),
    })
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
        // No repository travels, and who the agent is there is the worker's to say.
        Locus::Remote => LocusFacts {
            repo_root: remote::seen(root, root),
            git_dir: None,
            git_common_dir: None,
            program: None,
            as_root: false,
            marked_sandbox: false,
        },
        Locus::Local => here(environment, agent, root),
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
    let bound = |name: &OsStr| BOUND_TO_THE_MACHINE.iter().any(|known| name == *known);
    let kept = |keep: &dyn Fn(&OsStr) -> bool| {
        let kept = all.iter().filter(|(name, _)| keep(name));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    match settings.locus {
        Locus::Local => Cow::Borrowed(all),
        Locus::Docker => Cow::Owned(kept(&|name| !bound(name))),
        // Keys of agents live on the worker.
        Locus::Remote => Cow::Owned(kept(&|name| !bound(name) && !names_a_secret(name))),
    }
}

/// Gives the variables of a proof-of-work: all of them on this machine, and elsewhere what an agent would get.
pub(super) fn proof_variables(house: &House, locus: Locus) -> BTreeMap<OsString, OsString> {
    let all = house.project.environment().vars();
    let bound = |name: &OsStr| BOUND_TO_THE_MACHINE.iter().any(|known| name == *known);
    match locus {
        Locus::Local => all.clone(),
        Locus::Docker | Locus::Remote => {
            let listed = environment::allowed(all);
            listed.into_iter().filter(|(name, _)| !bound(name) && !names_a_secret(name)).collect()
        }
    }
}

/// Tells whether a variable's value is for nobody else's eyes, as its name has it.
fn names_a_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"].iter().any(|sign| name.contains(sign))
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
        Locus::Remote => Some(remote::RATCHET),
        Locus::Local => None,
    }
}
