//! `ratchet batch archive`: a batch and its changes are put away (spec `batch-status-and-selection` 7.8).

use ratchet_engine::name::ChangeName;
use ratchet_supervisor::project::{ArchivedBatch, Project, unfinished};

use crate::args::Format;
use crate::args::batch::Archive;
use crate::ask;
use crate::commands::{Ended, failed, open};
use crate::exit::Exit;
use crate::render::page::{Page, Tone};
use crate::render::status::batch_state;
use crate::ui::Ui;

/// Puts a batch away.
pub(super) fn run(args: &Archive, ui: Ui) -> Ended {
    let format = args.output.format();
    let project = open()?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    let status = project.status(&batch).map_err(failed)?;
    if format == Format::Text {
        ui.text(|page| {
            let (tone, state) = batch_state(status.status);
            page.put("Batch status: ").tone(tone, state);
            let (done, count) = (status.done_count, status.change_count);
            page.put(format_args!(" ({done}/{count} changes done)")).end();
        })?;
    }
    let open_changes = unfinished(&status);
    let (answer, exit) = match consent(args, &project, &open_changes, ui) {
        Consent::Given => (project.archive_batch(&batch).map_err(failed)?, Exit::Success),
        Consent::Withheld => (ArchivedBatch::aborted(batch), Exit::Success),
        // A script must not take this for done (Q6).
        Consent::NobodyToAsk => (ArchivedBatch::aborted(batch), Exit::Failure),
    };
    ui.answer(format, &answer, |page| draw(page, &answer, &project))?;
    Ok(exit)
}

/// Whether an unfinished batch may be put away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    Given,
    Withheld,
    NobodyToAsk,
}

fn consent(args: &Archive, project: &Project, open_changes: &[&ChangeName], ui: Ui) -> Consent {
    if open_changes.is_empty() {
        return Consent::Given;
    }
    ui.tell(|page| {
        page.tone(Tone::Warn, "⚠ not done: ").put(joined(open_changes)).end();
    });
    if args.yes {
        return Consent::Given;
    }
    if !ask::is_somebody_there(project.environment()) {
        ui.tell(|page| {
            page.tone(Tone::Dim, "  Nothing was moved. To archive it all the same: --yes").end();
        });
        return Consent::NobodyToAsk;
    }
    if ask::yes(ui, "Archive the batch all the same?") { Consent::Given } else { Consent::Withheld }
}

fn draw(page: &mut Page, answer: &ArchivedBatch, project: &Project) {
    if answer.aborted {
        page.put("Aborted: nothing was moved.").end();
        return;
    }
    let lists = [
        ("Archived changes", &answer.archived_changes),
        ("Archived before", &answer.skipped_archived),
        ("Never begun", &answer.skipped_pending),
    ];
    for (title, changes) in lists.iter().filter(|(_, changes)| !changes.is_empty()) {
        page.put(format_args!("{title}: {}", joined(changes))).end();
    }
    if let Some(path) = &answer.archive_path {
        let path = path.strip_prefix(project.root()).unwrap_or(path);
        page.tone(Tone::Good, "✓ ");
        page.put(format_args!("Batch '{}' archived to {}", answer.batch_name, path.display()));
        page.end();
    }
}

fn joined<T: AsRef<str>>(names: &[T]) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
}
