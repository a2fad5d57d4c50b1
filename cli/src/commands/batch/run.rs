//! `ratchet batch run`: one step after the other until one needs a person, or nothing is left.
//!
//! What to run is decided anew for every step, as by `batch apply`; here is only the rule when to halt.

use ratchet_engine::decide::Idle;
use ratchet_engine::outcome::{Cause, StepState};
use ratchet_engine::report::ApplyReport;
use serde::Serialize;

use super::apply::{request, show_posture};
use super::first_run::ask_for_posture;
use super::pause::{Patience, Pause};
use crate::args::Format;
use crate::args::batch::Run;
use crate::commands::stage::{self, Waited};
use crate::commands::{Ended, failed, open_configured};
use crate::exit::{CodeStyle, Exit};
use crate::render::page::{Page, Tone};
use crate::render::step;
use crate::signals::Signal;
use crate::ui::Ui;

/// What was run, and why it halted.
#[derive(Debug, Serialize)]
struct Ran {
    /// What ran, oldest first. An answer that nothing can run is no step; it is the reason to halt.
    steps: Vec<ApplyReport>,
    halted: Halted,
}

/// Why a run halted.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Halted {
    reason: Reason,
    /// Why, in one sentence.
    message: String,
    /// What to type next, where that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Reason {
    /// Everything is done.
    Done,
    /// A step asks a question.
    Blocked,
    /// A step asks for approval.
    AwaitingApproval,
    /// Steps that were parked before hold everything.
    Parked,
    /// Everything that is left is blocked or gated.
    NothingReady,
    /// A proof-of-work failed and keeps its gate shut.
    ProofFailed,
    /// An agent has reached its usage limit.
    LimitReached,
    /// A budget is used up.
    OverBudget,
    /// `--max-steps` were run.
    MaxSteps,
    /// A signal asked for the end.
    Stopped,
}

/// Runs until there is a reason to halt.
pub(super) fn run(args: &Run, ui: Ui) -> Ended {
    let format = args.output.format();
    let project = open_configured(ui)?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    ask_for_posture(&project, format, ui);
    show_posture(&project, &batch, args.raise, format, ui)?;
    let most = args.max_steps.map_or(usize::MAX, |most| most as usize);
    let (ran, signal) = stage::play(project, ui, format, async |stage| {
        let mut steps = Vec::new();
        let mut patience = if args.no_wait { Patience::none() } else { Patience::some() };
        loop {
            let report = stage.apply(request(&batch, args.raise, args.stepping)).await?;
            if format == Format::Text {
                ui.text(|page| step::report(page, &report))?;
            }
            let pause = Pause::of(&report);
            let is_patient = patience.allows(&report);
            let halted = Halted::after(&report, stage.asked());
            if is_step(&report) {
                steps.push(report);
            }
            let at_limit = || (steps.len() >= most).then(|| Halted::at_limit(most));
            let halted = match (pause, stage.asked()) {
                (Some(pause), None) if is_patient && steps.len() < most => {
                    match stage.wait_until(pause.until).await {
                        Waited::Over => None,
                        Waited::Interrupted => stage.asked().map(Halted::by_signal),
                    }
                }
                (Some(pause), None) => Some(Halted::at_pause(pause)),
                (None, _) | (Some(_), Some(_)) => halted.or_else(at_limit),
            };
            if let Some(halted) = halted {
                return Ok(Ran { steps, halted });
            }
        }
    })?;
    ui.answer(format, &ran, |page| ran.draw(page))?;
    Ok(match signal {
        Some(signal) => Exit::BySignal(signal),
        None => CodeStyle::of(args.stepping).exit(ran.exit()),
    })
}

fn is_step(report: &ApplyReport) -> bool {
    match report {
        // An agent that is out of use for a while was not started.
        ApplyReport::Step(step) => step.cause != Some(Cause::Quota) || step.spawn_id.is_some(),
        ApplyReport::Proof(_) => true,
        ApplyReport::Parked(_) | ApplyReport::NothingReady(_) => false,
    }
}

