//! Paths in JSON. A path may hold any bytes and JSON only text, so that what is no UTF-8 is replaced: an answer that is a
//! little wrong about a name beats none about work that was done.

use std::path::Path;

use serde::Serializer;

/// Serializes a path as text.
pub(crate) fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Serializes a path that may be missing.
pub(crate) fn optional_path<S: Serializer>(
    path: &Option<impl AsRef<Path>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(found) => self::path(found.as_ref(), serializer),
        None => serializer.serialize_none(),
    }
}
