//! `limits.json`, in the user's state folder: until when each agent's usage limit lasts. A limit belongs to an account, so it
//! holds for every batch of every project of this user.
//!
//! Whether a step may start is decided by who asks. A file that is damaged is as good as none: the next limit that is hit
//! writes a new one. What this version does not know stays in it.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use ratchet_engine::name::AgentName;
use ratchet_engine::time::Timestamp;
use serde_json::{Map, Value, json};

use super::file::{Doing, FileError, Limit, Of as _, folder_of, read_if_there, replace_private};
use super::os_lock;

#[cfg(test)]
mod tests;

/// The limits that were hit, of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    path: PathBuf,
}

impl Limits {
    /// Takes the file's path; see [`super::layout::limits_file`].
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Says until when an agent is out of use; `None` if it is not.
    ///
    /// # Errors
    /// Fails if the file is there and cannot be read.
    pub fn until(&self, agent: &AgentName, now: Timestamp) -> Result<Option<Timestamp>, FileError> {
        let members = self.read()?;
        Ok(until_of(members.get(agent.as_str())).filter(|until| *until > now))
    }

    /// Notes until when an agent is out of use; forgets what is over.
    ///
    /// # Errors
    /// Fails if the file cannot be read or replaced; then the old one is still whole.
    pub fn note(
        &self,
        agent: &AgentName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), FileError> {
        self.change(|agents| {
            agents.retain(|_, entry| until_of(Some(entry)).is_none_or(|until| until > now));
            let entry = json!({ "until": until.to_string(), "notedAt": now.to_string() });
            agents.insert(agent.as_str().to_owned(), entry);
        })
    }

    /// Forgets an agent's limit: it has answered.
    ///
    /// # Errors
    /// As [`Limits::note`].
    pub fn forget(&self, agent: &AgentName) -> Result<(), FileError> {
        if !self.read()?.contains_key(agent.as_str()) {
            return Ok(());
        }
        self.change(|agents| {
            agents.remove(agent.as_str());
        })
    }

    fn change(&self, change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), FileError> {
        let folder = folder_of(&self.path);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .of(folder, Doing::MakeFolder)?;
        let _held = self.lock()?;
        let mut agents = self.read()?;
        let before = agents.clone();
        change(&mut agents);
        if agents == before {
            return Ok(());
        }
        let document = json!({ "version": 1, "agents": agents });
        let mut text = serde_json::to_vec_pretty(&document).expect("a JSON value is always JSON");
        text.push(b'\n');
        replace_private(&self.path, &text)
    }

    /// Taken for the time of one change; dropping it releases it.
    fn lock(&self) -> Result<File, FileError> {
        let path = self.path.with_extension("lock");
        let open = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let lock = open.of(&path, Doing::Lock)?;
        os_lock::wait(&lock, &path)?;
        Ok(lock)
    }

    fn read(&self) -> Result<Map<String, Value>, FileError> {
        let bytes = read_if_there(&self.path, Limit::INTENT)?.unwrap_or_default();
        let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(document.get("agents").and_then(Value::as_object).cloned().unwrap_or_default())
    }
}

fn until_of(entry: Option<&Value>) -> Option<Timestamp> {
    Timestamp::parse(entry?.get("until")?.as_str()?)
}
