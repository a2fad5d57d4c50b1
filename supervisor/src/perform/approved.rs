//! What a person approved may have changed since. The next step says so (OQ-2); it is not held up.

use ratchet_engine::journal::{EntryKind, ReadEntry};
use ratchet_engine::name::ChangeName;
use ratchet_engine::transition::StepKind;

use crate::house::House;
use crate::store::approved::approval_hash;

/// Says that what was approved last is no longer what is there. Only the step right after an approval is told.
pub(super) fn note(
    house: &House,
    change: &ChangeName,
    entries: &[ReadEntry<'_>],
) -> Option<String> {
    let approval = last_word(entries)?;
    let now = approval_hash(house.project.layout(), change, approval.kind);
    (now != approval.hash).then(|| match approval.kind {
        Some(StepKind::Propose) => {
            format!("the plan or the features of '{change}' changed after they were approved")
        }
        _ => format!("the work tree changed after the result of '{change}' was approved"),
    })
}

struct Approval<'a> {
    hash: &'a str,
    /// What was approved: the step that was concluded before it.
    kind: Option<StepKind>,
}

/// Finds the approval that no step has followed yet.
fn last_word<'a>(entries: &'a [ReadEntry<'_>]) -> Option<Approval<'a>> {
    let (at, hash) = entries.iter().enumerate().rev().find_map(|(at, entry)| {
        Some((at, entry.approved.as_deref().filter(|_| entry.kind() == Some(EntryKind::Answer))?))
    })?;
    let followed = entries[at + 1..].iter().any(|entry| entry.spawn.is_some());
    let kind = entries[..at].iter().rev().find_map(|entry| entry.transition);
    (!followed).then_some(Approval { hash, kind })
}
