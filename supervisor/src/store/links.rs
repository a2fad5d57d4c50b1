//! Links between features and standards, kept in both directions (spec `cli-core` 9.4): a `.ratchet.yaml` in each
//! capability says which standards its features follow, and each standard ends with the features that follow it.
//!
//! The first kind is part of the store and changes with it ([`super::swap`]); the second is made from all of the first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ratchet_engine::links::Links;
use ratchet_engine::standard;

use super::change::names_in;
use super::features::FeatureChanges;
use super::file::{self, FileError, Limit, read_if_there};
use super::layout::{ChangeDir, LINKS, Layout};
use super::metadata::declared_tags;
use super::swap::Edit;

/// Finds out how the links of the store change: each feature of the change gets just the change's tags, and what the
/// change removes loses its own. A change that declares none touches only what it removes (Q22).
pub(crate) fn edits(
    layout: &Layout,
    change: &ChangeDir,
    changes: &FeatureChanges,
) -> Result<Vec<Edit>, FileError> {
    let tags = declared_tags(change);
    let features = [&changes.added, &changes.overwritten, &changes.unchanged].into_iter().flatten();
    let features = features.filter(|path| !tags.is_empty() && !changes.deleted.contains(path));
    let mut by_capability: BTreeMap<PathBuf, Vec<(String, Vec<String>)>> = BTreeMap::new();
    let new = features.map(|path| (path, tags.clone()));
    let gone = changes.deleted.iter().map(|path| (path, Vec::new()));
    for (path, tags) in new.chain(gone) {
        let (capability, feature) = split(path);
        by_capability.entry(capability).or_default().push((feature, tags));
    }
    let mut edits = Vec::new();
    for (capability, features) in by_capability {
        let path = capability.join(LINKS);
        let bytes = read_if_there(&layout.features().join(&path), Limit::CONFIG)?;
        let before = Links::parse(bytes.as_deref().unwrap_or_default());
        let mut after = before.clone();
        for (feature, tags) in features {
            after.set(&feature, tags);
        }
        if after != before {
            edits.push(Edit { path, content: after.render().map(String::into_bytes) });
        }
    }
    Ok(edits)
}

/// Makes the list at the end of each standard anew, from all links of the store. A standard that cannot be read, or
/// whose list is right, is not touched.
pub(crate) fn rebuild(layout: &Layout) -> Result<(), FileError> {
    let followers = followers(layout)?;
    let folder = layout.standards();
    for name in names_in(&folder)? {
        let path = folder.join(&name);
        let Some(stem) = name.strip_suffix(".md") else { continue };
        let bytes = read_if_there(&path, Limit::TEXT).ok().flatten();
        let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) else { continue };
        let tag = standard::read(stem, &text).tag;
        let features: Vec<String> = followers.get(&tag).into_iter().flatten().cloned().collect();
        let new = standard::with_features(&text, &features);
        if new != text {
            file::replace(&path, new.as_bytes())?;
        }
    }
    Ok(())
}

/// Collects the features that follow each standard, by its tag.
fn followers(layout: &Layout) -> Result<BTreeMap<String, BTreeSet<String>>, FileError> {
    let mut followers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let store = layout.features();
    let capabilities = names_in(&store)?.into_iter().filter(|name| store.join(name).is_dir());
    for capability in std::iter::once(String::new()).chain(capabilities) {
        let path = store.join(&capability).join(LINKS);
        let bytes = read_if_there(&path, Limit::CONFIG).ok().flatten().unwrap_or_default();
        for (feature, tag) in Links::parse(&bytes).iter() {
            // A link outlives a feature that somebody removed by hand; the list does not tell of it.
            if fs::exists(store.join(&capability).join(feature)).unwrap_or(false) {
                let feature = Path::new(&capability).join(feature).display().to_string();
                followers.entry(tag.to_owned()).or_default().insert(feature);
            }
        }
    }
    Ok(followers)
}

/// Cuts a path of the store into its capability and the rest. A feature beside the capabilities has none.
fn split(path: &Path) -> (PathBuf, String) {
    let mut parts = path.components();
    let first = parts.next().map(|part| PathBuf::from(part.as_os_str())).unwrap_or_default();
    let rest = parts.as_path();
    match rest.as_os_str().is_empty() {
        true => (PathBuf::new(), first.display().to_string()),
        false => (first, rest.display().to_string()),
    }
}
