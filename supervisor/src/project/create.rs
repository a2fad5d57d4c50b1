//! New batches: a folder and a commented manifest that validates as it is (spec `batch-manifest-and-settings` 14).

use std::fs;
use std::path::PathBuf;

use ratchet_engine::name::BatchName;
use serde::Serialize;

use super::Project;
use crate::error::Error;
use crate::store::file::{self, Created, Doing, Of as _};

/// The manifest of a new batch, with `NAME` and `DATE` to be replaced.
pub const SCAFFOLD: &str = include_str!("create/batch.yaml");

/// A batch that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CreatedBatch {
    /// Its name.
    pub name: BatchName,
    /// Its manifest, absolute.
    #[serde(serialize_with = "crate::lossy::path")]
    pub path: PathBuf,
}

impl Project {
    /// Makes a new batch.
    ///
    /// # Errors
    /// [`Error::BadBatchName`] or [`Error::BatchExists`]; then nothing was written.
    pub fn create_batch(&self, name: &str) -> Result<CreatedBatch, Error> {
        let name = BatchName::parse_new(name).map_err(|why| Error::BadBatchName { why })?;
        let path = self.layout().manifest(&name);
        let exists = || Error::BatchExists { name: name.clone(), path: path.clone() };
        if path.exists() {
            return Err(exists());
        }
        let folder = self.layout().batch(&name);
        fs::create_dir_all(&folder).of(&folder, Doing::MakeFolder)?;
        let text = scaffold(&name, &self.now().date());
        match file::create(&path, text.as_bytes())? {
            Created::Now => Ok(CreatedBatch { name, path }),
            Created::Before => Err(exists()),
        }
    }
}

fn scaffold(name: &BatchName, date: &str) -> String {
    SCAFFOLD.replace("NAME", name.as_str()).replace("DATE", date)
}
