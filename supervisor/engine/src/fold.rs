//! Journal entries folded, oldest first, into what the decisions need.

use std::collections::{BTreeMap, BTreeSet};

use crate::name::StepKey;
use crate::proof::ProofRecord;

/// What a whole journal amounts to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JournalView {
    /// Keys with a journaled verify completion.
    pub verified: BTreeSet<StepKey>,
    /// Keys (`pr:…`) of pull requests that were opened.
    pub opened_pull_requests: BTreeSet<StepKey>,
    /// For each phase its current proof record; an invalidated one is absent.
    pub proofs: BTreeMap<String, ProofRecord>,
}
