//! Which folders the status of a batch depends on. Whoever hears of news in them looks again. No polling.

use std::path::PathBuf;

use ratchet_engine::name::BatchName;

use crate::store::layout::{Layout, RunHome};

/// Gives everything that the status of some batches depends on: manifests, run states, the settings, the changes. To be
/// asked for and listened to (`ratchet_spawn::Folders`) before each look, because folders come and go.
pub fn folders<'a>(
    layout: &Layout,
    batches: impl IntoIterator<Item = &'a BatchName>,
) -> Vec<PathBuf> {
    let mut folders =
        vec![layout.ratchet(), layout.changes(), layout.changes_archive(), layout.batches()];
    for batch in batches {
        folders.push(layout.batch(batch));
        folders.push(layout.run(&RunHome::Batch(batch.clone())).dir().to_owned());
    }
    folders.extend(changes(layout));
    folders
}

/// A change is looked at by its plan, which lies directly in its folder.
fn changes(layout: &Layout) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(layout.changes()) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}
