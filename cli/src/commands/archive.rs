//! `ratchet archive`: a finished change is put away (spec `cli-core` 9.2). A script is never asked: what a person would have
//! to say, it says by `--yes`, or nothing is moved and the exit is 1.

use ratchet_engine::name::ChangeName;
use ratchet_supervisor::project::{
    ArchiveOutlook, Archived, Archiving, Checks, Project, StoreUpdate,
};
use serde::Serialize;

use super::{Ended, failed, open};
use crate::args::Format;
use crate::args::planning::Archive;
use crate::ask::{self, Reply};
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::archive;
use crate::ui::Ui;

/// What `archive --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer<'a> {
    #[serde(flatten)]
    archived: &'a Archived,
    tasks: Tasks,
    features_skipped: bool,
    validated: bool,
}

#[derive(Debug, Serialize)]
struct Tasks {
    total: u64,
    complete: u64,
}

/// Whether somebody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Talk {
    /// A person does.
    Person,
    /// `--yes` has answered everything.
    Consent,
    /// Nobody does.
    Nobody,
}

/// What was said.
enum Said {
    GoOn(StoreUpdate),
    Leave,
}

/// Puts a change away.
pub(super) fn run(args: &Archive, ui: Ui) -> Ended {
    let project = open()?;
    let talk = talk(args, &project);
    let name = match (&args.change, talk) {
        (None, Talk::Person) => match choose(&project, ui)? {
            Some(name) => Some(name.to_string()),
            None => return Ok(cancelled(ui)),
        },
        (name, _) => name.clone(),
    };
    let outlook = project.archive_outlook(name.as_deref()).map_err(failed)?;
    let checks = if args.no_validate { Checks::Waived } else { Checks::Made };
    ui.tell(|page| archive::outlook(page, &outlook, checks, project.now()));
    if checks == Checks::Made && !outlook.faults.is_empty() {
        return Err(Failure::new(format!("Change '{}' was not archived", outlook.change))
            .help("mend what is listed, or leave the checks out with --no-validate")
            .code("change-not-archivable"));
    }
    let store = match agree(args, &outlook, talk, ui)? {
        Said::GoOn(store) => store,
        Said::Leave => return Ok(cancelled(ui)),
    };
    let how = Archiving { checks, store };
    let archived = project.archive_change(&outlook.change, how).map_err(failed)?;
    let answer = Answer {
        archived: &archived,
        tasks: Tasks { total: outlook.facts.tasks_total, complete: outlook.facts.tasks_complete },
        features_skipped: store == StoreUpdate::Skipped,
        validated: checks == Checks::Made,
    };
    ui.answer(args.output.format(), &answer, |page| {
        archive::archived(page, &archived, store, project.root());
    })?;
    Ok(Exit::Success)
}

fn talk(args: &Archive, project: &Project) -> Talk {
    if args.yes {
        Talk::Consent
    } else if args.output.format() == Format::Text && ask::is_somebody_there(project.environment())
    {
        Talk::Person
    } else {
        Talk::Nobody
    }
}

fn choose(project: &Project, ui: Ui) -> Result<Option<ChangeName>, Failure> {
    let names = project.change_names().map_err(failed)?;
    if names.is_empty() {
        return Err(Failure::new("No active changes found")
            .help("make one with 'ratchet new change <name>'"));
    }
    ask::one_of(ui, "Which change is to be archived?", names)
}

fn cancelled(ui: Ui) -> Exit {
    ui.tell(|page| {
        page.put("Cancelled: nothing was moved.").end();
    });
    Exit::Success
}

/// Gets a yes for everything that needs one.
fn agree(args: &Archive, outlook: &ArchiveOutlook, talk: Talk, ui: Ui) -> Result<Said, Failure> {
    let open = outlook.facts.tasks_total - outlook.facts.tasks_complete;
    let mut questions = Vec::new();
    if args.no_validate {
        questions.push("Archive it without looking at its features and standards?".to_owned());
    }
    if open > 0 {
        questions.push(format!("{open} tasks are open. Archive it all the same?"));
    }
    match talk {
        Talk::Consent => {}
        Talk::Nobody if questions.is_empty() => {}
        Talk::Nobody => {
            let name = &outlook.change;
            return Err(Failure::new(format!(
                "Change '{name}' was not archived: nobody is there to say yes"
            ))
            .help(format!("say it beforehand: ratchet archive {name} --yes"))
            .code("yes-needed"));
        }
        Talk::Person => {
            if !questions.iter().all(|question| ask::yes(ui, question)) {
                return Ok(Said::Leave);
            }
        }
    }
    let changes = &outlook.features;
    let changes = changes.added.len() + changes.overwritten.len() + changes.deleted.len();
    Ok(match (args.skip_features, talk) {
        (true, _) => Said::GoOn(StoreUpdate::Skipped),
        (false, Talk::Person) if changes > 0 => {
            match ask::unless_no(ui, "Take its features into the store?") {
                Some(Reply::Yes) => Said::GoOn(StoreUpdate::Made),
                Some(Reply::No) => Said::GoOn(StoreUpdate::Skipped),
                None => Said::Leave,
            }
        }
        (false, _) => Said::GoOn(StoreUpdate::Made),
    })
}
