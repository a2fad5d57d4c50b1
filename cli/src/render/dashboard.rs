//! All changes and capabilities at a glance, as text (spec `cli-core` 7.6).

use ratchet_engine::status::Progress;
use ratchet_supervisor::project::{ListedChange, WorkState};

use super::bar::{WIDE, bar, percent};
use super::page::{Page, Tone};
use crate::commands::view::Overview;

/// Draws the overview.
pub(crate) fn overview(page: &mut Page, overview: &Overview) {
    let changes = &overview.changes;
    let of = |state| changes.iter().filter(move |change| change.status == state);
    let (drafts, done) = (of(WorkState::NoTasks), of(WorkState::Complete));
    let mut active: Vec<&ListedChange> = of(WorkState::InProgress).collect();
    active.sort_by_key(|change| percent(progress(change)));
    page.tone(Tone::Heading, "Summary").end();
    let features: usize = overview.specs.iter().map(|spec| spec.features).sum();
    let tasks = changes
        .iter()
        .map(progress)
        .fold((0, 0), |(completed, total), one| (completed + one.completed, total + one.total));
    page.put(format_args!("  Capabilities: {} with {features} features", overview.specs.len()))
        .end();
    page.put(format_args!(
        "  Changes: {} in draft, {} active, {} completed",
        drafts.clone().count(),
        active.len(),
        done.clone().count()
    ))
    .end();
    page.put(format_args!("  Tasks: {}/{} done", tasks.0, tasks.1)).end();
    names(page, "Draft", "○", Tone::Dim, drafts);
    if !active.is_empty() {
        page.gap().tone(Tone::Heading, "Active").end();
        let width = active.iter().map(|change| change.name.as_str().chars().count()).max();
        let width = width.unwrap_or_default();
        for change in active {
            let progress = progress(change);
            page.put(format_args!("  {:<width$}  ", change.name.as_str()));
            page.tone(Tone::Busy, bar(progress, WIDE));
            page.put(format_args!(" {:>3}%", percent(progress))).end();
        }
    }
    names(page, "Completed", "✓", Tone::Good, done);
    if !overview.specs.is_empty() {
        page.gap().tone(Tone::Heading, "Features").end();
        let mut specs: Vec<_> = overview.specs.iter().collect();
        specs.sort_by_key(|spec| std::cmp::Reverse(spec.features));
        for spec in specs {
            let noun = if spec.features == 1 { "feature" } else { "features" };
            page.put(format_args!("  ▪ {}  {} {noun}", spec.id, spec.features)).end();
        }
    }
}

fn names<'a>(
    page: &mut Page,
    title: &str,
    sign: &str,
    tone: Tone,
    changes: impl Iterator<Item = &'a ListedChange> + Clone,
) {
    if changes.clone().next().is_none() {
        return;
    }
    page.gap().tone(Tone::Heading, title).end();
    for change in changes {
        page.put("  ").tone(tone, sign).put(format_args!(" {}", change.name)).end();
    }
}

fn progress(change: &ListedChange) -> Progress {
    Progress { total: change.total_tasks, completed: change.completed_tasks }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::name::ChangeName;
    use ratchet_engine::time::Timestamp;
    use ratchet_supervisor::project::ListedSpec;

    use super::*;
    use crate::render::page::Ink;
    use crate::schemas::assert_fits;

    fn change(
        name: &str,
        completed_tasks: u64,
        total_tasks: u64,
        status: WorkState,
    ) -> ListedChange {
        let last_modified = Timestamp::from_unix_ms(0);
        let name = ChangeName::parse(name).unwrap();
        ListedChange { name, completed_tasks, total_tasks, last_modified, status }
    }

    // C-K17
    #[test]
    fn work_is_sorted_by_progress_and_capabilities_by_size() {
        let found = Overview {
            changes: vec![
                change("a-far", 3, 4, WorkState::InProgress),
                change("b-near", 1, 4, WorkState::InProgress),
                change("c-near", 1, 4, WorkState::InProgress),
                change("done", 2, 2, WorkState::Complete),
                change("draft", 0, 0, WorkState::NoTasks),
            ],
            specs: vec![
                ListedSpec { id: "cart".into(), features: 1 },
                ListedSpec { id: "shop".into(), features: 3 },
            ],
        };
        let mut page = Page::new(Ink::Plain);
        overview(&mut page, &found);
        insta::assert_snapshot!(page.finish(), @r"
        Summary
          Capabilities: 2 with 4 features
          Changes: 1 in draft, 3 active, 1 completed
          Tasks: 7/14 done

        Draft
          ○ draft

        Active
          b-near  █████░░░░░░░░░░░░░░░  25%
          c-near  █████░░░░░░░░░░░░░░░  25%
          a-far   ███████████████░░░░░  75%

        Completed
          ✓ done

        Features
          ▪ shop  3 features
          ▪ cart  1 feature
        ");
        assert_fits("overview", &found);
    }
}
