//! Batches as they lie on disk: which there are, and their manifests. What a manifest must hold is decided in
//! [`ratchet_engine::manifest`].

use ratchet_engine::manifest::{self, Manifest, ManifestError};
use ratchet_engine::name::BatchName;
use thiserror::Error;

use super::change::names_in;
use super::file::{FileError, Limit, read_if_there};
use super::layout::Layout;

/// Lists the batches, sorted: the folders that hold a `batch.yaml`.
///
/// # Errors
/// Fails if `.ratchet/batches` is there and cannot be read.
pub fn names(layout: &Layout) -> Result<Vec<BatchName>, FileError> {
    let names = names_in(&layout.batches())?;
    let batch = |name: String| BatchName::parse(&name).ok().filter(|name| exists(layout, name));
    Ok(names.into_iter().filter_map(batch).collect())
}

/// Tells whether there is a batch of that name.
#[must_use]
pub fn exists(layout: &Layout, name: &BatchName) -> bool {
    layout.manifest(name).exists()
}

/// Reads a manifest, if there is one.
///
/// # Errors
/// [`ReadError::File`] if it cannot be read, [`ReadError::Manifest`] if it is none.
pub fn read(layout: &Layout, name: &BatchName) -> Result<Option<Manifest>, ReadError> {
    match read_if_there(&layout.manifest(name), Limit::CONFIG)? {
        Some(bytes) => Ok(Some(manifest::parse_bytes(&bytes)?)),
        None => Ok(None),
    }
}

/// Why there is no manifest to work with.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is no manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}
