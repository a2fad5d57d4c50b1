//! What a person said since the step was parked: as an argument of the command, and as a frame around it
//! (spec `agents-and-runtimes` 6.3). A pull request's command takes no arguments, so there the frame says all (OQ-8).

use crate::decide::{Resume, Step, Work};
use crate::transition::Transition;

/// Gives what is handed over as an argument.
pub(super) fn argument(resume: &Resume) -> Option<&str> {
    match resume {
        Resume::Answered { answer, .. } => Some(answer),
        Resume::Rejected { feedback, .. } => Some(feedback),
        Resume::Approved { .. } => None,
    }
}

/// Tells what went before.
pub(super) fn framing(step: &Step) -> Option<String> {
    let resume = step.resume.as_ref()?;
    let mut text = match resume {
        Resume::Answered { question, .. } => format!(
            "This step was parked on a question, and the question has been answered. Go on from where \
             it stopped; do not start over.\nThe question was: {question}"
        ),
        Resume::Approved { summary } => {
            format!("The result before this was approved.\nIts summary was: {summary}")
        }
        Resume::Rejected { summary, .. } => format!(
            "{} was rejected. Do {} again with the feedback in mind; nothing has been rolled back.\nThe \
             rejected summary was: {summary}",
            rejected(step),
            again(step),
        ),
    };
    match (&step.work, argument(resume)) {
        (Work::PullRequest { .. }, Some(said)) => {
            text.push_str("\nThe reply is: ");
            text.push_str(said);
        }
        (Work::PullRequest { .. }, None) | (Work::Change { .. } | Work::Decompose { .. }, _) => {}
    }
    Some(text)
}

fn rejected(step: &Step) -> &'static str {
    match &step.work {
        Work::Change { transition: Transition::Propose, .. } => "The earlier proposal",
        Work::Change { transition: Transition::Apply, .. } => "The earlier apply work",
        Work::Change { transition: Transition::Verify, .. } => "The earlier verify pass",
        Work::Decompose { .. } => "The earlier decomposition",
        Work::PullRequest { .. } => "The earlier pull request",
    }
}

fn again(step: &Step) -> String {
    match step.work {
        Work::Change { transition, .. } => format!("the {transition} step"),
        Work::Decompose { .. } => "the decomposition".to_owned(),
        Work::PullRequest { .. } => "it".to_owned(),
    }
}
