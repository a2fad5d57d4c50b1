//! Every path that ratchet reads or writes. Nobody else joins one.
//!
//! Names are checked when they are parsed ([`ratchet_engine::name`]), so no path here can leave its folder.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ratchet_engine::name::{BatchName, ChangeName};
use sha2::{Digest as _, Sha256};

use crate::environment::Environment;

/// The folder that marks a project's root and holds everything of ratchet's.
pub const RATCHET_DIR: &str = ".ratchet";

/// The file of links to standards in each capability of the feature store.
pub const LINKS: &str = ".ratchet.yaml";

pub use ratchet_engine::name::ARCHIVE;

/// Where the journal and the parks of a step live (seed `run-state-locus`; spec `step-and-outcome` 5.5).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunHome {
    /// A batch's steps: `.ratchet/batches/<batch>/run/`.
    Batch(BatchName),
    /// A standalone step of a change: `.ratchet/changes/<change>/.run/`.
    Change(ChangeName),
}

/// The paths of one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
    /// The user's folder for what the project's own folder may lose.
    steps: Option<PathBuf>,
}

impl Layout {
    /// Takes the project's root: the folder that holds (or will hold) `.ratchet`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), steps: None }
    }

    /// Keeps a second trace of each step in the user's state, out of reach of whoever cleans the project.
    #[must_use]
    pub fn with_traces(self, environment: &Environment) -> Self {
        Self { steps: steps_root(environment), ..self }
    }

    /// Returns the folder of the second traces, if any are kept.
    #[must_use]
    pub fn steps(&self) -> Option<&Path> {
        self.steps.as_deref()
    }

    /// Returns the project's root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns `.ratchet`.
    #[must_use]
    pub fn ratchet(&self) -> PathBuf {
        self.root.join(RATCHET_DIR)
    }

    /// Returns `.ratchet/config.yaml`.
    #[must_use]
    pub fn config_yaml(&self) -> PathBuf {
        self.ratchet().join("config.yaml")
    }

    /// Returns `.ratchet/config.yml`, which counts when there is no `config.yaml`.
    #[must_use]
    pub fn config_yml(&self) -> PathBuf {
        self.ratchet().join("config.yml")
    }

    /// Returns `.ratchet/features`, the permanent store of behaviour.
    #[must_use]
    pub fn features(&self) -> PathBuf {
        self.ratchet().join("features")
    }

    /// Returns `.ratchet/standards`.
    #[must_use]
    pub fn standards(&self) -> PathBuf {
        self.ratchet().join("standards")
    }

    /// Returns `.ratchet/schemas`, the project's own workflows.
    #[must_use]
    pub fn schemas(&self) -> PathBuf {
        self.ratchet().join("schemas")
    }

    /// Returns `.ratchet/evals`.
    #[must_use]
    pub fn evals(&self) -> PathBuf {
        self.ratchet().join("evals")
    }

    /// Returns `.ratchet/evals/invariants.yaml`.
    #[must_use]
    pub fn invariants(&self) -> PathBuf {
        self.evals().join("invariants.yaml")
    }

    /// Returns the project's `.gitignore`.
    #[must_use]
    pub fn gitignore(&self) -> PathBuf {
        self.root.join(".gitignore")
    }

    /// Returns where the next state of the feature store is built; it is there only while a change is archived.
    #[must_use]
    pub fn next_features(&self) -> PathBuf {
        self.ratchet().join(".next")
    }

    /// Returns `.ratchet/changes`.
    #[must_use]
    pub fn changes(&self) -> PathBuf {
        self.ratchet().join("changes")
    }

    /// Returns `.ratchet/changes/archive`.
    #[must_use]
    pub fn changes_archive(&self) -> PathBuf {
        self.changes().join(ARCHIVE)
    }

    /// Returns the folder of an archived change: `.ratchet/changes/archive/<date>-<change>`.
    #[must_use]
    pub fn archived_change(&self, date: &str, change: &ChangeName) -> PathBuf {
        self.changes_archive().join(format!("{date}-{change}"))
    }

    /// Returns the paths of one change.
    #[must_use]
    pub fn change(&self, change: &ChangeName) -> ChangeDir {
        ChangeDir { dir: self.changes().join(change.as_str()) }
    }

    /// Returns `.ratchet/batches`.
    #[must_use]
    pub fn batches(&self) -> PathBuf {
        self.ratchet().join("batches")
    }

    /// Returns a batch's folder.
    #[must_use]
    pub fn batch(&self, batch: &BatchName) -> PathBuf {
        self.batches().join(batch.as_str())
    }

    /// Returns a batch's `batch.yaml`.
    #[must_use]
    pub fn manifest(&self, batch: &BatchName) -> PathBuf {
        self.batch(batch).join("batch.yaml")
    }

    /// Returns `.ratchet/batches/archive`.
    #[must_use]
    pub fn batches_archive(&self) -> PathBuf {
        self.batches().join(ARCHIVE)
    }

    /// Returns the folder of an archived batch: `.ratchet/batches/archive/<date>-<batch>`.
    #[must_use]
    pub fn archived_batch(&self, date: &str, batch: &BatchName) -> PathBuf {
        self.batches_archive().join(format!("{date}-{batch}"))
    }

    /// Returns the run state's paths.
    #[must_use]
    pub fn run(&self, home: &RunHome) -> RunDir {
        let (dir, of) = match home {
            RunHome::Batch(batch) => (self.batch(batch).join("run"), Of::Batch),
            RunHome::Change(change) => (self.change(change).dir.join(ChangeDir::RUN), Of::Change),
        };
        let trace = self.steps.as_ref().map(|steps| Trace {
            place: steps.join(name_of_trace(&dir)),
            root: self.root.clone(),
            home: home.clone(),
        });
        RunDir { dir, of, trace }
    }
}

