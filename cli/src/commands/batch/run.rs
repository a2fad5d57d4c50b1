//! `ratchet batch run`: one step after the other until one needs a person, or nothing is left.
//!
//! What to run is decided anew for every step, as by `batch apply`; here is only the rule when to halt.

use ratchet_engine::decide::Idle;
use ratchet_engine::name::BatchName;
use ratchet_engine::outcome::{Cause, StepResult, StepState};
use ratchet_engine::park::ParkKind;
use ratchet_engine::permission::Escalation;
use ratchet_engine::report::ApplyReport;
use ratchet_engine::shell::quoted;
use ratchet_engine::stall::{Ground, is_stalled};
use ratchet_supervisor::project::Project;
use serde::Serialize;

use super::apply::{draw, escalation, request, show_posture};
use super::first_run::ask_for_posture;
use super::pause::{Patience, Pause};
use crate::args::Format;
use crate::args::batch::Run;
use crate::commands::stage::{self, Waited};
use crate::commands::{Ended, failed, open_configured};
use crate::diagnostic::Failure;
use crate::exit::{CodeStyle, Exit};
use crate::render::page::{Page, Tone};
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
    /// The page in `docs/errors/`, if it was an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// What a parked step waits for.
    #[serde(skip)]
    waits_for: Option<ParkKind>,
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
    /// A step said that it is complete, left nothing behind, and would only run again.
    Stalled,
    /// `--max-steps` were run, or more than any work takes.
    MaxSteps,
    /// A step could not be begun or recorded. What ran before was recorded.
    Error,
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
    let most = args.max_steps.map_or(MOST_STEPS, |most| most as usize);
    let mut ground = Watched::new(project.clone(), batch.clone(), escalation(args.raise));
    let ((ran, failure), signal) = stage::play(project, ui, format, async |stage| {
        let mut steps = Vec::new();
        let mut patience = if args.no_wait { Patience::none() } else { Patience::some() };
        loop {
            let report = match stage.apply(request(&batch, args.raise, args.stepping)).await {
                Ok(report) => report,
                Err(failure) if steps.is_empty() => return Err(failure),
                Err(failure) => {
                    let halted = Halted::by(&failure);
                    return Ok((Ran { steps, halted }, Some(failure)));
                }
            };
            if format == Format::Text {
                ui.text(|page| draw(page, &report, ground.project(), &batch))?;
            }
            let pause = Pause::of(&report);
            let is_patient = patience.allows(&report);
            let halted =
                Halted::after(&report, stage.asked()).or_else(|| ground.stall_after(&report));
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
                return Ok((Ran { steps, halted }, None));
            }
        }
    })?;
    ui.answer(format, &ran, |page| ran.draw(page))?;
    match (signal, failure) {
        (Some(signal), _) => Ok(Exit::BySignal(signal)),
        (None, Some(failure)) => Err(failure),
        (None, None) => Ok(CodeStyle::of(args.stepping).exit(ran.exit())),
    }
}

/// The limit of a run that was given none: more than work takes, and an end to what goes round in circles.
const MOST_STEPS: usize = 10_000;

/// What the steps of a run leave behind, looked at between them.
struct Watched {
    project: Project,
    batch: BatchName,
    escalation: Escalation,
    /// `None` if it could not be read; then the next step says why.
    ground: Option<Ground>,
}

impl Watched {
    fn new(project: Project, batch: BatchName, escalation: Escalation) -> Self {
        let ground =
            project.snapshot(&batch, escalation).ok().map(|snapshot| Ground::of(&snapshot));
        Self { project, batch, escalation, ground }
    }

    fn project(&self) -> &Project {
        &self.project
    }

