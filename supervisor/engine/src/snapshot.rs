//! All the facts a decision may use, and nothing else.

use std::collections::BTreeMap;

use crate::change::ChangeFacts;
use crate::fold::JournalView;
use crate::manifest::Manifest;
use crate::name::{BatchName, ChangeName, StepKey};
use crate::park::Park;
use crate::settings::Settings;

/// One batch as it stands on disk at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The folder's name.
    pub batch: BatchName,
    /// What is wanted.
    pub manifest: Manifest,
    /// How it is to be done.
    pub settings: Settings,
    /// What has happened.
    pub journal: JournalView,
    /// For every change of the manifest the state of its folder.
    pub changes: BTreeMap<ChangeName, ChangeFacts>,
    /// What waits for a person.
    pub parks: BTreeMap<StepKey, Park>,
}