/// Names the second trace of a run state after the place of the first.
fn name_of_trace(dir: &Path) -> String {
    hex::encode(&Sha256::digest(dir.as_os_str().as_bytes())[..16])
}

/// The second trace of one run state, in the user's own folder (ADR 0009).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    place: PathBuf,
    root: PathBuf,
    home: RunHome,
}

impl Trace {
    /// The end of the name of an intent's copy.
    pub(crate) const COPY: &'static str = "json";

    /// Returns the copy of the intent.
    pub(crate) fn intent(&self) -> PathBuf {
        self.place.with_extension(Self::COPY)
    }

    /// Returns the file whose lock is held together with `step.lock`.
    pub(crate) fn lock(&self) -> PathBuf {
        self.place.with_extension("lock")
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> &RunHome {
        &self.home
    }
}

/// The paths of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeDir {
    dir: PathBuf,
}

impl ChangeDir {
    /// The folder of standalone run state inside a change.
    pub const RUN: &'static str = ".run";

    /// Returns the change's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns `plan.md`.
    #[must_use]
    pub fn plan(&self) -> PathBuf {
        self.dir.join("plan.md")
    }

    /// Returns the change's `features`.
    #[must_use]
    pub fn features(&self) -> PathBuf {
        self.dir.join("features")
    }

    /// Returns the list of features that the change removes.
    #[must_use]
    pub fn tombstones(&self) -> PathBuf {
        self.features().join(".deleted")
    }

    /// Returns `README.md`.
    #[must_use]
    pub fn readme(&self) -> PathBuf {
        self.dir.join("README.md")
    }

    /// Returns the folder of what an implementer may read: copies without what is held back.
    #[must_use]
    pub fn apply_context(&self) -> PathBuf {
        self.dir.join(".apply-context")
    }

    /// Returns the change's `.ratchet.yaml`.
    #[must_use]
    pub fn metadata(&self) -> PathBuf {
        self.dir.join(".ratchet.yaml")
    }
}

