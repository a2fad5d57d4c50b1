//! `ratchet report` and `ratchet batch report`: one report or one decision, durable when the command returns 0.
//!
//! These run inside agents, often: no thread, no manifest, nothing that is not needed to write one line.

use ratchet_engine::name::StepKey;
use ratchet_supervisor::project::{Report, Reported};

use super::{Ended, failed, open, parsed};
use crate::args::Format;
use crate::args::batch::{self, ReportKind};
use crate::args::change;
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::ui::Ui;

/// Reports on a step of a batch.
pub(crate) fn batch(args: &batch::Report, ui: Ui) -> Ended {
    let key = key(args.change.as_deref())?;
    let report = chosen(&args.kind, args.awaiting_approval.then_some(Completion::AsksForApproval))?;
    let project = open()?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    let reported = project.report(&batch, &key, &report).map_err(failed)?;
    told(&reported, args.output.format(), ui)
}

/// Approves a step of a batch.
pub(crate) fn approve(args: &batch::Approve, ui: Ui) -> Ended {
    let key = key(args.change.as_deref())?;
    let project = open()?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    let reported = project.report(&batch, &key, &Report::Approve).map_err(failed)?;
    told(&reported, args.output.format(), ui)
}

/// Reports on a change that runs outside of a batch.
pub(crate) fn change(args: &change::Report, ui: Ui) -> Ended {
    let report = chosen(&args.kind, None)?;
    let change = parsed(&args.change)?;
    let reported = open()?.report_change(&change, &report).map_err(failed)?;
    told(&reported, args.output.format(), ui)
}

fn told(reported: &Reported, format: Format, ui: Ui) -> Ended {
    ui.answer(format, reported, |page| {
        page.put(&reported.text).end();
    })?;
    Ok(Exit::Success)
}

fn key(change: Option<&str>) -> Result<StepKey, Failure> {
    match change {
        Some(key) if !key.trim().is_empty() => Ok(StepKey::from_text(key)),
        Some(_) | None => Err(Failure::new("Missing required option --change <key>")
            .help("Name the change (or phase, or pull request) whose step it is.")),
    }
}

/// What `--awaiting-approval` makes of a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completion {
    AsksForApproval,
}

/// Finds the one kind of report that was given.
fn chosen(kind: &ReportKind, completion: Option<Completion>) -> Result<Report, Failure> {
    let complete = |text| match completion {
        Some(Completion::AsksForApproval) => Report::CompleteAwaitingApproval(text),
        None => Report::Complete(text),
    };
    let mut given: Vec<Report> = [
        kind.status.clone().map(Report::Status),
        kind.blocker.clone().map(Report::Blocker),
        kind.needs_input.clone().map(Report::NeedsInput),
        kind.complete.clone().map(complete),
        kind.answer.clone().map(Report::Answer),
        kind.reject.clone().map(Report::Reject),
        kind.approve.then_some(Report::Approve),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (Some(report), true) = (given.pop(), given.is_empty()) else {
        return Err(Failure::new(
            "Give exactly one of --status, --blocker, --needs-input, --complete, --answer, --reject, --approve",
        )
        .help("Nothing was recorded. Report once for each thing you have to say."));
    };
    let report = with_words(report)?;
    match (&report, completion) {
        (Report::CompleteAwaitingApproval(_), _) | (_, None) => Ok(report),
        (_, Some(Completion::AsksForApproval)) => {
            Err(Failure::new("--awaiting-approval goes with --complete only")
                .help("Nothing was recorded."))
        }
    }
}

/// Refuses a report without a word in it, where work goes on by what it says.
pub(super) fn with_words(report: Report) -> Result<Report, Failure> {
    let decisive = match &report {
        Report::Answer(text)
        | Report::Reject(text)
        | Report::Complete(text)
        | Report::CompleteAwaitingApproval(text) => Some(text),
        // An agent that has to stop is heard, even if it does not find words.
        Report::Status(_) | Report::Blocker(_) | Report::NeedsInput(_) | Report::Approve => None,
    };
    if decisive.is_some_and(|text| text.trim().is_empty()) {
        return Err(Failure::new("The text is empty, and work goes on by what it says")
            .help("Nothing was recorded. Say in a sentence what was done or decided."));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> ReportKind {
        ReportKind {
            status: None,
            blocker: None,
            needs_input: None,
            complete: None,
            answer: None,
            reject: None,
            approve: false,
        }
    }

    // B-V30
    #[test]
    fn exactly_one_kind_of_report_is_given() {
        assert!(chosen(&none(), None).is_err());
        let two = ReportKind { status: Some("x".into()), approve: true, ..none() };
        assert!(chosen(&two, None).is_err());
        let one = ReportKind { needs_input: Some("which?".into()), ..none() };
        assert_eq!(chosen(&one, None).unwrap(), Report::NeedsInput("which?".into()));
        assert!(key(None).is_err());
        assert!(key(Some(" ")).is_err());
    }

    #[test]
    fn nothing_goes_on_without_a_word() {
        let blank = || Some(" ".to_owned());
        assert!(chosen(&ReportKind { answer: blank(), ..none() }, None).is_err());
        assert!(chosen(&ReportKind { reject: blank(), ..none() }, None).is_err());
        let complete = ReportKind { complete: blank(), ..none() };
        assert!(chosen(&complete, None).is_err());
        assert!(chosen(&complete, Some(Completion::AsksForApproval)).is_err());
        assert!(chosen(&ReportKind { blocker: blank(), ..none() }, None).is_ok());
    }

    #[test]
    fn only_a_completion_asks_for_approval() {
        let asks = Some(Completion::AsksForApproval);
        let complete = ReportKind { complete: Some("planned".into()), ..none() };
        let expected = Report::CompleteAwaitingApproval("planned".into());
        assert_eq!(chosen(&complete, asks).unwrap(), expected);
        assert!(chosen(&ReportKind { approve: true, ..none() }, asks).is_err());
    }
}
