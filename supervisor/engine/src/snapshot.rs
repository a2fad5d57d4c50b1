//! All the facts a decision may use, and nothing else. Reading them is `ratchet-supervisor`'s; drawing conclusions is
//! everybody else's here.

use std::collections::BTreeMap;

use crate::change::ChangeFacts;
use crate::fold::JournalView;
use crate::manifest::Manifest;
use crate::name::{BatchName, ChangeName, StepKey};
use crate::park::Park;
use crate::settings::Settings;
use crate::usage::Ledger;

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
    /// What its agents have used.
    pub usage: Ledger,
}

impl Snapshot {
    /// Returns the state of a change's folder; a change nobody has looked for has none.
    #[must_use]
    pub fn facts(&self, change: &ChangeName) -> ChangeFacts {
        self.changes.get(change).copied().unwrap_or_default()
    }

    /// Returns the live park of a key, unless a person has freed it.
    #[must_use]
    pub fn unresolved_park(&self, key: &StepKey) -> Option<&Park> {
        self.parks.get(key).filter(|park| park.is_unresolved())
    }
}
