//! The `.ratchet.yaml` of a change, read. What it must say is decided in [`ratchet_engine::metadata`]; a new one is
//! written by [`super::change::stamp`].

use ratchet_engine::metadata::{self, Metadata, MetadataError};
use thiserror::Error;

use super::file::{FileError, Limit, read_if_there};
use super::layout::ChangeDir;

/// Why a change's metadata says nothing.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is none.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
}

/// Reads a change's metadata, if there is any.
///
/// # Errors
/// Fails if the file is there and cannot be read, or is none.
pub fn read(change: &ChangeDir) -> Result<Option<Metadata>, ReadError> {
    match read_if_there(&change.metadata(), Limit::CONFIG)? {
        Some(bytes) => Ok(Some(metadata::parse(&bytes)?)),
        None => Ok(None),
    }
}

/// Reads only the tags of the standards that a change declares, whatever else is wrong with the file (spec `cli-core` 9.4).
#[must_use]
pub fn declared_tags(change: &ChangeDir) -> Vec<String> {
    let bytes = read_if_there(&change.metadata(), Limit::CONFIG).ok().flatten();
    metadata::declared_tags(&bytes.unwrap_or_default())
}
