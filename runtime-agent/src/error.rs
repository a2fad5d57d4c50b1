//! What a worker refuses, in terms a caller can act on: a code with a page in `docs/errors/`, what failed, why, what to do.

use std::io;
use std::path::PathBuf;

use ratchet_proto::convert::Malformed;
use ratchet_proto::error::v1::ErrorDetail;
use ratchet_proto::status::{causes, to_status};
use ratchet_spawn::SpawnId;
use ratchet_workspace::WorkspaceError;
use thiserror::Error;
use tonic::{Code, Status};

/// Why a call was refused, or could not be done.
#[derive(Debug, Error)]
pub(crate) enum WorkerError {
    /// The message cannot be understood, or asks for what must not be.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// As many commands run as may.
    #[error("the worker is full: {running} of {most} commands run")]
    Full {
        /// How many run.
        running: usize,
        /// How many may.
        most: usize,
    },
    /// It takes no new commands.
    #[error("the worker is draining: it takes no new commands")]
    Draining,
    /// The id belongs to another request.
    #[error("the spawn {id} was asked for before, with another request")]
    Differs {
        /// The id.
        id: SpawnId,
    },
    /// The id belongs to a spawn that was let go.
    #[error("the spawn {id} has ended and was released")]
    Released {
        /// The id.
        id: SpawnId,
    },
    /// Nobody here knows it.
    #[error("there is no session {id} on this worker")]
    NoSession {
        /// The id.
        id: String,
    },
    /// It has not ended.
    #[error("the command of session {id} has not ended")]
    StillRuns {
        /// The id.
        id: SpawnId,
    },
    /// The request needs a `ratchet`, and there is none.
    #[error("this worker has no ratchet")]
    NoRatchet,
    /// A snapshot could not be taken in, laid out or taken.
    #[error("the workspace cannot be used")]
    Workspace(#[from] WorkspaceError),
    /// The shim did not come up.
    #[error("the command's shim did not start")]
    Shim {
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// A session cannot be watched.
    #[error("the session cannot be watched")]
    Watch(#[source] io::Error),
    /// The disk refuses.
    #[error("cannot use {}", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The worker ends. What it started goes on.
    #[error("the worker is stopping; what it started goes on")]
    Leaving,
    /// A thread of the worker died over the call.
    #[error("the call could not be worked on; the worker goes on")]
    Died,
}

/// Makes an error of what the system said about a path.
pub(crate) fn disk(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> WorkerError {
    let path = path.into();
    move |source| WorkerError::Disk { path, source }
}

impl WorkerError {
    /// Names the page in `docs/errors/`.
    pub(crate) fn code(&self) -> &'static str {
        if self.is_full_disk() {
            return "disk-full";
        }
        match self {
            Self::Malformed(_) => "bad-request",
            Self::Full { .. } => "worker-full",
            Self::Draining => "worker-draining",
            Self::Differs { .. } => "spawn-differs",
            Self::Released { .. } => "spawn-released",
            Self::NoSession { .. } => "session-not-found",
            Self::StillRuns { .. } => "session-running",
            Self::NoRatchet => "worker-without-ratchet",
            Self::Workspace(error) => workspace_code(error),
            Self::Shim { .. } => "spawn-failed",
            Self::Watch(_) => "cannot-watch",
            Self::Disk { .. } => "file-error",
            Self::Leaving => "worker-stopping",
            Self::Died => "worker-broken",
        }
    }

    /// Says what to do next.
    pub(crate) fn help(&self) -> &'static str {
        if self.is_full_disk() {
            return "make room on the worker: 'runtime-agent check' says where";
        }
        match self {
            Self::Malformed(_) => "update the caller, or mend the request",
            Self::Full { .. } => {
                "wait for one of them, take another worker, or raise --max-sessions there"
            }
            Self::Draining => "take another worker; 'ratchet worker drain --resume' ends it",
            Self::Differs { .. } => "use a new id for a new command",
            Self::Released { .. } => "use a new id; a spawn never runs twice",
            Self::NoSession { .. } => "'ratchet worker list' shows the sessions of a worker",
            Self::StillRuns { .. } => "stop it first, or wait for its end",
            Self::NoRatchet => {
                "put ratchet beside runtime-agent there, or start it with '--ratchet PATH'"
            }
            Self::Workspace(error) => workspace_help(error),
            Self::Shim { .. } => "the worker's log and 'runtime-agent check' say more",
            Self::Watch(_) => "raise fs.inotify.max_user_instances and max_user_watches there",
            Self::Disk { .. } => "see to the worker's state folder: 'runtime-agent check'",
            Self::Leaving => "attach again in a moment",
            Self::Died => "try again; the worker's log says more",
        }
    }

    fn grpc(&self) -> Code {
        if self.is_full_disk() {
            return Code::ResourceExhausted;
        }
        match self {
            Self::Malformed(_) => Code::InvalidArgument,
            Self::Full { .. } => Code::ResourceExhausted,
            Self::Draining | Self::Leaving => Code::Unavailable,
            Self::Differs { .. } | Self::Released { .. } => Code::AlreadyExists,
            Self::NoSession { .. } => Code::NotFound,
            Self::Workspace(WorkspaceError::Unknown { .. }) => Code::NotFound,
            Self::Workspace(
                WorkspaceError::Name { .. }
                | WorkspaceError::Refused { .. }
                | WorkspaceError::TooLarge { .. }
                | WorkspaceError::Word { .. },
            ) => Code::InvalidArgument,
            Self::StillRuns { .. }
            | Self::NoRatchet
            | Self::Workspace(_)
            | Self::Shim { .. }
            | Self::Disk { .. } => Code::FailedPrecondition,
            Self::Watch(_) => Code::ResourceExhausted,
            Self::Died => Code::Internal,
        }
    }

    /// The disk may be full below any of them.
    fn is_full_disk(&self) -> bool {
        let full = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        };
        matches!(self, Self::Workspace(WorkspaceError::Full { .. }))
            || causes(self).any(|cause| cause.downcast_ref::<io::Error>().is_some_and(full))
    }
}

fn workspace_code(error: &WorkspaceError) -> &'static str {
    match error {
        WorkspaceError::NoGit { .. } => "git-not-found",
        WorkspaceError::Unknown { .. } => "snapshot-not-found",
        WorkspaceError::TooLarge { .. } => "snapshot-too-large",
        WorkspaceError::Name { .. }
        | WorkspaceError::Refused { .. }
        | WorkspaceError::Word { .. } => "snapshot-refused",
        _ => "workspace-failed",
    }
}

