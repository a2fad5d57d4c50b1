//! What can stand in the way of a worker, each with what a person can type next. Nothing was started, unless a variant says
//! so. A token is in none of the texts.

use std::io;
use std::path::PathBuf;

use ratchet_door::secret::SecretError;
use ratchet_engine::settings;
use ratchet_proto::error::v1::ErrorDetail;
use ratchet_workspace::WorkspaceError;
use thiserror::Error;

/// Why a command does not run on a worker.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The settings do not say enough, or what they say is not safe.
    #[error(transparent)]
    Settings(#[from] settings::RemoteError),
    /// The settings name no worker.
    #[error("the settings name no worker")]
    NoWorker,
    /// One worker is meant, and which one cannot be told.
    #[error("{}: the settings name {}", asked_for(meant.as_deref()), known.join(", "))]
    WhichWorker {
        /// What was asked for.
        meant: Option<String>,
        /// What there is.
        known: Vec<String>,
    },
    /// The file of the token cannot be used.
    #[error("authTokenFile cannot be used")]
    Token(#[from] SecretError),
    /// The token is no header.
    #[error("the authToken of {worker} has a character that no header can hold")]
    BadToken {
        /// The worker.
        worker: String,
    },
    /// The file of certificates cannot be used.
    #[error("tlsCa cannot be used: {}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Nobody answers.
    #[error("the worker {worker} is unreachable: {why}")]
    Unreachable {
        /// The worker, as `host:port`.
        worker: String,
        /// What is known of it.
        why: String,
    },
    /// The token is not the worker's.
    #[error("the worker {worker} refuses the authToken (401)")]
    NotAdmitted {
        /// The worker.
        worker: String,
    },
    /// It takes no new commands.
    #[error("the worker {worker} is draining and takes no new steps")]
    Draining {
        /// The worker.
        worker: String,
    },
    /// It has no room.
    #[error("the worker {worker} is full: {running} steps run there")]
    Full {
        /// The worker.
        worker: String,
        /// How many run.
        running: u32,
    },
    /// It refused for a reason of its own.
    #[error("the worker {worker} refuses: {}", detail.message)]
    Refused {
        /// The worker.
        worker: String,
        /// The reason.
        detail: Box<ErrorDetail>,
    },
    /// The line was cut, or the call took too long. What was begun there goes on.
    #[error("the line to the worker {worker} was cut: {why}")]
    Cut {
        /// The worker.
        worker: String,
        /// What is known of it.
        why: String,
    },
    /// It says what no worker of ours says.
    #[error("the worker {worker} does not speak as this ratchet does: {why}")]
    Malformed {
        /// The worker.
        worker: String,
        /// What is wrong.
        why: String,
    },
    /// A step runs on a worker that the settings do not name any more.
    #[error("a step runs on the worker {worker}, which the settings no longer name")]
    NoLongerKnown {
        /// The worker.
        worker: String,
    },
    /// The project could not be taken, sent or brought back.
    #[error("the project cannot go to a worker: {0}")]
    Workspace(#[from] WorkspaceError),
    /// Something here broke.
    #[error("the mirror of a step cannot be started: {why}")]
    Broken {
        /// What.
        why: String,
    },
}

fn asked_for(meant: Option<&str>) -> String {
    match meant {
        Some(name) => format!("there is no worker {name}"),
        None => "it has to be said which worker is meant".to_owned(),
    }
}

impl RemoteError {
    /// Names the page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Settings(_) | Self::NoWorker | Self::BadToken { .. } => "worker-settings",
            Self::Token(_) | Self::NotAdmitted { .. } => "worker-token",
            Self::Certificates { .. } => "worker-certificates",
            Self::Unreachable { .. } | Self::Cut { .. } => "worker-unreachable",
            Self::Draining { .. } => "worker-draining",
            Self::Full { .. } => "worker-full",
            Self::Refused { .. } | Self::Malformed { .. } => "worker-refused",
            Self::NoLongerKnown { .. } | Self::WhichWorker { .. } => "worker-not-named",
            Self::Workspace(_) => "workspace-not-sent",
            Self::Broken { .. } => "spawn-failed",
        }
    }

    /// Says what to type next.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Settings(settings::RemoteError::Incomplete(_)) | Self::NoWorker => {
                "'ratchet batch config' shows the settings".to_owned()
            }
            Self::Settings(settings::RemoteError::Plaintext { .. }) => {
                "give the worker a certificate and use https, or set 'insecure' to true on a network that you trust".to_owned()
            }
            Self::Settings(settings::RemoteError::NoHost { .. }) => {
                "'ratchet batch config --set host=<name>' names a machine".to_owned()
            }
            Self::Settings(settings::RemoteError::TokenOfAnother) => {
                "name host and authToken in the same file, best in .ratchet/config.yaml".to_owned()
            }
            Self::WhichWorker { known, .. } => {
                let first = known.first().map_or("<host:port>", String::as_str);
                format!("name one of them, for example {first}")
            }
            Self::Token(error) => error.help(),
            Self::BadToken { .. } | Self::NotAdmitted { .. } => {
                "set 'authToken', or 'authTokenFile', to what the worker's --token-file holds".to_owned()
            }
            Self::Certificates { .. } => "set 'tlsCa' to a file of certificates in PEM form".to_owned(),
            Self::Unreachable { worker, .. } => {
                format!("start it there: runtime-agent serve; 'ratchet doctor' tries {worker} again")
            }
            Self::Cut { .. } => "run the command again".to_owned(),
            Self::Draining { .. } | Self::Full { .. } => {
                "wait, or name another worker in 'workers'".to_owned()
            }
            Self::Refused { detail, .. } => {
                detail.help.clone().unwrap_or_else(|| "the worker's log says more".to_owned())
            }
            Self::Malformed { .. } => "update the worker and this ratchet to the same version".to_owned(),
            Self::NoLongerKnown { worker } => format!("name {worker} in the settings again, so that its step can be concluded"),
            Self::Workspace(_) => "mend what it names and run the command again".to_owned(),
            Self::Broken { .. } => "run the command again".to_owned(),
        }
    }
}
