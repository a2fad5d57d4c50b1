//! `inflight.json`: the intent. It is on disk before anything is spawned, and gone once the outcome is recorded; whoever
//! finds it goes on from there (`recover`), and never starts the same intent twice.

use std::path::PathBuf;

use ratchet_engine::change::ChangeFacts;
use ratchet_engine::decide::Proving;
use ratchet_engine::journal::Via;
use ratchet_engine::name::{AgentName, ChangeName, SpawnId, StepKey};
use ratchet_engine::outcome::{ModelSource, Subject, Verdict};
use ratchet_engine::settings::{Locus, ProofPolicy};
use ratchet_engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::file::{
    Doing, FileError, Limit, Of as _, folder_of, read_if_there, replace, sync_folder,
};
use super::journal::Writer;
use super::layout::RunDir;
use super::trace;

#[cfg(test)]
mod tests;

/// The format that this version writes.
pub const VERSION: u32 = 1;

/// A spawn that was asked for, with all that is needed to judge it later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inflight {
    /// The format, [`VERSION`].
    pub version: u32,
    /// The spawn; also the name of its directory.
    pub spawn: SpawnId,
    /// Whose step it is.
    pub key: StepKey,
    /// What it is for.
    pub task: Task,
    /// Entries of this key before the spawn; later ones are the session's.
    pub journal_count: usize,
    /// Where it runs.
    #[serde(flatten)]
    pub place: Place,
    /// How it is reached there: a worker's name or a container's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<String>,
    /// The very image it runs in, once it runs in one: its digest, else the engine's number for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// When it was asked for, ISO-8601 in UTC.
    pub started_at: String,
    /// The span of the step, for whoever goes on with it in another process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<StoredTrace>,
    /// What the step was judged to be, once it was: from then on it is only recorded, whatever the disk shows later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What else a person should be told with the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The ids of a span, as W3C Trace Context writes them. Nothing secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTrace {
    /// The `traceparent`.
    pub traceparent: String,
    /// The `tracestate`, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

/// Where a spawn runs, and where its directory is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Where it runs.
    pub locus: Locus,
    /// The folder that holds its directory, absolute: whoever goes on with it may have another home.
    pub spawns: PathBuf,
}

/// What a spawn is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Task {
    /// A step of an agent.
    Step(StepTask),
    /// A proof-of-work.
    Proof(ProofTask),
}

/// What judging a step needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepTask {
    /// The step.
    pub subject: Subject,
    /// The change that it moves, if it moves one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeName>,
    /// The change's folder before the spawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ChangeFacts>,
    /// The agent that was asked for.
    pub agent: AgentName,
    /// The model that was named, and by whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSource>,
    /// Set when `RATCHET_BATCH_AGENT_CMD` stood in for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
}

/// What judging a proof-of-work needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofTask {
    /// The phase and its condition.
    pub proving: Proving,
    /// The policy that was in force.
    pub policy: ProofPolicy,
}

/// What stands in the way of an intent.
#[derive(Debug, Error)]
pub enum InflightError {
    /// The file could not be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is of a newer ratchet, which alone may finish that step.
    #[error("{path} was written by a newer ratchet (format {version})", path = path.display())]
    Newer {
        /// The file.
        path: std::path::PathBuf,
        /// Its format.
        version: u32,
    },
    /// The file is damaged, so that nothing is known of the step that was started.
    #[error("{path} is damaged: {why}", path = path.display())]
    Broken {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Another step was started and has not been concluded.
    #[error("spawn {spawn} of '{key}' has not been concluded")]
    Unfinished {
        /// Its spawn.
        spawn: SpawnId,
        /// Whose step it is.
        key: StepKey,
    },
}

impl Inflight {
    /// Makes an intent of this version.
    #[must_use]
    pub fn new(spawn: SpawnId, key: StepKey, task: Task, place: Place, now: Timestamp) -> Self {
        Self {
            version: VERSION,
            spawn,
            key,
            task,
            journal_count: 0,
            place,
            reach: None,
            image: None,
            trace: None,
            started_at: now.to_string(),
            verdict: None,
            notes: Vec::new(),
        }
    }

    /// Reads the intent, if there is one; its copy, if somebody has cleaned it away. A newer format is read as long as this
    /// version's members are in it.
    ///
    /// # Errors
    /// [`InflightError::Newer`] and [`InflightError::Broken`] if it cannot be made out.
    pub fn read(run: &RunDir) -> Result<Option<Self>, InflightError> {
        let path = run.inflight();
        let Some(bytes) = read_if_there(&path, Limit::INTENT)? else {
            return Ok(run.trace().and_then(trace::read));
        };
        let broken = |why: String| InflightError::Broken { path: path.clone(), why };
        let found: Self = match serde_json::from_slice(&bytes) {
            Ok(found) => found,
            Err(error) => {
                return Err(match format_of(&bytes) {
                    Some(version) if version > VERSION => InflightError::Newer { path, version },
                    Some(_) | None => broken(error.to_string()),
                });
            }
        };
        if !found.place.spawns.is_absolute() {
            return Err(broken("the folder of its spawn is not absolute".to_owned()));
        }
        Ok(Some(found))
    }

    /// Puts the intent on disk, synced.
    ///
    /// # Errors
    /// Refuses to replace the intent of another spawn ([`InflightError::Unfinished`]) or a file of a newer format.
    pub fn write(&self, writer: &Writer<'_>) -> Result<(), InflightError> {
        match Self::read(writer.run())? {
            Some(other) if other.spawn != self.spawn => {
                return Err(InflightError::Unfinished { spawn: other.spawn, key: other.key });
            }
            Some(same) if same.version > VERSION => {
                let path = writer.run().inflight();
                return Err(InflightError::Newer { path, version: same.version });
            }
            Some(_) | None => {}
        }
        let mut text = serde_json::to_vec_pretty(self).expect("texts and numbers are always JSON");
        text.push(b'\n');
        replace(&writer.run().inflight(), &text)?;
        if let Some(trace) = writer.run().trace() {
            trace::copy(trace, self);
        }
        Ok(())
    }

    /// Removes the intent of this spawn; that of another one stays.
    ///
    /// # Errors
    /// Fails if the file cannot be read or removed.
    pub fn clear(writer: &Writer<'_>, spawn: &SpawnId) -> Result<(), InflightError> {
        match Self::read(writer.run())? {
            Some(found) if found.spawn == *spawn => Ok(discard(writer)?),
            Some(_) | None => Ok(()),
        }
    }
}

/// Removes whatever is there, also a file that cannot be made out: for a person who has looked and decided so.
///
/// # Errors
/// Fails if the file cannot be removed.
pub fn discard(writer: &Writer<'_>) -> Result<(), FileError> {
    // The copy first: what is left of it alone would be taken for an intent.
    if let Some(trace) = writer.run().trace() {
        trace::forget(trace);
    }
    let path = writer.run().inflight();
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        result => result.of(&path, Doing::Remove)?,
    }
    sync_folder(folder_of(&path))
}

fn format_of(bytes: &[u8]) -> Option<u32> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    value.get("version")?.as_u64()?.try_into().ok()
}