impl Halted {
    /// Says whether a run halts after this, and why.
    fn after(report: &ApplyReport, asked: Option<Signal>) -> Option<Self> {
        if let Some(signal) = asked {
            return Some(Self::by_signal(signal));
        }
        let halted =
            |reason, message: &str| Self { reason, message: message.to_owned(), hint: None };
        match report {
            ApplyReport::Step(step) => match step.state {
                StepState::Advanced => None,
                StepState::Blocked => {
                    let blocker = step.blocker.as_deref().unwrap_or("A step needs input.");
                    Some(halted(Reason::Blocked, blocker))
                }
                StepState::AwaitingApproval => {
                    let request = step.approval_request.as_deref();
                    let request = request.unwrap_or("A step waits for approval.");
                    Some(halted(Reason::AwaitingApproval, request))
                }
                StepState::NothingReady => {
                    let message = step.message.as_deref().unwrap_or("Nothing is ready.");
                    Some(halted(Reason::NothingReady, message))
                }
            },
            ApplyReport::Parked(parked) => Some(Self {
                hint: Some(parked.first.hint.clone()),
                ..halted(Reason::Parked, &parked.first.reason)
            }),
            ApplyReport::NothingReady(nothing) => {
                let hint = nothing.hint.clone();
                let reason = match nothing.why {
                    Idle::Done => Reason::Done,
                    Idle::FailedProof { .. } => Reason::ProofFailed,
                    Idle::OverBudget(_) => Reason::OverBudget,
                    Idle::NothingReady => Reason::NothingReady,
                };
                Some(Self { hint, ..halted(reason, &nothing.message) })
            }
            ApplyReport::Proof(proof) if proof.gate_passed => None,
            ApplyReport::Proof(proof) => Some(halted(Reason::ProofFailed, &proof.detail)),
        }
    }

    fn by_signal(signal: Signal) -> Self {
        let message = format!("Stopped by {}.", signal.name());
        Self { reason: Reason::Stopped, message, hint: None }
    }

    fn at_pause(pause: Pause) -> Self {
        Self { reason: Reason::LimitReached, message: pause.why, hint: pause.hint }
    }

    fn at_limit(most: usize) -> Self {
        let message = format!("The limit of {most} steps is reached.");
        Self { reason: Reason::MaxSteps, message, hint: None }
    }
}

impl Ran {
    fn draw(&self, page: &mut Page) {
        let (tone, why) = match self.halted.reason {
            Reason::Done => (Tone::Good, "done"),
            Reason::Blocked => (Tone::Warn, "a step is blocked"),
            Reason::AwaitingApproval => (Tone::Warn, "a step waits for approval"),
            Reason::Parked => (Tone::Warn, "a parked step holds the batch"),
            Reason::NothingReady => (Tone::Warn, "nothing is ready"),
            Reason::ProofFailed => (Tone::Bad, "a proof-of-work failed"),
            Reason::LimitReached => (Tone::Warn, "an agent has reached its usage limit"),
            Reason::OverBudget => (Tone::Warn, "the budget is used up"),
            Reason::MaxSteps => (Tone::Dim, "the limit of --max-steps is reached"),
            Reason::Stopped => (Tone::Warn, "stopped"),
        };
        let count = self.steps.len();
        let steps = if count == 1 { "step" } else { "steps" };
        page.put(format_args!("Halted after {count} {steps}: ")).tone(tone, why).end();
    }

    fn exit(&self) -> Exit {
        match self.halted.reason {
            Reason::Done | Reason::MaxSteps => Exit::Success,
            Reason::Blocked | Reason::LimitReached | Reason::Stopped => Exit::Blocked,
            Reason::AwaitingApproval => Exit::AwaitingApproval,
            Reason::Parked | Reason::OverBudget | Reason::NothingReady => Exit::NothingReady,
            Reason::ProofFailed => Exit::ProofFailed,
        }
    }
}

#[cfg(test)]
mod tests;
