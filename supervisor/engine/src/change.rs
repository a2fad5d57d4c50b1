//! What the disk says about a change, and the one definition of done (spec `batch-status-and-selection` 2).
//!
//! Tasks are counted here, from the text of a plan; reading the plan is the store's. Who may run what next is decided in
//! [`crate::transition`] and [`crate::selection`].

use serde::{Deserialize, Serialize};

use crate::fold::JournalView;
use crate::markdown::{Fence, Rest};
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

/// One task of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What follows the box.
    pub description: String,
    /// Whether the box is ticked.
    pub done: bool,
}

/// Counts all tasks and the ticked tasks of a plan; see [`tasks`].
#[must_use]
pub fn count_tasks(text: &str) -> (u64, u64) {
    let tasks = tasks(text);
    let ticked = tasks.iter().filter(|task| task.done).count();
    (tasks.len() as u64, ticked as u64)
}

/// Reads the tasks of a plan (OQ-33): list items (`-`, `*`, `+`, `1.`, `1)`) at any indentation, outside fenced code,
/// that begin with a box. `[x]` and `[X]` are ticked; `[ ]` and any other single mark are not.
///
/// A fence that is never closed hides nothing: an open task must not get lost behind a forgotten line of backticks.
#[must_use]
pub fn tasks(text: &str) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut fence: Option<(Fence, Vec<Task>)> = None;
    for line in text.strip_prefix('\u{feff}').unwrap_or(text).split(['\n', '\r']) {
        let line = line.trim_start_matches([' ', '\t']);
        match (&mut fence, Fence::at_start_of(line)) {
            (None, Some((open, _))) => fence = Some((open, Vec::new())),
            (Some((open, _)), Some((close, Rest::Blank))) if close.closes(open) => fence = None,
            (Some((_, hidden)), _) => hidden.extend(task(line)),
            (None, None) => tasks.extend(task(line)),
        }
    }
    tasks.extend(fence.into_iter().flat_map(|(_, hidden)| hidden));
    tasks
}

/// A park on a verify that nobody has approved. A park without a transition is the original tool's, which journals such
/// a verify as finished and ignores its park.
fn holds_verify(park: &Park) -> bool {
    park.kind == ParkKind::AwaitingApproval
        && park.approved != Some(true)
        && park.transition == Some(StepKind::Verify)
}

/// Reads one line, from which the indentation has been taken.
fn task(line: &str) -> Option<Task> {
    let (tick, text) = after_bullet(line).and_then(read_box)?;
    Some(Task { description: text.trim().to_owned(), done: tick == Tick::Ticked })
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

/// Reads the box at the start of a list item, and what follows. Marks other than the usual three need white space behind
/// the box, so that a link (`[a](b)`) is no task.
fn read_box(item: &str) -> Option<(Tick, &str)> {
    let mut chars = item.strip_prefix('[')?.chars();
    let mark = chars.next()?;
    if chars.next()? != ']' {
        return None;
    }
    let rest = chars.as_str();
    match mark {
        'x' | 'X' => Some((Tick::Ticked, rest)),
        ' ' => Some((Tick::Open, rest)),
        '[' | ']' => None,
        _ if chars.next().is_none_or(char::is_whitespace) => Some((Tick::Open, rest)),
        _ => None,
    }
}
