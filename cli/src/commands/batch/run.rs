//! `ratchet batch run`: one step after the other until one needs a person, or nothing is left.
//!
//! What to run is decided anew for every step, as by `batch apply`; here is only the rule when to halt.

use std::borrow::Cow;

use ratchet_engine::halt::{HaltReason, MOST_STEPS, Pause};
use ratchet_engine::name::BatchName;
use ratchet_engine::park::ParkKind;
use ratchet_engine::permission::Escalation;
use ratchet_engine::report::ApplyReport;
use ratchet_engine::stall::Ground;
use ratchet_engine::{halt, snapshot::Snapshot};
use ratchet_supervisor::project::Project;
use serde::Serialize;

use super::apply::{draw, escalation, request, show_posture};
use super::first_run::ask_for_posture;
use super::patience::Patience;
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
    code: Option<Cow<'static, str>>,
    /// What a parked step waits for.
    #[serde(skip)]
    waits_for: Option<ParkKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Reason {
    /// The engine's rule says so.
    Rule(HaltReason),
    /// The run could not go on.
    Cut(Cut),
}

/// What cuts a run off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Cut {
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
    let most = args.max_steps.unwrap_or(MOST_STEPS);
    let mut ground = Watched::new(project.clone(), batch.clone(), escalation(args.raise));
    let ((ran, failure), signal) = stage::play(project, ui, format, async |stage| {
        stage.begin_run(&batch);
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
            if report.is_step() {
                steps.push(report);
            }
            let is_at_limit = steps.len() >= most as usize;
            let halted = match (pause, stage.asked()) {
                (Some(pause), None) if is_patient && !is_at_limit => {
                    match stage.wait_until(pause.until).await {
                        Waited::Over => None,
                        Waited::Interrupted => stage.asked().map(Halted::by_signal),
                    }
                }
                _ => halted.or_else(|| is_at_limit.then(|| halt::Halted::at_limit(most).into())),
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
        let mut watched = Self { project, batch, escalation, ground: None };
        watched.ground = watched.look().map(|now| Ground::of(&now));
        watched
    }

    fn project(&self) -> &Project {
        &self.project
    }

    fn look(&self) -> Option<Snapshot> {
        self.project.snapshot(&self.batch, self.escalation).ok()
    }

    /// Halts a run whose last step changed nothing and would only be run again.
    fn stall_after(&mut self, report: &ApplyReport) -> Option<Halted> {
        let now = self.look();
        let before = std::mem::replace(&mut self.ground, now.as_ref().map(Ground::of));
        halt::Halted::stall(&before?, report, &now?).map(Halted::from)
    }
}

impl Halted {
    /// Says whether a run halts after this, and why.
    fn after(report: &ApplyReport, asked: Option<Signal>) -> Option<Self> {
        if let Some(signal) = asked {
            return Some(Self::by_signal(signal));
        }
        let waits_for = match report {
            ApplyReport::Parked(parked) => Some(parked.first.kind),
            ApplyReport::Step(_) | ApplyReport::NothingReady(_) | ApplyReport::Proof(_) => None,
        };
        halt::Halted::after(report).map(|halted| Self { waits_for, ..halted.into() })
    }

    fn by_signal(signal: Signal) -> Self {
        let message = format!("Stopped by {}.", signal.name());
        Self { reason: Reason::Cut(Cut::Stopped), message, hint: None, code: None, waits_for: None }
    }

    fn by(failure: &Failure) -> Self {
        Self {
            reason: Reason::Cut(Cut::Error),
            message: failure.sentence(),
            hint: failure.advice().map(str::to_owned),
            code: failure.page().map(|code| code.to_owned().into()),
            waits_for: None,
        }
    }
}

impl From<halt::Halted> for Halted {
    fn from(halt::Halted { reason, message, hint }: halt::Halted) -> Self {
        Self { reason: Reason::Rule(reason), message, hint, code: None, waits_for: None }
    }
}

impl Ran {
    fn draw(&self, page: &mut Page) {
        let (tone, why) = match self.halted.reason {
            Reason::Rule(rule) => told(rule),
            Reason::Cut(Cut::Error) => (Tone::Bad, "a step could not be run"),
            Reason::Cut(Cut::Stopped) => (Tone::Warn, "stopped"),
        };
        let count = self.steps.len();
        let steps = if count == 1 { "step" } else { "steps" };
        page.put(format_args!("Halted after {count} {steps}: ")).tone(tone, why).end();
        // Everything else has been said by the last step, or is about to be said by the error.
        if let (Reason::Rule(HaltReason::Stalled), Some(hint)) =
            (self.halted.reason, &self.halted.hint)
        {
            page.put(&self.halted.message).end();
            page.put(format_args!("To proceed: {hint}")).end();
        }
    }

    fn exit(&self) -> Exit {
        match self.halted.reason {
            Reason::Cut(Cut::Stopped) => Exit::Blocked,
            Reason::Cut(Cut::Error) => Exit::Failure,
            Reason::Rule(rule) => match rule {
                HaltReason::Done | HaltReason::MaxSteps => Exit::Success,
                HaltReason::Blocked | HaltReason::LimitReached | HaltReason::Stalled => {
                    Exit::Blocked
                }
                HaltReason::AwaitingApproval => Exit::AwaitingApproval,
                HaltReason::Parked => {
                    self.halted.waits_for.map_or(Exit::NothingReady, Exit::of_park)
                }
                HaltReason::OverBudget | HaltReason::NothingReady => Exit::NothingReady,
                HaltReason::ProofFailed => Exit::ProofFailed,
            },
        }
    }
}

fn told(rule: HaltReason) -> (Tone, &'static str) {
    match rule {
        HaltReason::Done => (Tone::Good, "done"),
        HaltReason::Blocked => (Tone::Warn, "a step is blocked"),
        HaltReason::AwaitingApproval => (Tone::Warn, "a step waits for approval"),
        HaltReason::Parked => (Tone::Warn, "a parked step holds the batch"),
        HaltReason::NothingReady => (Tone::Warn, "nothing is ready"),
        HaltReason::ProofFailed => (Tone::Bad, "a proof-of-work failed"),
        HaltReason::LimitReached => (Tone::Warn, "an agent has reached its usage limit"),
        HaltReason::OverBudget => (Tone::Warn, "the budget is used up"),
        HaltReason::Stalled => (Tone::Warn, "a step changes nothing"),
        HaltReason::MaxSteps => (Tone::Dim, "the limit of steps is reached"),
    }
}

#[cfg(test)]
mod tests;
