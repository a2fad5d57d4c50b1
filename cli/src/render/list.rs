//! `batch list` as text (spec `batch-status-and-selection` 7.3).

use ratchet_supervisor::project::{InvalidRow, ListRow, ListedBatch};

use super::bar::{WIDE, bar, percent};
use super::page::{Page, Tone};
use super::status::batch_state;

/// Draws one row for each batch.
pub(crate) fn list(page: &mut Page, rows: &[ListRow]) {
    if rows.is_empty() {
        page.put("No batches found. Create one with 'ratchet new batch <name>'.").end();
        return;
    }
    let width = rows.iter().map(|row| name(row).chars().count()).max().unwrap_or_default();
    for row in rows {
        page.put(format_args!("{:<width$}  ", name(row)));
        match row {
            ListRow::Batch(batch) => self::batch(page, batch),
            ListRow::Invalid(InvalidRow { error, .. }) => {
                page.tone(Tone::Bad, "✗ invalid: ").put(in_one_line(error));
            }
        }
        page.end();
    }
}

fn batch(page: &mut Page, batch: &ListedBatch) {
    let (tone, state) = batch_state(batch.status);
    let changes = if batch.change_count == 1 { "change" } else { "changes" };
    page.tone(tone, bar(batch.progress, WIDE)).put(format_args!(
        " {:>3}%  {} {changes}  ",
        percent(batch.progress),
        batch.change_count
    ));
    page.tone(tone, state);
}

/// Keeps a table's row a row: what is wrong first, and how many more lines `validate` has.
fn in_one_line(error: &str) -> String {
    let mut lines = error.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = [lines.next(), lines.next()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    match lines.count() {
        0 => first,
        more => format!("{first} (and {more} more)"),
    }
}

fn name(row: &ListRow) -> &str {
    match row {
        ListRow::Batch(batch) => batch.name.as_str(),
        ListRow::Invalid(row) => row.name.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::name::BatchName;
    use ratchet_engine::status::{BatchState, Progress};

    use super::*;
    use crate::commands::batch::list::Batches;
    use crate::render::page::Ink;
    use crate::schemas::assert_fits;

    fn listed(name: &str, change_count: usize, progress: Progress) -> ListRow {
        ListRow::Batch(ListedBatch {
            name: BatchName::parse(name).unwrap(),
            change_count,
            done_count: 0,
            progress,
            status: BatchState::InProgress,
        })
    }

    // B-V22
    #[test]
    fn each_batch_has_a_row_and_a_broken_one_hides_no_other() {
        let rows = vec![
            listed("atelier", 1, Progress { total: 0, completed: 0 }),
            ListRow::Invalid(InvalidRow {
                name: BatchName::parse("b").unwrap(),
                status: "invalid",
                error: "Invalid batch manifest:\n  phases: expected a list\n  x: y\n  z: z".into(),
            }),
            listed("shop", 4, Progress { total: 12, completed: 5 }),
        ];
        let mut page = Page::new(Ink::Plain);
        list(&mut page, &rows);
        insta::assert_snapshot!(page.finish(), @r"
        atelier  ────────────────────   0%  1 change  in-progress
        b        ✗ invalid: Invalid batch manifest: phases: expected a list (and 2 more)
        shop     ████████░░░░░░░░░░░░  42%  4 changes  in-progress
        ");
        assert_fits("list", &Batches { batches: rows });
    }

    // B-V22
    #[test]
    fn no_batch_gives_the_command_that_makes_one() {
        let mut page = Page::new(Ink::Plain);
        list(&mut page, &[]);
        assert_eq!(
            page.finish(),
            "No batches found. Create one with 'ratchet new batch <name>'.\n"
        );
    }
}
