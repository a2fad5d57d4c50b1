//! Batches as they lie on disk: which there are, and their manifests. What a manifest must hold is decided in
//! [`ratchet_engine::manifest`].

use ratchet_engine::name::BatchName;

use super::change::names_in;
use super::file::FileError;
use super::layout::{ARCHIVE, Layout};

/// Lists the batches, sorted: the folders other than `archive` that hold a `batch.yaml`.
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
    name.as_str() != ARCHIVE && layout.manifest(name).exists()
}