fn workspace_help(error: &WorkspaceError) -> &'static str {
    match error {
        WorkspaceError::NoGit { .. } => "install git on the worker",
        WorkspaceError::Unknown { .. } => "send the snapshot first",
        WorkspaceError::TooLarge { .. } => {
            "raise --workspace-quota there, or name what is large in .gitignore"
        }
        WorkspaceError::Name { .. }
        | WorkspaceError::Refused { .. }
        | WorkspaceError::Word { .. } => "mend or remove what it names",
        _ => "the worker's log and 'runtime-agent check' say more",
    }
}

impl From<&WorkerError> for Status {
    fn from(error: &WorkerError) -> Self {
        let detail = ErrorDetail {
            code: error.code().to_owned(),
            message: error.to_string(),
            causes: causes(error).map(ToString::to_string).collect(),
            help: Some(error.help().to_owned()),
        };
        tracing::info!(code = error.code(), why = %detail.message, causes = ?detail.causes, "refused");
        to_status(error.grpc(), &detail)
    }
}

impl From<WorkerError> for Status {
    fn from(error: WorkerError) -> Self {
        Self::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_as_such_whatever_it_was_needed_for() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let anywhere = [
            WorkerError::Disk { path: "/x".into(), source: full() },
            WorkerError::Shim { source: full() },
            WorkerError::Workspace(WorkspaceError::Full { doing: "a pack".to_owned() }),
        ];
        for error in anywhere {
            assert_eq!(error.code(), "disk-full", "{error:?}");
            assert_eq!(Status::from(error).code(), Code::ResourceExhausted);
        }
    }
}
