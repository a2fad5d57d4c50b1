//! What the doors of this crate can refuse, in the words that a person sees.
//!
//! `Display` says what and why; [`Error::help`] what to type next; [`Error::code`] names the page in `docs/errors/`.
//! Several texts are prescribed by the specification and stand here literally, hence their capitals and full stops.

use std::path::PathBuf;

use ratchet_engine::approval::ApprovalError;
use ratchet_engine::dag::Misordered;
use ratchet_engine::manifest::ManifestError;
use ratchet_engine::name::{BatchName, ChangeName, NameError, PhaseName, StepKey};
use ratchet_engine::park::ParkKind;
use ratchet_engine::report::{Channel, hint};
use ratchet_engine::settings::SetError;
use ratchet_engine::shell::quoted;
pub use ratchet_proto::status::causes;
use thiserror::Error;

use crate::follow::FollowError;
use crate::project::planning::PlanningError;
use crate::project::setup::SetupError;
use crate::project::spawns::SpawnsError;
use crate::project::verb::VerbError;
use crate::runtime::StartError;
use crate::store::edit::EditError;
use crate::store::file::FileError;
use crate::store::inflight::InflightError;
use crate::store::layout::RunHome;
use crate::store::lock::LockError;

/// Why something was not done. Nothing was written unless a variant says so.
#[derive(Debug, Error)]
pub enum Error {
    /// No batch of that name (spec `batch-status-and-selection` 8).
    #[error("Batch '{name}' not found under .ratchet/batches.{}", creation(name))]
    BatchNotFound {
        /// The name that was given.
        name: String,
    },
    /// No name was given and there is no batch.
    #[error("No batches found. Create one with 'ratchet new batch <name>'.")]
    NoBatches,
    /// No name was given and there are several batches.
    #[error(
        "Multiple batches exist ({}). Specify one, e.g. 'ratchet batch status {}'.",
        joined(names),
        names.first().map_or("<name>", BatchName::as_str)
    )]
    ManyBatches {
        /// Their names, sorted.
        names: Vec<BatchName>,
    },
    /// A new batch cannot have this name.
    #[error("{why} (batch names use kebab-case)")]
    BadBatchName {
        /// Which rule it breaks.
        why: NameError,
    },
    /// A change has no such name.
    #[error("{why}")]
    BadChangeName {
        /// Which rule it breaks.
        why: NameError,
    },
    /// A new batch has the name of an old one.
    #[error("Batch '{name}' already exists at {}", path.display())]
    BatchExists {
        /// The name.
        name: BatchName,
        /// Its manifest, untouched.
        path: PathBuf,
    },
    /// The manifest is none (spec `batch-manifest-and-settings` 2.1).
    #[error("{error}")]
    Manifest {
        /// The batch.
        batch: BatchName,
        /// The manifest.
        path: PathBuf,
        /// Everything that is wrong with it.
        error: ManifestError,
    },
    /// The changes of a phase have no order.
    #[error("{error}")]
    Dag {
        /// The batch.
        batch: BatchName,
        /// What is wrong, and where.
        error: Misordered,
    },
    /// No active change of that name.
    #[error("Change '{name}' not found under .ratchet/changes")]
    ChangeNotFound {
        /// The name that was given.
        name: String,
    },
    /// A person decided about a step that is not parked.
    #[error("No parked step for change '{key}'{}.", within(of))]
    NoPark {
        /// Where it was looked for.
        of: RunHome,
        /// Whose step.
        key: StepKey,
    },
    /// A question was approved.
    #[error("{why}")]
    NotAResult {
        /// Whose step.
        of: RunHome,
        /// What it waits for.
        why: ApprovalError,
    },
    /// An agent, or what one started, took a decision that is a person's.
    #[error(
        "only a person can {what}, and this runs inside an agent or a proof-of-work (spawn {spawn})"
    )]
    PersonNeeded {
        /// What was tried: `answer`, `approve` or `reject`.
        what: &'static str,
        /// The spawn that the environment names.
        spawn: String,
    },
    /// No phase of that name in the manifest.
    #[error("Phase '{phase}' not found in batch '{batch}'. Known phases: {}", joined(known))]
    PhaseNotFound {
        /// The name that was given.
        phase: String,
        /// The batch.
        batch: BatchName,
        /// The phases it has.
        known: Vec<PhaseName>,
    },
    /// The place in the archive is taken; nothing was moved.
    #[error("{} already exists", path.display())]
    ArchiveExists {
        /// The place.
        path: PathBuf,
    },
    /// A change that is to be archived breaks rules that would spoil the feature store; it was not moved.
    #[error("Change '{change}' cannot be archived:{}", lines(problems))]
    ChangeNotArchivable {
        /// The change.
        change: ChangeName,
        /// What is wrong with it.
        problems: Vec<String>,
    },
    /// A setting, given by `--set` or as a flag, cannot have this value, or there is no such setting; nothing was written.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The configuration could not be changed; it is as it was.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// Somebody else runs a step, or the lock file cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// An intent stands in the way.
    #[error(transparent)]
    Inflight(#[from] InflightError),
    /// A file could not be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A command could not be started, or what was started cannot be looked at.
    #[error("the command cannot be run")]
    Spawn {
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A command was not started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The part of this process that was to finish the step is gone.
    #[error("the step is no longer watched by this process; what it started goes on")]
    WatcherDied,
    /// Somebody wanted to look on where nothing runs.
    #[error("No step of batch '{batch}' is running")]
    NothingRuns {
        /// The batch.
        batch: BatchName,
    },
    /// There is more to do than this supervisor lets wait.
    #[error("the supervisor is busy: too many requests wait for this batch or project")]
    Busy,
    /// This supervisor is about to end.
    #[error("the supervisor is stopping and begins no new step")]
    Closing,
    /// A step was stopped while it waited for room.
    #[error("the step was stopped before it began; nothing was started")]
    Withdrawn,
    /// A verb may not run on this change.
    #[error(transparent)]
    Verb(#[from] VerbError),
    /// A change cannot be planned, made or shown.
    #[error(transparent)]
    Planning(#[from] PlanningError),
    /// A project cannot be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A spawn cannot be looked at.
    #[error(transparent)]
    Spawns(#[from] SpawnsError),
    /// One can no longer look on.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// The user has no home, so there is no place for what lies outside of the project.
    #[error("there is no home folder: HOME is not set")]
    NoHome,
    /// A project's folder is not there, or cannot be entered.
    #[error("there is no project folder {}", root.display())]
    NoProject {
        /// The folder.
        root: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The working directory cannot be told.
    #[error("the working directory cannot be told; was it deleted?")]
    NoWorkingDirectory {
        /// What the system says.
        source: std::io::Error,
    },
}

impl Error {
    /// Wraps what stands in the way of a spawn.
    pub(crate) fn spawn_failed(
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Spawn { source: source.into() }
    }

    /// Returns a name that never changes: the page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BatchNotFound { .. } => "batch-not-found",
            Self::NoBatches => "no-batches",
            Self::ManyBatches { .. } => "batch-name-needed",
            Self::BadBatchName { .. } => "bad-batch-name",
            Self::BadChangeName { .. } => "bad-change-name",
            Self::BatchExists { .. } => "batch-exists",
            Self::Manifest { .. } => "invalid-manifest",
            Self::Dag { .. } => "changes-without-order",
            Self::ChangeNotFound { .. } => "change-not-found",
            Self::NoPark { .. } => "not-parked",
            Self::NotAResult { .. } => "not-a-result",
            Self::PersonNeeded { .. } => "person-needed",
            Self::PhaseNotFound { .. } => "phase-not-found",
            Self::ArchiveExists { .. } => "archive-exists",
            Self::ChangeNotArchivable { .. } => "change-not-archivable",
            Self::Set(_) => "bad-setting",
            Self::Edit(EditError::NotYaml { .. } | EditError::NotAMap { .. }) => "bad-config",
            Self::Edit(EditError::TooClever { .. }) => "config-not-editable",
            Self::Lock(LockError::Running { .. }) => "step-running",
            Self::Inflight(InflightError::Newer { .. }) => "newer-format",
            Self::Inflight(InflightError::Broken { .. }) => "intent-damaged",
            Self::Inflight(InflightError::Unfinished { .. }) => "step-unfinished",
            Self::File(error)
            | Self::Edit(EditError::File(error))
            | Self::Lock(LockError::File(error))
            | Self::Inflight(InflightError::File(error)) => file_code(error),
            Self::Spawn { .. } => disk_code(self).unwrap_or("spawn-failed"),
            Self::Start(StartError::Remote(error)) => error.code(),
            Self::Start(StartError::Docker(error)) => error.code(),
            Self::Start(
                StartError::Directory(_) | StartError::Attach(_) | StartError::System(_),
            ) => disk_code(self).unwrap_or("spawn-failed"),
            Self::WatcherDied => "watcher-died",
            Self::NothingRuns { .. } => "nothing-running",
            Self::Busy => "supervisor-busy",
            Self::Closing => "supervisor-stopping",
            Self::Withdrawn => "step-withdrawn",
            Self::Verb(error) => error.code(),
            Self::Planning(error) => error.code(),
            Self::Setup(error) => error.code(),
            Self::Spawns(error) => error.code(),
            Self::Follow(_) => "output-unreadable",
            Self::NoHome => "no-home",
            Self::NoProject { .. } => "no-project",
            Self::NoWorkingDirectory { .. } => "no-working-directory",
        }
    }

    /// Says what to type next, if anything helps.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::BatchNotFound { .. } => "'ratchet batch list' shows the batches".to_owned(),
            Self::NoBatches | Self::ManyBatches { .. } => return None,
            Self::BadBatchName { .. } => "for example 'ratchet new batch add-search'".to_owned(),
            Self::BadChangeName { .. } => {
                "a change is a folder of .ratchet/changes; name it as it is called there".to_owned()
            }
            Self::BatchExists { name, .. } => {
                format!("take another name, or go on with it: 'ratchet batch status {name}'")
            }
            Self::Manifest { batch, path, .. } => {
                format!("mend {}, then check with 'ratchet validate {batch}'", path.display())
            }
            Self::Dag { batch, .. } => {
                format!(
                    "mend the 'after' lists in .ratchet/batches/{batch}/batch.yaml, then check with 'ratchet validate \
                     {}'",
                    quoted(batch.as_str())
                )
            }
            Self::ChangeNotFound { .. } => {
                "look into .ratchet/changes, or start it with 'ratchet propose'".to_owned()
            }
            Self::NoPark { of: RunHome::Batch(batch), .. } => {
                format!("'ratchet batch status {batch}' shows what is parked")
            }
            Self::NoPark { of: RunHome::Change(change), .. } => {
                format!("'ratchet apply {change}' or 'ratchet verify {change}' goes on with it")
            }
            Self::NotAResult { of, why: ApprovalError::NotAResult { key } } => {
                hint(ParkKind::Blocked, key, channel(of))
            }
            Self::PersonNeeded { .. } => {
                "an agent reports with --needs-input, and ends; if you are a person, use a shell that no agent started \
                 (RATCHET_SPAWN_ID is set in this one)"
                    .to_owned()
            }
            Self::PhaseNotFound { batch, .. } => {
                format!("'ratchet batch status {batch}' shows the phases")
            }
            Self::ArchiveExists { path } => {
                format!("move it away, or wait a day: '{}'", path.display())
            }
            Self::ChangeNotArchivable { .. } => {
                "mend the change's features and run the command again".to_owned()
            }
            Self::Set(_) => "'ratchet batch config' shows the settings in force".to_owned(),
            Self::Edit(EditError::NotYaml { .. } | EditError::NotAMap { .. }) => {
                "mend .ratchet/config.yaml and run the command again".to_owned()
            }
            Self::Edit(EditError::TooClever { at, .. }) => {
                format!("set '{at}' in .ratchet/config.yaml by hand")
            }
            Self::Lock(LockError::Running { of, .. }) => format!(
                "wait for {of}, follow it with 'ratchet batch attach', or stop it with 'ratchet batch cancel'"
            ),
            Self::Inflight(InflightError::Newer { .. }) => {
                "finish the step with the ratchet that started it, or update this one".to_owned()
            }
            Self::Inflight(InflightError::Broken { path, .. }) => {
                format!("make sure that no agent runs, then remove {}", path.display())
            }
            Self::Inflight(InflightError::Unfinished { .. }) => {
                "'ratchet batch apply' concludes it first".to_owned()
            }
            Self::File(error)
            | Self::Edit(EditError::File(error))
            | Self::Lock(LockError::File(error))
            | Self::Inflight(InflightError::File(error)) => error.help(),
            Self::Spawn { .. } => disk_help(self)
                .unwrap_or(
                    "look at the cause above; nothing was started, so the command can be repeated",
                )
                .to_owned(),
            Self::Start(StartError::Remote(error)) => error.help(),
            Self::Start(StartError::Docker(error)) => error.help(),
            Self::Start(
                StartError::Directory(_) | StartError::Attach(_) | StartError::System(_),
            ) => disk_help(self)
                .unwrap_or("look at the cause; nothing was started, so the command can be repeated")
                .to_owned(),
            Self::WatcherDied => "run the same command again: it goes on with the step".to_owned(),
            Self::NothingRuns { .. } => {
                "'ratchet batch log --last' shows what the latest step printed".to_owned()
            }
            Self::Busy => "wait a moment and run the command again".to_owned(),
            Self::Closing => {
                "run the command again when it is gone; RATCHET_SUPERVISOR=embedded does without it"
                    .to_owned()
            }
            Self::Withdrawn => "run the command again to begin it".to_owned(),
            Self::Verb(error) => error.help(),
            Self::Planning(error) => return error.help(),
            Self::Setup(error) => return error.help(),
            Self::Spawns(error) => error.help(),
            Self::Follow(_) => "the step goes on; try again with 'ratchet batch attach'".to_owned(),
            Self::NoHome => "set HOME, or XDG_STATE_HOME and XDG_CONFIG_HOME".to_owned(),
            Self::NoProject { .. } => {
                "check the path; was the folder moved, or is its disk not mounted?".to_owned()
            }
            Self::NoWorkingDirectory { .. } => "change to a folder that exists".to_owned(),
        })
    }
}