    /// Halts a run whose last step changed nothing and would only be run again.
    fn stall_after(&mut self, report: &ApplyReport) -> Option<Halted> {
        let now = self.project.snapshot(&self.batch, self.escalation).ok();
        let before = std::mem::replace(&mut self.ground, now.as_ref().map(Ground::of));
        let ApplyReport::Step(step) = report else { return None };
        is_stalled(&before?, step, &now?).then(|| Halted::stalled(step, &self.batch))
    }
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
        let halted = |reason, message: &str| Self::new(reason, message);
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
                waits_for: Some(parked.first.kind),
                ..halted(Reason::Parked, &parked.first.reason)
            }),
            ApplyReport::NothingReady(nothing) => {
                let reason = match nothing.why {
                    Idle::Done => Reason::Done,
                    Idle::FailedProof { .. } => Reason::ProofFailed,
                    Idle::OverBudget(_) => Reason::OverBudget,
                    Idle::NothingReady => Reason::NothingReady,
                };
                Some(Self { hint: nothing.hint.clone(), ..halted(reason, &nothing.message) })
            }
            ApplyReport::Proof(proof) if proof.gate_passed => None,
            ApplyReport::Proof(proof) => Some(Self {
                hint: proof.hint.clone(),
                ..halted(Reason::ProofFailed, &proof.detail)
            }),
        }
    }

    fn by_signal(signal: Signal) -> Self {
        let message = format!("Stopped by {}.", signal.name());
        Self::new(Reason::Stopped, message)
    }

    fn at_pause(pause: Pause) -> Self {
        Self { hint: pause.hint, ..Self::new(Reason::LimitReached, pause.why) }
    }

    fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), hint: None, code: None, waits_for: None }
    }

    fn at_limit(most: usize) -> Self {
        let steps = if most == 1 { "step" } else { "steps" };
        Self::new(Reason::MaxSteps, format!("The limit of {most} {steps} is reached."))
    }

    fn stalled(step: &StepResult, batch: &BatchName) -> Self {
        let StepResult { change, transition, .. } = step;
        let batch = quoted(batch.as_str());
        let message = format!(
            "The {transition} of '{change}' was reported complete, but it left nothing behind and would only run again."
        );
        let hint = format!(
            "read what its agent printed: `ratchet batch log {batch} --last`; then write what is missing yourself, or let \
             one more try run: `ratchet batch apply {batch}`"
        );
        Self { hint: Some(hint), ..Self::new(Reason::Stalled, message) }
    }

    fn by(failure: &Failure) -> Self {
        Self {
            hint: failure.advice().map(str::to_owned),
            code: failure.page(),
            ..Self::new(Reason::Error, failure.sentence())
        }
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
            Reason::Stalled => (Tone::Warn, "a step changes nothing"),
            Reason::MaxSteps => (Tone::Dim, "the limit of steps is reached"),
            Reason::Error => (Tone::Bad, "a step could not be run"),
            Reason::Stopped => (Tone::Warn, "stopped"),
        };
        let count = self.steps.len();
        let steps = if count == 1 { "step" } else { "steps" };
        page.put(format_args!("Halted after {count} {steps}: ")).tone(tone, why).end();
        // Everything else has been said by the last step, or is about to be said by the error.
        if let (Reason::Stalled, Some(hint)) = (self.halted.reason, &self.halted.hint) {
            page.put(&self.halted.message).end();
            page.put(format_args!("To proceed: {hint}")).end();
        }
    }

    fn exit(&self) -> Exit {
        match self.halted.reason {
            Reason::Done | Reason::MaxSteps => Exit::Success,
            Reason::Blocked | Reason::LimitReached | Reason::Stopped | Reason::Stalled => {
                Exit::Blocked
            }
            Reason::AwaitingApproval => Exit::AwaitingApproval,
            Reason::Parked => self.halted.waits_for.map_or(Exit::NothingReady, Exit::of_park),
            Reason::OverBudget | Reason::NothingReady => Exit::NothingReady,
            Reason::ProofFailed => Exit::ProofFailed,
            Reason::Error => Exit::Failure,
        }
    }
}

#[cfg(test)]
mod tests;
