//! `ratchet batch status`: what is done, what is blocked, what runs, what comes next.

use ratchet_engine::permission::Escalation;
use ratchet_engine::status::json::StatusJson;
use serde::Serialize;

use super::running::Running;
use crate::args::batch::Show;
use crate::commands::{Ended, failed, open_configured, warn};
use crate::exit::Exit;
use crate::render::status;
use crate::ui::Ui;

/// What `batch status --json` prints.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    status: StatusJson<'a>,
    /// Absent while nothing runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<&'a Running>,
}

/// Shows a batch's status.
pub(super) fn run(args: &Show, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let batch = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    let snapshot = project.snapshot(&batch, Escalation::Clamped).map_err(failed)?;
    warn(project.file_warnings(&snapshot), ui);
    let found = project.status_of(&snapshot).map_err(failed)?;
    let running = Running::find(&project, &batch, ui);
    let shown = Shown { status: found.to_status_json(), running: running.as_ref() };
    ui.answer(args.output.format(), &shown, |page| {
        status::status(page, &found);
        if let Some(running) = &running {
            running.draw(page, &batch);
        }
    })?;
    Ok(Exit::Success)
}

#[cfg(test)]
pub(super) mod tests {
    use ratchet_engine::name::{BatchName, SpawnId, StepKey};
    use ratchet_engine::settings::GateMode;
    use ratchet_engine::status::{BatchState, BatchStatus, Progress};
    use ratchet_engine::transition::StepKind;
    use ratchet_supervisor::project::StepState;

    use super::*;
    use crate::render::page::{Ink, Page};
    use crate::schemas::assert_fits;

    /// A batch that has nothing in it yet.
    pub(in crate::commands::batch) fn without_phases() -> BatchStatus {
        BatchStatus {
            name: BatchName::parse("shop").unwrap(),
            status: BatchState::Empty,
            progress: Progress::default(),
            change_count: 0,
            done_count: 0,
            gate: GateMode::Voluntary,
            next: None,
            pull_request: None,
            phases: Vec::new(),
            usage: None,
        }
    }

    #[test]
    fn a_step_that_runs_is_shown() {
        let batch = without_phases();
        let running = Running {
            change: StepKey::from_text("add-cart"),
            transition: Some(StepKind::Apply),
            spawn: SpawnId::parse("01").unwrap(),
            started_at: "2026-07-02T09:05:01.000Z".into(),
            state: StepState::Running,
        };
        let mut page = Page::new(Ink::Plain);
        running.draw(&mut page, &batch.name);
        assert_eq!(
            page.finish(),
            "Running: apply of add-cart, since 2026-07-02T09:05:01.000Z (follow it: ratchet batch attach shop)\n"
        );
        let waiting = Running { state: StepState::Waiting, ..running.clone() };
        let mut page = Page::new(Ink::Plain);
        waiting.draw(&mut page, &batch.name);
        assert!(page.finish().starts_with("Waiting to start: apply of add-cart, since "));
        let shown = Shown { status: batch.to_status_json(), running: Some(&running) };
        assert_fits("status", &shown);
        assert_fits("status", &Shown { running: None, ..shown });
    }
}
