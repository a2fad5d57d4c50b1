//! The text an agent is given (spec `agents-and-runtimes` 6). It orders one step, says where it stands and how to report;
//! how the step is done is in the project's own command, to which it delegates. Its prose names no coding agent (the path of
//! a command's file may), and it asks for no
//! command with a substitution in it, which some agents refuse to run.

mod channel;
mod resume;

use std::fmt::Write as _;

use crate::decide::{Branches, Group, PriorPhase, Step, Work};
use crate::manifest::Phase;
use crate::settings::Strategy;
use crate::shell::quoted;
use crate::transition::Transition;

/// What the text depends on besides the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wording<'a> {
    /// How the agent calls the step's command, such as `/rct:apply`.
    pub token: &'a str,
    /// Where that command's text is, as the agent sees it, for one that knows no commands; `None` if there is no file.
    pub file: Option<&'a str>,
    /// What starts this program: `ratchet`, or its absolute path when the agent would not find it.
    pub ratchet: &'a str,
    /// How a proposal cuts its work.
    pub strategy: Strategy,
}

/// Writes the instructions for a step.
#[must_use]
pub fn render(step: &Step, wording: &Wording<'_>) -> String {
    let mut blocks = vec![opening(step), channel::duty(step, wording.ratchet)];
    blocks.push(frame(&step.phase));
    blocks.extend(specifics(step));
    blocks.push(invocation(step, wording));
    blocks.extend(guidance(step));
    blocks.extend(advice(step, wording.strategy));
    blocks.extend(resume::framing(step));
    blocks.push(channel::commands(step, wording.ratchet));
    let mut text = blocks.join("\n\n");
    text.push('\n');
    text
}

/// Says which single step it is.
fn opening(step: &Step) -> String {
    let place = match &step.batch {
        Some(batch) => format!("You are advancing the batch '{batch}' by exactly one step."),
        None => "You are advancing one change, on its own, by exactly one step.".to_owned(),
    };
    let task = match &step.work {
        Work::Change { change, transition, .. } => {
            let transition = transition.as_str().to_uppercase();
            format!("The step: {transition} the change '{change}'. Do this and nothing beyond it.")
        }
        Work::Decompose { .. } => format!(
            "The step: DECOMPOSE the phase '{}' into changes, written into the batch's batch.yaml. \
             Do this and nothing beyond it.",
            step.phase.name
        ),
        Work::PullRequest { group, .. } => format!(
            "The step: open one pull request for {}. Do this and nothing beyond it.",
            scope(step, group.as_ref())
        ),
    };
    format!("{place}\n{task}")
}

fn scope(step: &Step, group: Option<&Group>) -> String {
    match group {
        None => "the completed batch".to_owned(),
        Some(group) if group.id == step.phase.name.as_str() => {
            format!("the completed phase '{}'", group.id)
        }
        Some(group) => format!("the completed change '{}'", group.id),
    }
}

/// Gives the phase's facts.
fn frame(phase: &Phase) -> String {
    let proof = &phase.proof;
    format!(
        "Phase: {}\nGoal: {}\nSuccess: {}\nProof of work: {} — run: {} — pass: {}",
        phase.name,
        phase.goal,
        phase.success,
        proof.kind.as_str(),
        proof.run,
        proof.pass,
    )
}

/// Gives what only this kind of step has to know.
fn specifics(step: &Step) -> Option<String> {
    match &step.work {
        Work::Change { done, .. } => Some(format!("Definition of done: {done}")),
        Work::Decompose { prior } => Some(shipped(prior)),
        Work::PullRequest { changes, branches, .. } => {
            let mut text = String::from("Changes it covers:");
            for change in changes {
                let _ = write!(text, "\n- {change}");
            }
            if let Some(Branches { work, base }) = branches {
                let _ = write!(
                    text,
                    "\n\nWork branch: {work}\nBase branch: {base}\nThe base branch is the only \
                     target; do not derive another one."
                );
            }
            Some(text)
        }
    }
}

fn shipped(prior: &[PriorPhase]) -> String {
    let mut text = String::from("What earlier phases have shipped:");
    if prior.is_empty() {
        text.push_str(" none");
    }
    for phase in prior {
        let _ = write!(text, "\n{}", phase.name);
        for (change, done) in &phase.changes {
            let _ = write!(text, "\n- {change}: {done}");
        }
    }
    text
}

/// Delegates to the project's command. What people said is handed over as its arguments, in one indented block.
fn invocation(step: &Step, wording: &Wording<'_>) -> String {
    let mut line = wording.token.to_owned();
    match &step.work {
        Work::Change { change, .. } => {
            let _ = write!(line, " {change}");
        }
        Work::Decompose { .. } => {
            let _ = write!(line, " {}", step.phase.name);
        }
        Work::PullRequest { .. } => {}
    }
    let arguments = match &step.work {
        Work::Change { .. } | Work::Decompose { .. } => {
            let said = step.resume.as_ref().and_then(resume::argument);
            let all: Vec<&str> = step.guidance.as_deref().into_iter().chain(said).collect();
            all.join("\n")
        }
        Work::PullRequest { .. } => String::new(),
    };
    let mut text =
        "Run this command of the project and let it do the step; do not build its steps by \
                    hand. Follow the project's rules in .ratchet/standards/ if there are any."
            .to_owned();
    if !arguments.is_empty() {
        text.push_str(" Everything after the name is the command's arguments.");
        line = format!("{line} {arguments}");
    }
    text.push('\n');
    for line in line.lines() {
        let _ = write!(text, "\n    {line}");
    }
    if let Some(file) = wording.file {
        let _ = write!(
            text,
            "\n\nIf you have no such command, read this file and do what it says; what stands after the \
             command's own name are its arguments:\n\n    {file}"
        );
    }
    text
}

/// Gives a person's guidance as it was typed, so that what is said here is what was said there (seed change-step core).
fn guidance(step: &Step) -> Option<String> {
    step.guidance.as_ref().map(|guidance| format!("Additional guidance:\n{guidance}"))
}

fn advice(step: &Step, strategy: Strategy) -> Option<String> {
    match &step.work {
        Work::Change { transition: Transition::Propose, .. } => Some(match strategy {
            Strategy::VerticalSlice => {
                "Strategy: vertical slice. Plan the thinnest change that works from end to end."
                    .to_owned()
            }
            Strategy::Feature => {
                "Strategy: feature. Plan the feature complete and self-contained.".to_owned()
            }
        }),
        Work::Change { transition: Transition::Apply, .. } => Some(
            "Tick a task in plan.md when it is done, and only then: the ticks are what your report is \
             held against."
                .to_owned(),
        ),
        Work::Change { transition: Transition::Verify, .. } => Some(
            "Your completion report must carry the verdict line of the verification: \"Ready for \
             archive\", or the number of critical issues found. A completion without a verdict does \
             not count."
                .to_owned(),
        ),
        Work::Decompose { .. } => Some(
            "Edit the batch's manifest, batch.yaml, and no other file: give the phase its changes, each \
             with a name, a definition of done, and what it comes after. Leave the other phases as \
             they are."
                .to_owned(),
        ),
        Work::PullRequest { .. } => None,
    }
}

#[cfg(test)]
mod tests;
