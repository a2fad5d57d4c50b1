//! Paths in JSON. A path may hold any bytes and JSON only text, so that what is no UTF-8 is replaced: an answer that is a
//! little wrong about a name beats none about work that was done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

/// Serializes a list of paths as texts.
pub(crate) fn paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// Serializes lists of paths by their keys.
pub(crate) fn path_lists<S: Serializer>(
    lists: &BTreeMap<String, Vec<PathBuf>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let texts = |paths: &Vec<PathBuf>| -> Vec<String> {
        paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    };
    serializer.collect_map(lists.iter().map(|(key, paths)| (key, texts(paths))))
}
