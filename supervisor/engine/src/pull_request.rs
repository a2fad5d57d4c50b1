//! How finished work is cut into pull requests, and what each is based on (spec `batch-manifest-and-settings` 10).
//! Whether one is due is [`crate::selection`]'s question; asking git is `ratchet-supervisor`'s.

use std::collections::BTreeSet;

use crate::decide::{Branches, Group};
use crate::manifest::{Manifest, Phase};
use crate::name::{BatchName, ChangeName, StepKey};
use crate::settings::PrGrouping;

/// The branch that stands in when git names none.
const FALLBACK_BRANCH: &str = "main";

/// One pull request to open: which changes, framed by which phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary {
    /// Position, from 0, without gaps.
    pub index: usize,
    /// What it covers.
    pub kind: BoundaryKind,
    /// Batch, phase or change name; for a stacked one also its branch.
    pub group_id: String,
    /// The changes it covers, in order; never empty.
    pub changes: Vec<ChangeName>,
    /// Where in the manifest the last of them is: the index of its phase.
    pub phase: usize,
}

/// What one pull request covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryKind {
    /// Everything.
    Batch,
    /// One phase.
    Phase,
    /// One change.
    Change,
}

/// Cuts a batch into pull requests, in the order in which they are opened. Phases without changes leave no gap.
#[must_use]
pub fn boundaries(manifest: &Manifest, batch: &BatchName, grouping: PrGrouping) -> Vec<Boundary> {
    let filled = || manifest.phases.iter().enumerate().filter(|(_, p)| !p.changes.is_empty());
    let cut: Vec<(BoundaryKind, &str, Vec<ChangeName>, usize)> = match grouping {
        PrGrouping::Off => Vec::new(),
        PrGrouping::WholeBatch => match filled().next_back() {
            None => Vec::new(),
            Some((last, _)) => {
                let all = filled().flat_map(|(_, phase)| names(phase)).collect();
                vec![(BoundaryKind::Batch, batch.as_str(), all, last)]
            }
        },
        PrGrouping::PerPhase => filled()
            .map(|(at, phase)| {
                (BoundaryKind::Phase, phase.name.as_str(), names(phase).collect(), at)
            })
            .collect(),
        PrGrouping::PerChange => filled()
            .flat_map(|(at, phase)| phase.changes.iter().map(move |change| (at, change)))
            .map(|(at, change)| {
                (BoundaryKind::Change, change.name.as_str(), vec![change.name.clone()], at)
            })
            .collect(),
    };
    cut.into_iter()
        .enumerate()
        .map(|(index, (kind, group_id, changes, phase))| Boundary {
            index,
            kind,
            group_id: group_id.to_owned(),
            changes,
            phase,
        })
        .collect()
}

/// Finds the first pull request that has not been opened.
///
/// Any opened one counts for the one over the whole batch; a group's counts by its own key (spec
/// `batch-status-and-selection` 5).
#[must_use]
pub fn first_unopened<'a>(
    boundaries: &'a [Boundary],
    batch: &BatchName,
    opened: &BTreeSet<StepKey>,
) -> Option<&'a Boundary> {
    boundaries.iter().find(|boundary| match boundary.kind {
        BoundaryKind::Batch => opened.is_empty(),
        BoundaryKind::Phase | BoundaryKind::Change => !opened.contains(&boundary.key(batch)),
    })
}

/// Gives the group of a boundary in its stack; `None` for the pull request over the whole batch.
#[must_use]
pub fn group(boundaries: &[Boundary], boundary: &Boundary) -> Option<Group> {
    match boundary.kind {
        BoundaryKind::Batch => None,
        BoundaryKind::Phase | BoundaryKind::Change => Some(Group {
            index: boundary.index,
            id: boundary.group_id.clone(),
            stacked_on: boundary
                .index
                .checked_sub(1)
                .and_then(|below| boundaries.get(below))
                .map(|below| below.group_id.clone()),
        }),
    }
}

impl Boundary {
    /// Returns the change that completes this group.
    #[must_use]
    pub fn trigger(&self) -> &ChangeName {
        self.changes.last().expect("a boundary is cut from at least one change")
    }

    /// Gives the key of its journal entries and its park.
    #[must_use]
    pub fn key(&self, batch: &BatchName) -> StepKey {
        match self.kind {
            BoundaryKind::Batch => StepKey::of_pull_request(batch),
            BoundaryKind::Phase | BoundaryKind::Change => {
                StepKey::of_group_pull_request(batch, &self.group_id)
            }
        }
    }
}

impl Branches {
    /// Chooses the branches of a pull request.
    ///
    /// `head` is what `git rev-parse --abbrev-ref HEAD` says, `origin_head` what
    /// `git symbolic-ref --short refs/remotes/origin/HEAD` says; `None` if it failed.
    #[must_use]
    pub fn of(group: Option<&Group>, head: Option<&str>, origin_head: Option<&str>) -> Self {
        let named = |text: Option<&str>| {
            text.map(str::trim)
                .filter(|text| !text.is_empty())
                .unwrap_or(FALLBACK_BRANCH)
                .to_owned()
        };
        let default_base = named(origin_head.map(|text| {
            let text = text.trim();
            text.strip_prefix("origin/").unwrap_or(text)
        }));
        match group {
            None => Self { work: named(head), base: default_base },
            Some(Group { id, stacked_on, .. }) => {
                Self { work: id.clone(), base: stacked_on.clone().unwrap_or(default_base) }
            }
        }
    }
}

fn names(phase: &Phase) -> impl Iterator<Item = ChangeName> {
    phase.changes.iter().map(|change| change.name.clone())
}

#[cfg(test)]
mod tests;
