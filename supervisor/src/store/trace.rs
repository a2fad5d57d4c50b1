//! The second trace of a step, in the user's own folder: a lock and a copy of the intent (ADR 0009).
//!
//! An agent that runs `git clean -fdx` removes `run/` while it works in there. With this trace a second step is refused all
//! the same, and the step that runs is found again. The files in the project remain the first and the truth; here nothing is
//! synced and nothing fails, for a project is worked on also where this folder cannot be written.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ratchet_engine::name::{BatchName, ChangeName, SpawnId};
use serde::{Deserialize, Serialize};

use super::file::{Limit, beside, folder_of, read_if_there};
use super::inflight::Inflight;
use super::layout::{RunHome, Trace};

/// The copy of an intent, and whose it is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Copy {
    root: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<String>,
    intent: Inflight,
}

/// Makes the folder of all traces.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder_of(path))
}

/// Copies an intent.
pub(super) fn copy(trace: &Trace, intent: &Inflight) {
    let (batch, change) = match trace.home() {
        RunHome::Batch(name) => (Some(name.to_string()), None),
        RunHome::Change(name) => (None, Some(name.to_string())),
    };
    let copy = Copy { root: trace.root().to_owned(), batch, change, intent: intent.clone() };
    let path = trace.intent();
    let write = || -> io::Result<()> {
        make_folder(&path)?;
        let mut file = beside(folder_of(&path), 0o600)?;
        file.write_all(&serde_json::to_vec(&copy)?)?;
        file.persist(&path)?;
        Ok(())
    };
    if let Err(error) = write() {
        tracing::warn!(path = %path.display(), %error, "an intent cannot be copied");
    }
}

/// Reads the copy of an intent. One that cannot be made out is as good as none.
pub(super) fn read(trace: &Trace) -> Option<Inflight> {
    let copy = parse(&trace.intent())?;
    (copy.root == trace.root() && copy.home().as_ref() == Some(trace.home()))
        .then_some(copy.intent)
        .filter(|intent| intent.place.spawns.is_absolute())
}

/// Forgets the copy.
pub(super) fn forget(trace: &Trace) {
    let path = trace.intent();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "a copied intent cannot be removed");
        }
        Ok(()) | Err(_) => {}
    }
}

/// Lists whose intents are copied, of one project.
pub(crate) fn homes_of(steps: &Path, root: &Path) -> Vec<RunHome> {
    copies(steps).filter(|copy| copy.root == root).filter_map(|copy| copy.home()).collect()
}

/// Lists the spawns that a copied intent names, of all projects.
pub(crate) fn spawns(steps: &Path) -> impl Iterator<Item = SpawnId> {
    copies(steps).map(|copy| copy.intent.spawn)
}

fn copies(steps: &Path) -> impl Iterator<Item = Copy> {
    let entries = fs::read_dir(steps).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let copied = |path: &PathBuf| path.extension().is_some_and(|end| end == Trace::COPY);
    paths.filter(copied).filter_map(|path| parse(&path))
}

fn parse(path: &Path) -> Option<Copy> {
    let read = read_if_there(path, Limit::INTENT);
    let bytes = read.inspect_err(|error| tracing::warn!(%error, "a copied intent is passed over"));
    let bytes = bytes.ok()??;
    match serde_json::from_slice(&bytes) {
        Ok(copy) => Some(copy),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a copied intent is passed over");
            None
        }
    }
}

impl Copy {
    fn home(&self) -> Option<RunHome> {
        match (&self.batch, &self.change) {
            (Some(batch), None) => BatchName::parse(batch).ok().map(RunHome::Batch),
            (None, Some(change)) => ChangeName::parse(change).ok().map(RunHome::Change),
            (None, None) | (Some(_), Some(_)) => None,
        }
    }
}