/// Gives an error with its causes, for places that keep text.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    causes(error).fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Finds what the operating system says below an error, if it is that which it comes from.
pub(crate) fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<std::io::ErrorKind> {
    causes(error).find_map(|cause| Some(cause.downcast_ref::<std::io::Error>()?.kind()))
}

/// Names what is the matter with the disk under ratchet's own folder, if it is that.
fn disk_code(error: &Error) -> Option<&'static str> {
    use std::io::ErrorKind;
    match io_kind(error)? {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some("disk-full"),
        ErrorKind::ReadOnlyFilesystem => Some("read-only"),
        _ => None,
    }
}

/// Says what to do about it.
fn disk_help(error: &Error) -> Option<&'static str> {
    disk_code(error).map(|code| match code {
        "disk-full" => {
            "free some space under ~/.local/state/ratchet ($XDG_STATE_HOME), or set XDG_STATE_HOME to a \
             folder with room; nothing was started, so the command can be repeated"
        }
        _ => {
            "set XDG_STATE_HOME to a folder that you can write; nothing was started, so the command can be \
             repeated"
        }
    })
}

fn file_code(error: &FileError) -> &'static str {
    match error {
        FileError::WrongKind { .. } | FileError::LeadsNowhere { .. } | FileError::Link { .. } => {
            "file-of-wrong-kind"
        }
        FileError::TooLarge { .. } => "file-too-large",
        FileError::Denied { .. } => "permission-denied",
        FileError::ReadOnly { .. } => "read-only",
        FileError::Full { .. } => "disk-full",
        FileError::Locked { .. } => "file-locked",
        FileError::Other { .. } => "file-error",
    }
}

/// Puts one thing on the same line, several on a line each.
fn lines(items: &[String]) -> String {
    match items {
        [one] => format!(" {one}"),
        several => several.iter().map(|item| format!("\n  {item}")).collect(),
    }
}

fn joined<T: AsRef<str>>(names: &[T]) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
}

/// Says how to make a batch of this name, if one can have it.
fn creation(name: &str) -> String {
    match BatchName::parse_new(name) {
        Ok(name) => format!(" Create it with 'ratchet new batch {name}'."),
        Err(_) => String::new(),
    }
}

/// Says where a step was looked for, if the step's key does not.
fn within(home: &RunHome) -> String {
    match home {
        RunHome::Batch(batch) => format!(" in batch '{batch}'"),
        RunHome::Change(_) => String::new(),
    }
}

/// Says how a step of this run home is reported on.
#[must_use]
pub fn channel(home: &RunHome) -> Channel<'_> {
    match home {
        RunHome::Batch(batch) => Channel::Batch(batch),
        RunHome::Change(change) => Channel::Alone(change),
    }
}
