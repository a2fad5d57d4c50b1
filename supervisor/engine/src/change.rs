//! What the disk says about a change, and the one definition of done (spec `batch-status-and-selection` 2).
//!
//! Tasks are counted here, from the text of a plan; reading the plan is the store's. Who may run what next is decided in
//! [`crate::transition`] and [`crate::selection`].

use serde::{Deserialize, Serialize};

use crate::fold::JournalView;
use crate::name::StepKey;
use crate::park::{Park, ParkKind};
use crate::transition::StepKind;

#[cfg(test)]
mod tests;

/// The state of a change's folder, read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeFacts {
    /// The folder exists and is not archived.
    pub exists: bool,
    /// An archived folder of this name exists.
    pub archived: bool,
    /// `plan.md` is there.
    pub has_plan: bool,
    /// Tasks in the plan.
    pub tasks_total: u64,
    /// Ticked tasks in the plan.
    pub tasks_complete: u64,
}

impl ChangeFacts {
    /// Says whether every task of the plan is ticked. An archived change counts as applied, a plan without tasks does not.
    #[must_use]
    pub fn applied(&self) -> bool {
        let all_ticked = self.tasks_total > 0 && self.tasks_complete == self.tasks_total;
        self.archived || (self.has_plan && all_ticked)
    }
}

/// Says whether a change is done: archived, or applied with a journaled verify and no approval open on that verify
/// (seeds; OQ-4). `key` is the change's own key, `park` its park, if it has one.
#[must_use]
pub fn is_done(
    facts: &ChangeFacts,
    key: &StepKey,
    journal: &JournalView,
    park: Option<&Park>,
) -> bool {
    facts.archived
        || (facts.applied() && journal.verified.contains(key) && !park.is_some_and(holds_verify))
}

/// Counts all tasks and the ticked tasks of a plan (OQ-33): list items (`-`, `*`, `+`, `1.`, `1)`) at any indentation,
/// outside fenced code, that begin with a box. `[x]` and `[X]` are ticked; `[ ]` and any other single mark are not.
///
/// A fence that is never closed hides nothing: an open task must not get lost behind a forgotten line of backticks.
#[must_use]
pub fn count_tasks(text: &str) -> (u64, u64) {
    let mut tally = Tally::default();
    let mut fence: Option<(Fence, Tally)> = None;
    for line in text.strip_prefix('\u{feff}').unwrap_or(text).split(['\n', '\r']) {
        let line = line.trim_start_matches([' ', '\t']);
        match (&mut fence, Fence::at_start_of(line)) {
            (None, Some((open, _))) => fence = Some((open, Tally::default())),
            (Some((open, _)), Some((close, Rest::Blank))) if close.closes(open) => fence = None,
            (Some((_, hidden)), _) => hidden.count(line),
            (None, None) => tally.count(line),
        }
    }
    if let Some((_, hidden)) = fence {
        tally.total += hidden.total;
        tally.ticked += hidden.ticked;
    }
    (tally.total, tally.ticked)
}

/// A park on a verify that nobody has approved. A park without a transition is the original tool's, which journals such
/// a verify as finished and ignores its park.
fn holds_verify(park: &Park) -> bool {
    park.kind == ParkKind::AwaitingApproval
        && park.approved != Some(true)
        && park.transition == Some(StepKind::Verify)
}

#[derive(Default)]
struct Tally {
    total: u64,
    ticked: u64,
}

impl Tally {
    /// Counts one line, from which the indentation has been taken.
    fn count(&mut self, line: &str) {
        if let Some(ticked) = after_bullet(line).and_then(read_box) {
            self.total += 1;
            self.ticked += u64::from(ticked == Tick::Ticked);
        }
    }
}

/// Returns what follows the bullet and its white space.
fn after_bullet(line: &str) -> Option<&str> {
    let bytes = line.as_bytes();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let bullet = match bytes.get(digits)? {
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    let rest = &line[bullet..];
    let item = rest.trim_start_matches([' ', '\t']);
    (item.len() < rest.len()).then_some(item)
}

#[derive(PartialEq)]
enum Tick {
    Ticked,
    Open,
}

/// Reads the box at the start of a list item. Marks other than the usual three need white space behind the box, so that
/// a link (`[a](b)`) is no task.
fn read_box(item: &str) -> Option<Tick> {
    let mut chars = item.strip_prefix('[')?.chars();
    let mark = chars.next()?;
    if chars.next()? != ']' {
        return None;
    }
    match mark {
        'x' | 'X' => Some(Tick::Ticked),
        ' ' => Some(Tick::Open),
        '[' | ']' => None,
        _ if chars.next().is_none_or(char::is_whitespace) => Some(Tick::Open),
        _ => None,
    }
}

/// A line of three or more backticks or tildes.
struct Fence {
    mark: u8,
    len: usize,
}

enum Rest {
    Blank,
    Text,
}

impl Fence {
    fn at_start_of(line: &str) -> Option<(Self, Rest)> {
        let mark = *line.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let len = line.bytes().take_while(|byte| *byte == mark).count();
        let rest = &line[len..];
        // Backticks on both ends are inline code, not a fence.
        if len < 3 || (mark == b'`' && rest.contains('`')) {
            return None;
        }
        let rest = if rest.trim().is_empty() { Rest::Blank } else { Rest::Text };
        Some((Self { mark, len }, rest))
    }

    fn closes(&self, open: &Self) -> bool {
        self.mark == open.mark && self.len >= open.len
    }
}
