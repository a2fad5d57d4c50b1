//! The mirror of a spawn, as its starter holds it: a process that is started again, from where it was, if somebody kills it
//! while the command runs on.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process;
use std::sync::Arc;

use ratchet_proto::runtime::v1 as wire;
use ratchet_spawn::{MARK_VARIABLE, SpawnDir, Standing, launch_mirror};
use secrecy::{ExposeSecret as _, SecretString};

use super::RemoteError;
use crate::runtime::Places;
use crate::runtime::shim::Child;

/// The hidden word by which this binary is the mirror of one spawn: `ratchet mirror <folder>`.
pub const MIRROR: &str = "mirror";

/// How often a mirror is started that does not take the spawn up.
const MOST_LAUNCHES: usize = 5;

/// A mirror that can be reached, and brought back.
#[derive(Debug)]
pub(crate) struct Mirrored {
    child: Option<Child>,
    dir: SpawnDir,
    command: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    token: SecretString,
}

impl Mirrored {
    /// Starts the first mirror of a spawn. When this returns it holds the spawn.
    pub(super) async fn start(
        dir: &SpawnDir,
        places: &Places,
        token: &SecretString,
        order: Option<&wire::SpawnRequest>,
    ) -> Result<Self, RemoteError> {
        let mut mirrored = Self::of(dir, places, token.clone());
        let order = order.map(prost::Message::encode_to_vec);
        if mirrored.launch(order).await? == Launched::NotNeeded {
            return Err(RemoteError::Broken {
                why: dir.last_complaint().unwrap_or_else(|| "it ended at once".to_owned()),
            });
        }
        Ok(mirrored)
    }

    /// Finds the mirror of a spawn; one that is gone gets a successor. Blocks.
    pub(super) fn found(
        dir: &SpawnDir,
        places: &Places,
        token: SecretString,
    ) -> Result<Self, RemoteError> {
        let mut mirrored = Self::of(dir, places, token);
        let launched = mirrored.starter().launch(None);
        mirrored.keep(launched)?;
        Ok(mirrored)
    }

    fn of(dir: &SpawnDir, places: &Places, token: SecretString) -> Self {
        let of_ours = |(name, _): &(&OsString, &OsString)| name.as_os_str() != MARK_VARIABLE;
        let environment = places.environment.vars().iter().filter(of_ours);
        Self {
            child: None,
            dir: dir.clone(),
            command: places.shim.first().cloned().into_iter().chain([MIRROR.into()]).collect(),
            environment: environment.map(|(name, value)| (name.clone(), value.clone())).collect(),
            token,
        }
    }

    /// Starts a mirror and keeps an eye on it, if it takes the spawn up.
    async fn launch(&mut self, order: Option<Vec<u8>>) -> Result<Launched, RemoteError> {
        let start = self.starter();
        let launched = tokio::task::spawn_blocking(move || start.launch(order));
        match launched.await {
            Ok(launched) => self.keep(launched),
            Err(error) => Err(RemoteError::Broken { why: error.to_string() }),
        }
    }

    fn keep(
        &mut self,
        launched: io::Result<Option<process::Child>>,
    ) -> Result<Launched, RemoteError> {
        let broken = |error: io::Error| RemoteError::Broken { why: error.to_string() };
        match launched.map_err(broken)? {
            Some(child) => {
                self.child = Some(Child::start(|| Ok(child)).map_err(broken)?);
                Ok(Launched::Holds)
            }
            None => Ok(Launched::NotNeeded),
        }
    }

    fn starter(&self) -> Starter {
        let Self { dir, command, environment, token, .. } = self;
        Starter {
            dir: dir.clone(),
            command: command.clone(),
            environment: environment.clone(),
            token: token.clone(),
        }
    }

    /// Brings back a mirror that somebody killed; says whether there is one now.
    pub(crate) async fn revive(&mut self) -> bool {
        if self.dir.given_up().is_some() {
            return false;
        }
        for _ in 0..MOST_LAUNCHES {
            match self.launch(None).await {
                Ok(Launched::Holds) => return true,
                Ok(Launched::NotNeeded) => {}
                Err(error) => {
                    tracing::warn!(spawn = %self.dir.id(), %error, "the mirror of a step cannot be started again");
                }
            }
            match ratchet_spawn::probe(&self.dir) {
                // Another process was faster.
                Ok(Standing::Running(_)) => return true,
                // This one was killed before it held the spawn.
                Ok(Standing::Lost(_)) => {}
                Ok(Standing::NeverStarted | Standing::Abandoned | Standing::Ended(_)) | Err(_) => {
                    return false;
                }
            }
        }
        false
    }

    /// Waits until it is gone; for ever, if it is none of ours.
    pub(crate) async fn ended(&mut self) {
        match &mut self.child {
            Some(child) => child.ended().await,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn handle(&self) -> Option<Arc<OwnedFd>> {
        self.child.as_ref().map(Child::handle)
    }
}

/// What starts a mirror, for a thread that may wait.
struct Starter {
    dir: SpawnDir,
    command: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    token: SecretString,
}

impl Starter {
    /// Starts a mirror, tells it what it has to know, and waits until it holds the spawn; `None` if none is needed: another
    /// holds it, or it is over.
    fn launch(self, order: Option<Vec<u8>>) -> io::Result<Option<process::Child>> {
        let mut child = launch_mirror(&self.dir, &self.command, self.environment)?;
        if let Some(mut input) = child.stdin.take() {
            // One that ends without listening says so by its silence.
            let token = self.token.expose_secret();
            let _ = writeln!(input, "{token}")
                .and_then(|()| input.write_all(&order.unwrap_or_default()));
        }
        let read = match child.stdout.take() {
            Some(mut output) => output.read(&mut [0])?,
            None => 0,
        };
        if read > 0 {
            return Ok(Some(child));
        }
        child.wait()?;
        Ok(None)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Launched {
    /// It holds the spawn.
    Holds,
    /// Another does, or the spawn is over.
    NotNeeded,
}
