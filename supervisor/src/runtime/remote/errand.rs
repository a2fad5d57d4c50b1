//! What a mirror has to know, in the spawn's folder: which worker, which project, which snapshot. No secret is in it.

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ratchet_engine::settings::Worker;
use ratchet_spawn::SpawnDir;
use ratchet_workspace::SnapshotId;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Places, Remote};

/// The name of the project's workspace in its store.
pub(crate) const WORKSPACE: &str = "project";

const NAME: &str = "errand.json";

/// What is to be done for a spawn on a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Errand {
    /// The format, 1.
    pub(crate) format: u32,
    /// The worker, as people are told.
    pub(crate) worker: String,
    /// Its address.
    pub(crate) address: String,
    /// The certificates that its own must stem from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tls_ca: Option<String>,
    /// What the worker calls the project.
    pub(crate) project: String,
    /// The project as it was sent.
    pub(crate) base: String,
    /// The project's root here.
    pub(crate) root: PathBuf,
    /// The store of its snapshots.
    pub(crate) store: PathBuf,
    /// Whose run state its reports belong to.
    pub(crate) home: Home,
    /// Whose step it is; none for a proof-of-work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// How long the worker is waited for, in milliseconds.
    pub(crate) lost_ms: u64,
}

/// A run home, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Home {
    /// A batch.
    Batch(String),
    /// A change on its own.
    Change(String),
}

impl Errand {
    pub(super) fn of(
        worker: &Worker,
        remote: &Remote,
        project: String,
        base: SnapshotId,
        store: PathBuf,
    ) -> Self {
        Self {
            format: 1,
            worker: worker.name.clone(),
            address: worker.address.clone(),
            tls_ca: worker.tls_ca.clone(),
            project,
            base: base.to_string(),
            root: remote.project.clone(),
            store,
            home: remote.home.clone(),
            key: remote.key.clone(),
            lost_ms: remote.lost_ms,
        }
    }

    pub(super) fn write(&self, dir: &SpawnDir) -> io::Result<()> {
        let path = dir.path().join(NAME);
        let mut file =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_data()
    }

    /// Reads it.
    ///
    /// # Errors
    /// If it is not there or cannot be understood.
    pub(crate) fn read(dir: &SpawnDir) -> io::Result<Self> {
        Ok(serde_json::from_slice(&std::fs::read(dir.path().join(NAME))?)?)
    }
}

/// Names a project for workers: the same for this user, this machine and this folder, and for nothing else.
pub(crate) fn project_name(root: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let machine = std::fs::read("/etc/machine-id").unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [
        &machine[..],
        &rustix::process::geteuid().as_raw().to_le_bytes(),
        root.as_os_str().as_bytes(),
    ] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let slug: String = name.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    let slug = if slug.is_empty() { "project".to_owned() } else { slug };
    format!("{slug}-{}", &hex::encode(hash.finalize())[..24])
}

/// Says where the snapshots of a project are: beside the spawns.
pub(crate) fn store_of(places: &Places, project: &str) -> PathBuf {
    places.spawns.parent().unwrap_or(&places.spawns).join("snapshots").join(project)
}

/// Names what a spawn began with, in the store.
pub(crate) fn base_of(spawn: &str) -> String {
    format!("{spawn}-base")
}

/// Names what a spawn left, in the store.
pub(crate) fn result_of(spawn: &str) -> String {
    format!("{spawn}-result")
}
