//! Journal entries folded, oldest first, into what the decisions need (spec `step-and-outcome` 9.5).
//!
//! The fold is total: no order of entries is an error. It is also incremental: a view can be kept and given the lines that
//! were appended since.

use std::collections::{BTreeMap, BTreeSet};

use memchr::{memchr_iter, memmem};

use crate::journal::{EntryKind, ReadEntry, parse_line};
use crate::name::StepKey;
use crate::proof::ProofRecord;
use crate::transition::StepKind;

#[cfg(test)]
mod tests;

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

impl JournalView {
    /// Folds entries that have been read.
    pub fn fold<'a>(entries: impl IntoIterator<Item = ReadEntry<'a>>) -> Self {
        let mut view = Self::default();
        for entry in entries {
            view.apply(&entry);
        }
        view
    }

    /// Folds one more entry in. An entry without a key says nothing about anybody.
    pub fn apply(&mut self, entry: &ReadEntry<'_>) {
        let Some(kind) = entry.kind() else { return };
        match kind {
            EntryKind::Completion => self.apply_completion(entry),
            EntryKind::ProofOfWork => {
                if let Some(proof) = &entry.proof {
                    self.proofs.insert(proof.phase.clone(), proof.clone());
                }
            }
            EntryKind::ProofOfWorkInvalidated => {
                if let Some(phase) = StepKey::from_text(&entry.change).proof_phase() {
                    self.proofs.remove(phase);
                }
            }
            EntryKind::Progress
            | EntryKind::Blocker
            | EntryKind::NeedsInput
            | EntryKind::Answer
            | EntryKind::Reject => {}
        }
    }

    /// Folds whole lines in, `\n` between them. A last line without its `\n` counts if it is a whole entry; a caller that
    /// will read on from here must hold it back, or it may be read twice.
    ///
    /// Most lines of a long journal are reports that change nothing; they are recognised without being parsed.
    pub fn apply_lines(&mut self, lines: &[u8]) {
        let telling = Telling::new();
        let mut start = 0;
        for end in memchr_iter(b'\n', lines).chain([lines.len()]) {
            let line = &lines[start..end];
            start = (end + 1).min(lines.len());
            if telling.may_tell(line)
                && let Some(entry) = parse_line(line)
            {
                self.apply(&entry);
            }
        }
    }

    fn apply_completion(&mut self, entry: &ReadEntry<'_>) {
        if entry.change.is_empty() {
            return;
        }
        match entry.transition {
            Some(StepKind::Verify) => {
                self.verified.insert(StepKey::from_text(&entry.change));
            }
            Some(StepKind::Pr) => {
                self.opened_pull_requests.insert(StepKey::from_text(&entry.change));
            }
            Some(StepKind::Propose | StepKind::Apply | StepKind::Decompose) | None => {}
        }
    }
}

/// Recognises lines that cannot change a view: those that neither spell one of the telling words nor have an escape that
/// could hide one.
struct Telling<'a>([memmem::Finder<'a>; 3]);

impl Telling<'_> {
    fn new() -> Self {
        Self(
            ["transition", "proof-of-work", "\\u"].map(|word| memmem::Finder::new(word.as_bytes())),
        )
    }

    fn may_tell(&self, line: &[u8]) -> bool {
        self.0.iter().any(|word| word.find(line).is_some())
    }
}