/// The paths of one run state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    dir: PathBuf,
    of: Of,
    trace: Option<Trace>,
}

/// Whose run state it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// A batch's, which exists.
    Batch,
    /// A change's, which a standalone propose is yet to make.
    Change,
}

impl RunDir {
    /// Returns the folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn of(&self) -> Of {
        self.of
    }

    /// Returns the second trace, if one is kept.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Returns `journal.jsonl`.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.dir.join("journal.jsonl")
    }

    /// Returns the file whose lock orders all writers of this run state.
    #[must_use]
    pub fn journal_lock(&self) -> PathBuf {
        self.dir.join("journal.lock")
    }

    /// Returns `state.json`.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.dir.join("state.json")
    }

    /// Returns the name under which a broken `state.json` is kept.
    #[must_use]
    pub fn broken_state(&self, number: u32) -> PathBuf {
        self.dir.join(format!("state.json.broken-{number}"))
    }

    /// Returns `usage.jsonl`.
    #[must_use]
    pub fn usage(&self) -> PathBuf {
        self.dir.join("usage.jsonl")
    }

    /// Returns `inflight.json`.
    #[must_use]
    pub fn inflight(&self) -> PathBuf {
        self.dir.join("inflight.json")
    }

    /// Returns `step.lock`.
    #[must_use]
    pub fn step_lock(&self) -> PathBuf {
        self.dir.join("step.lock")
    }
}

/// Returns the user's own configuration, unless the user has no home.
#[must_use]
pub fn user_config(environment: &Environment) -> Option<PathBuf> {
    Some(environment.config_home()?.join("ratchet/config.json"))
}

/// Returns the user's own workflows, unless the user has no home.
#[must_use]
pub fn user_schemas(environment: &Environment) -> Option<PathBuf> {
    Some(environment.data_home()?.join("ratchet/schemas"))
}

/// Returns the socket at which a supervisor of this user is looked for, unless the user has no home.
#[must_use]
pub fn supervisor_socket(environment: &Environment) -> Option<PathBuf> {
    let base = environment.runtime_dir().or_else(|| environment.cache_home())?;
    Some(base.join("ratchet/supervisor.sock"))
}

/// Returns the folder where a supervisor's telemetry waits for its collector, unless the user has no home.
#[must_use]
pub fn telemetry_queue(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_home()?.join("ratchet/telemetry"))
}

/// Returns the list of projects that the supervisor knows, unless the user has no home.
#[must_use]
pub fn known_projects(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_home()?.join("ratchet/projects.json"))
}

/// Returns the file of the limits that agents have hit, unless the user has no home.
#[must_use]
pub fn limits_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_home()?.join("ratchet/limits.json"))
}

/// Returns the folder of the second traces of steps, unless the user has no home.
fn steps_root(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_home()?.join("ratchet/steps"))
}

/// Returns the folder of all spawn directories, unless the user has no home.
#[must_use]
pub fn spawns_root(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_home()?.join("ratchet/spawns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_state_of_a_batch_and_of_a_change_lie_apart() {
        let layout = Layout::new("/p");
        let batch = RunHome::Batch(BatchName::parse("shop").unwrap());
        let change = RunHome::Change(ChangeName::parse("add-api").unwrap());
        let path = |home| layout.run(home).journal();
        assert_eq!(path(&batch), Path::new("/p/.ratchet/batches/shop/run/journal.jsonl"));
        assert_eq!(path(&change), Path::new("/p/.ratchet/changes/add-api/.run/journal.jsonl"));
    }

    #[test]
    fn spawns_and_the_user_configuration_lie_outside_the_project() {
        let environment = Environment::new("/w", [("HOME", "/h")]);
        let config = user_config(&environment).unwrap();
        assert_eq!(config, Path::new("/h/.config/ratchet/config.json"));
        let spawns = spawns_root(&environment).unwrap();
        assert_eq!(spawns, Path::new("/h/.local/state/ratchet/spawns"));
    }
}
