//! Gathers all the facts about one batch, each file once. What follows from them is decided in the engine.

use ratchet_engine::manifest::Manifest;
use ratchet_engine::name::BatchName;
use ratchet_engine::settings::Settings;
use ratchet_engine::snapshot::Snapshot;
use ratchet_engine::time::Timestamp;

use super::file::FileError;
use super::layout::{Layout, RunHome};
use super::run_state::RunState;
use super::{change, journal, usage};

/// Reads what has happened to a batch whose manifest and settings are read already.
///
/// What waited for a moment that has come is left out: it holds nothing any more.
///
/// The run state is read before the changes: a step that ends in between is then seen as less far, never as further.
///
/// # Errors
/// Fails if something is there and cannot be read.
pub fn gather(
    layout: &Layout,
    batch: &BatchName,
    manifest: Manifest,
    settings: Settings,
    now: Timestamp,
) -> Result<Snapshot, FileError> {
    let run = layout.run(&RunHome::Batch(batch.clone()));
    let mut parks = RunState::read(&run)?.parks();
    parks.retain(|_, park| !park.is_over(now));
    let journal = journal::read_view(&run)?;
    let usage = usage::read(&run)?;
    let names = manifest.changes().map(|(_, change)| &change.name);
    let changes = change::facts(layout, names)?;
    Ok(Snapshot { batch: batch.clone(), manifest, settings, journal, changes, parks, usage })
}
