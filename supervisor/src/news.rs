//! Which folders a batch's status depends on. Whoever hears of news looks again. No polling.

use std::io;
use std::path::PathBuf;

use ratchet_engine::name::BatchName;
use ratchet_spawn::Folders;

use crate::store::layout::{Layout, RunHome};

/// Listens to everything that the status of a batch depends on: its manifest, its run state, the settings, the changes. To
/// be called before each look, because folders come and go.
pub(crate) fn listen(ears: &mut Folders, layout: &Layout, batch: &BatchName) -> io::Result<()> {
    let run = layout.run(&RunHome::Batch(batch.clone()));
    let mut folders = vec![
        layout.ratchet(),
        layout.changes(),
        layout.changes_archive(),
        layout.batches(),
        layout.batch(batch),
        run.dir().to_owned(),
    ];
    folders.extend(changes(layout));
    ears.listen_to(folders)
}

/// A change is looked at by its plan, which lies directly in its folder.
fn changes(layout: &Layout) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(layout.changes()) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}
