//! The end of a spawn on a worker: its result comes home, and only then its end is recorded here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ratchet_proto::runtime::v1 as wire;
use ratchet_proto::runtime::v1::ended;
use ratchet_spawn::{End, ExitRecord, NotStarted};
use ratchet_workspace::{Outcome, SnapshotId, Store, Workspace};

use super::{Failure, Watch};
use crate::error::with_causes;
use crate::runtime::remote::client::open_store;
use crate::runtime::remote::errand::{WORKSPACE, base_of, result_of};
use crate::runtime::remote::{RemoteError, blocking};

/// How many paths of a conflict are named.
const MOST_NAMED: usize = 20;

/// How long a worker is asked to forget what is recorded here, if it does not hear at once.
const LAST_WORD: Duration = Duration::from_secs(10);

impl Watch {
    /// Brings the result home and records the end, or says why it cannot be brought.
    pub(super) async fn conclude(mut self, ended: wire::Ended) -> Result<(), Failure> {
        let (id, client) = (self.dir.id().to_string(), self.client.clone());
        if !self.dir.path().is_dir() {
            // Somebody removed it, and whoever looked since has recorded the step as lost: what it left is not wanted.
            forget(&client, &id).await;
            return Ok(());
        }
        let mut notes = ended.notes;
        let search_path = self.search_path();
        let end = match ended.end {
            Some(ended::End::Record(record)) => {
                ExitRecord::try_from(record).map_err(|error| error.to_string())
            }
            Some(ended::End::Lost(lost)) => Err(lost_there(lost).to_owned()),
            Some(ended::End::Abandoned(_)) => {
                let message = "the worker gave it up before it started".to_owned();
                let end = End::NotStarted { reason: NotStarted::Refused, message, code: 1 };
                self.mirror.finish_untold(end, notes)?;
                forget(&client, &id).await;
                return Ok(());
            }
            None => Err("the worker does not say how it ended".to_owned()),
        };
        let brought = match ended.result {
            Some(ended::Result::Snapshot(text)) => self.bring_home(&text).await?,
            Some(ended::Result::ResultGone(gone)) => {
                Err(format!("its result cannot be taken ({})", gone.message))
            }
            None => Ok(()),
        };
        match (end, brought) {
            (Ok(mut record), Ok(())) => {
                record.notes.append(&mut notes);
                self.mirror.finish(&record)?;
            }
            // How a step ended says nothing if what it left is not here; a proof without it is no proof.
            (Ok(record), Err(why)) if self.errand.key.is_some() => {
                self.relay.block(&why)?;
                self.mirror.finish(&record)?;
            }
            (Ok(_), Err(why)) | (Err(why), Ok(())) => self.mirror.give_up(&why)?,
            (Err(why), Err(result)) => {
                let why = format!("{why}; {result}");
                self.relay.block(&why)?;
                self.mirror.give_up(&why)?;
            }
        }
        forget(&client, &id).await;
        tidy(self.errand.store.clone(), search_path, self.dir.path().parent().map(Path::to_owned))
            .await;
        Ok(())
    }

    /// Fetches the result and brings it in; the inner error is for a person, and final.
    async fn bring_home(&mut self, text: &str) -> Result<Result<(), String>, Failure> {
        let spawn = self.dir.id().to_string();
        let base = self.client.snapshot(&self.errand.base)?;
        let result = self.client.snapshot(text)?;
        let store = open_store(self.errand.store.clone(), self.search_path()).await?;
        loop {
            match fetch(self, &store, base, result, &spawn).await {
                Ok(()) => break,
                Err(error) if error.may_pass() && !self.is_lost() => self.rest().await,
                Err(error) => {
                    return Ok(Err(format!(
                        "its result cannot be brought here: {}",
                        with_causes(&error)
                    )));
                }
            }
        }
        self.heard();
        let root = self.errand.root.clone();
        let outcome = blocking(move || {
            let workspace = Workspace::new(&store, WORKSPACE, &root)?;
            let rules = ratchet_workspace::Rules { excludes: Vec::new(), ..store.rules(base)? };
            let outcome = workspace.apply(&rules, base, result)?;
            if matches!(outcome, Outcome::Applied { .. }) {
                store.let_go(&result_of(&spawn))?;
                store.let_go(&base_of(&spawn))?;
            }
            Ok(outcome)
        });
        match outcome.await {
            Ok(Outcome::Applied { .. }) => Ok(Ok(())),
            Ok(Outcome::Conflict { paths }) => {
                let named: Vec<_> =
                    paths.iter().take(MOST_NAMED).map(ToString::to_string).collect();
                let more = paths.len().saturating_sub(MOST_NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                Ok(Err(format!(
                    "what it changed was changed here too, so nothing of its result was brought in: {}{more}; the result is kept \
                     ('ratchet batch log --spawn {} --diff')",
                    named.join(", "),
                    self.dir.id(),
                )))
            }
            // A disk that is full now need not be full for the next mirror.
            Err(error @ RemoteError::Workspace(ratchet_workspace::WorkspaceError::Full { .. })) => {
                Err(error.into())
            }
            Err(error) => {
                Ok(Err(format!("its result cannot be brought in: {}", with_causes(&error))))
            }
        }
    }
}

async fn fetch(
    watch: &Watch,
    store: &Store,
    base: SnapshotId,
    result: SnapshotId,
    spawn: &str,
) -> Result<(), RemoteError> {
    let has = vec![base];
    watch.client.get(&watch.errand.project, store.clone(), result, has, result_of(spawn)).await
}

/// Once a day, lets go of what was kept for spawns that are swept away, and puts the store in order. Nobody waits for it.
async fn tidy(store: PathBuf, search_path: OsString, spawns: Option<PathBuf>) {
    let tidied = blocking(move || {
        let store = Store::open(&store, &search_path)?;
        if !store.is_untidy() {
            return Ok(());
        }
        for name in store.kept_names()? {
            let spawn = name.strip_suffix("-base").or_else(|| name.strip_suffix("-result"));
            let is_swept = spawns
                .as_ref()
                .zip(spawn)
                .is_some_and(|(spawns, spawn)| !spawns.join(spawn).exists());
            if is_swept {
                store.let_go(&name)?;
            }
        }
        Ok(store.tidy()?)
    });
    if let Err(error) = tidied.await {
        tracing::warn!(%error, "the store of a project's snapshots cannot be tidied");
    }
}

/// Lets the worker forget a spawn. One that does not hear of it keeps it until its own limit.
async fn forget(client: &crate::runtime::remote::client::Client, id: &str) {
    match tokio::time::timeout(LAST_WORD, client.release(id)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a worker was not told to forget a step"),
        Err(_) => tracing::debug!("a worker was not told to forget a step: it is silent"),
    }
}

fn lost_there(lost: i32) -> &'static str {
    match wire::Lost::try_from(lost) {
        Ok(wire::Lost::ShimDied) => {
            "its shim was killed on the worker before it could record the end"
        }
        Ok(wire::Lost::MachineRestarted) => "the worker's machine was restarted while it ran",
        Ok(wire::Lost::Damaged) => "its files on the worker are damaged",
        Ok(wire::Lost::Unspecified) | Err(_) => "the worker does not know how it ended",
    }
}
