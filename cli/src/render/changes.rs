//! Lists of changes and of capabilities, as text (spec `cli-core` 7.5).

use ratchet_engine::time::Timestamp;
use ratchet_supervisor::project::{ListedChange, ListedSpec, WorkState};

use super::page::{Page, Tone};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Draws the changes.
pub(crate) fn list(page: &mut Page, changes: &[ListedChange], now: Timestamp) {
    if changes.is_empty() {
        page.put("No active changes found.").end();
        return;
    }
    page.tone(Tone::Heading, "Changes:").end();
    let width = widest(changes.iter().map(|change| change.name.as_str()));
    for change in changes {
        let (tone, tasks) = tasks(change);
        page.put(format_args!("  {:<width$}  ", change.name.as_str()));
        page.tone(tone, format_args!("{tasks:<12}"));
        page.tone(Tone::Dim, format_args!("  {}", age(change.last_modified, now))).end();
    }
}

/// Draws the capabilities.
pub(crate) fn specs(page: &mut Page, specs: &[ListedSpec]) {
    if specs.is_empty() {
        page.put("No features found.").end();
        return;
    }
    page.tone(Tone::Heading, "Features:").end();
    let width = widest(specs.iter().map(|spec| spec.id.as_str()));
    for spec in specs {
        let noun = if spec.features == 1 { "feature" } else { "features" };
        page.put(format_args!("  {:<width$}  {} {noun}", spec.id, spec.features)).end();
    }
}

/// Says how far a change's tasks are.
fn tasks(change: &ListedChange) -> (Tone, String) {
    match change.status {
        WorkState::NoTasks => (Tone::Dim, "No tasks".to_owned()),
        WorkState::Complete => (Tone::Good, "✓ Complete".to_owned()),
        WorkState::InProgress => {
            (Tone::Busy, format!("{}/{} tasks", change.completed_tasks, change.total_tasks))
        }
    }
}

/// Says how long ago something was; from a month on, the day.
fn age(then: Timestamp, now: Timestamp) -> String {
    match now.unix_ms().saturating_sub(then.unix_ms()) {
        ..MINUTE => "just now".to_owned(),
        ms @ MINUTE..HOUR => format!("{}m ago", ms / MINUTE),
        ms @ HOUR..DAY => format!("{}h ago", ms / HOUR),
        ms if ms <= 30 * DAY => format!("{}d ago", ms / DAY),
        _ => then.date(),
    }
}

fn widest<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use ratchet_engine::name::ChangeName;

    use super::*;
    use crate::render::page::Ink;

    fn change(name: &str, done: u64, total: u64, status: WorkState, age: i64) -> ListedChange {
        ListedChange {
            name: ChangeName::parse(name).unwrap(),
            completed_tasks: done,
            total_tasks: total,
            last_modified: Timestamp::from_unix_ms(100 * DAY - age),
            status,
        }
    }

    // C-K07 C-K16
    #[test]
    fn a_change_has_a_row_with_its_tasks_and_its_age() {
        let rows = [
            change("draft", 0, 0, WorkState::NoTasks, 0),
            change("add-cart", 2, 5, WorkState::InProgress, 61 * MINUTE),
            change("done", 3, 3, WorkState::Complete, 5 * MINUTE),
            change("older", 0, 1, WorkState::InProgress, 30 * DAY),
            change("oldest", 0, 1, WorkState::InProgress, 31 * DAY),
        ];
        let mut page = Page::new(Ink::Plain);
        list(&mut page, &rows, Timestamp::from_unix_ms(100 * DAY));
        insta::assert_snapshot!(page.finish(), @r"
        Changes:
          draft     No tasks      just now
          add-cart  2/5 tasks     1h ago
          done      ✓ Complete    5m ago
          older     0/1 tasks     30d ago
          oldest    0/1 tasks     1970-03-11
        ");
    }
}
