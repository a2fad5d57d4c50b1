//! Errors of this crate as they leave it: the code, the words and the causes stay whole; gRPC's own code says what kind of
//! trouble it is.

use ratchet_proto::error::v1::ErrorDetail;
use ratchet_proto::status::to_status;
use tonic::{Code, Status};

use super::convert::Malformed;
use crate::error::{Error, causes};
use crate::store::file::FileError;
use crate::store::inflight::InflightError;
use crate::store::lock::LockError;

/// Describes an error.
pub(super) fn detail(error: &Error) -> ErrorDetail {
    ErrorDetail {
        code: error.code().to_owned(),
        message: error.to_string(),
        causes: causes(error).map(ToString::to_string).collect(),
        help: error.help(),
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        tracing::info!(code = error.code(), why = ?error.to_string(), "refused");
        to_status(grpc_code(&error), &detail(&error))
    }
}

impl From<Malformed> for Status {
    fn from(error: Malformed) -> Self {
        bad_request(&error.to_string())
    }
}

/// Refuses a call that cannot be understood, or must not be made like this.
pub(super) fn bad_request(message: &str) -> Status {
    plain(Code::InvalidArgument, "bad-request", message, "update the caller, or mend the request")
}

/// Says that the time a caller gave is over.
pub(super) fn too_late() -> Status {
    plain(
        Code::DeadlineExceeded,
        "deadline-exceeded",
        "the caller's deadline has passed",
        "'ratchet batch attach' follows the step if it goes on",
    )
}

/// Says that the supervisor ends and what it watched goes on.
pub(super) fn leaving() -> Status {
    plain(
        Code::Unavailable,
        "supervisor-stopping",
        "the supervisor is stopping; what it started goes on",
        "run the same command again: it goes on with the step",
    )
}

/// Says that the kernel will not tell of changes.
pub(super) fn deaf(error: &std::io::Error) -> Status {
    let detail = ErrorDetail {
        code: "cannot-watch".to_owned(),
        message: "changes of the project's files cannot be heard of".to_owned(),
        causes: vec![error.to_string()],
        help: Some(
            "ask for the status instead; if the limit is reached, raise fs.inotify.max_user_watches"
                .to_owned(),
        ),
    };
    to_status(Code::ResourceExhausted, &detail)
}

fn plain(grpc: Code, code: &str, message: &str, help: &str) -> Status {
    tracing::info!(code, message, "refused");
    let detail = ErrorDetail {
        code: code.to_owned(),
        message: message.to_owned(),
        causes: Vec::new(),
        help: Some(help.to_owned()),
    };
    to_status(grpc, &detail)
}

fn grpc_code(error: &Error) -> Code {
    match file_of(error) {
        Some(FileError::Denied { .. }) => return Code::PermissionDenied,
        Some(FileError::Full { .. }) => return Code::ResourceExhausted,
        Some(FileError::Locked { .. }) => return Code::Unavailable,
        Some(_) | None => {}
    }
    match error {
        Error::BatchNotFound { .. }
        | Error::NoBatches
        | Error::ChangeNotFound { .. }
        | Error::PhaseNotFound { .. }
        | Error::NoProject { .. }
        | Error::NothingRuns { .. }
        | Error::Spawns(_) => Code::NotFound,
        Error::ManyBatches { .. }
        | Error::BadBatchName { .. }
        | Error::BadChangeName { .. }
        | Error::Set(_) => Code::InvalidArgument,
        Error::PersonNeeded { .. } => Code::PermissionDenied,
        Error::BatchExists { .. } | Error::ArchiveExists { .. } => Code::AlreadyExists,
        Error::Busy => Code::ResourceExhausted,
        Error::Closing => Code::Unavailable,
        Error::Withdrawn => Code::Cancelled,
        Error::Lock(LockError::Running { .. }) => Code::Aborted,
        Error::WatcherDied => Code::Internal,
        Error::Manifest { .. }
        | Error::Dag { .. }
        | Error::NoPark { .. }
        | Error::NotAResult { .. }
        | Error::ChangeNotArchivable { .. }
        | Error::Edit(_)
        | Error::Lock(_)
        | Error::Inflight(_)
        | Error::File(_)
        | Error::Spawn { .. }
        | Error::Start(_)
        | Error::Verb(_)
        | Error::Follow(_)
        | Error::NoHome
        | Error::NoWorkingDirectory { .. }
        | Error::Planning(_)
        | Error::Setup(_) => Code::FailedPrecondition,
    }
}

/// Gives the file that an error is about, wherever it came up.
fn file_of(error: &Error) -> Option<&FileError> {
    match error {
        Error::File(file)
        | Error::Inflight(InflightError::File(file))
        | Error::Lock(LockError::File(file)) => Some(file),
        _ => None,
    }
}
