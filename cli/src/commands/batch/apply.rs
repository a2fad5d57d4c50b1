//! `ratchet batch apply`: exactly one step (spec `batch-status-and-selection` 6).

use ratchet_engine::name::BatchName;
use ratchet_engine::outcome::StepResult;
use ratchet_engine::permission::Escalation;
use ratchet_engine::report::ApplyReport;
use ratchet_supervisor::error::channel;
use ratchet_supervisor::project::Project;
use ratchet_supervisor::request::{ApplyRequest, Leave, LimitPolicy, OverrideConsent};
use ratchet_supervisor::store::layout::RunHome;

use super::first_run::ask_for_posture;
use crate::args::batch::{Apply, Raise};
use crate::args::{Format, Stepping};
use crate::commands::{Ended, failed, open_configured, stage};
use crate::diagnostic::Failure;
use crate::exit::{CodeStyle, Exit};
use crate::render::page::Page;
use crate::render::{settings, step};
use crate::ui::Ui;

/// Runs the next step.
pub(super) fn run(args: &Apply, ui: Ui) -> Ended {
    let format = args.output.format();
    let project = open_configured(ui)?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    ask_for_posture(&project, format, ui);
    show_posture(&project, &batch, args.raise, format, ui)?;
    let request = request(&batch, args.raise, args.stepping);
    let looking = project.clone();
    let (report, signal) =
        stage::play(project, ui, format, async |stage| stage.apply(request).await)?;
    ui.answer(format, &report, |page| draw(page, &report, &looking, &batch))?;
    Ok(match signal {
        Some(signal) => Exit::BySignal(signal),
        None => CodeStyle::of(args.stepping).exit(Exit::of_report(&report)),
    })
}

/// Draws what one step came to, and what it waits for.
pub(super) fn draw(page: &mut Page, report: &ApplyReport, project: &Project, batch: &BatchName) {
    step::report(page, report);
    if let ApplyReport::Step(result) = report {
        draw_park(page, result, project, &RunHome::Batch(batch.clone()));
    }
}

/// Draws what a step that has just halted waits for. Its outcome is told already, so a park that cannot be read is not.
pub(in crate::commands) fn draw_park(
    page: &mut Page,
    result: &StepResult,
    project: &Project,
    home: &RunHome,
) {
    if let Ok(Some(park)) = project.halting_park(home, &result.change) {
        step::waits(page, result, &park, channel(home));
    }
}

/// Says to a person which permissions are in force, before anything runs.
pub(super) fn show_posture(
    project: &Project,
    batch: &BatchName,
    raise: Raise,
    format: Format,
    ui: Ui,
) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(());
    }
    let settings = project.settings(Some(batch), escalation(raise)).map_err(failed)?;
    ui.text(|page| settings::posture(page, &settings))?;
    Ok(())
}

/// Asks for the next step of a batch.
pub(super) fn request(batch: &BatchName, raise: Raise, stepping: Stepping) -> ApplyRequest {
    ApplyRequest {
        batch: batch.clone(),
        escalation: escalation(raise),
        agent_override: consent(stepping),
        leave: Leave::GoesOn,
        limits: limits(stepping),
    }
}

/// Reads `--allow-manifest-escalation`.
pub(super) fn escalation(raise: Raise) -> Escalation {
    if raise.allow_manifest_escalation { Escalation::Allowed } else { Escalation::Clamped }
}

/// Reads `--ignore-limit`.
pub(in crate::commands) fn limits(stepping: Stepping) -> LimitPolicy {
    if stepping.ignore_limit { LimitPolicy::Ignored } else { LimitPolicy::Heeded }
}

/// Reads `--allow-agent-override`.
pub(in crate::commands) fn consent(stepping: Stepping) -> OverrideConsent {
    if stepping.allow_agent_override { OverrideConsent::Given } else { OverrideConsent::NotGiven }
}
