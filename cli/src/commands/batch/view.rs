//! `ratchet batch view`: progress at a glance, where the agents run, and what holds them
//! (spec `batch-status-and-selection` 7.2).

use ratchet_engine::permission::{Escalation, Posture};
use ratchet_engine::settings::{Isolation, Key, Locus, Scope};
use ratchet_engine::status::json::ViewJson;
use ratchet_supervisor::agent::permission::Enforcement;
use serde::Serialize;

use super::config::enforcement_rows;
use crate::args::batch::Show;
use crate::commands::{Ended, failed, open_configured};
use crate::exit::Exit;
use crate::render::view;
use crate::ui::Ui;

/// What `batch view --json` prints.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    batch: ViewJson<'a>,
    runtime: Runtime,
    enforcement: &'a [Enforcement],
}

/// Where the agents run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Runtime {
    locus: Locus,
    posture: Posture,
    posture_source: Scope,
    isolation: Isolation,
}

/// Shows a batch.
pub(super) fn run(args: &Show, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let name = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    let snapshot = project.snapshot(&name, Escalation::Clamped).map_err(failed)?;
    let batch = project.status_of(&snapshot).map_err(failed)?;
    let enforcement = enforcement_rows(&snapshot.settings);
    let shown = Shown {
        batch: batch.to_view_json(),
        runtime: Runtime {
            locus: snapshot.settings.locus,
            posture: snapshot.settings.permissions.posture,
            posture_source: snapshot.settings.source(Key::Permissions),
            isolation: snapshot.settings.isolation(),
        },
        enforcement: &enforcement,
    };
    ui.answer(args.output.format(), &shown, |page| {
        view::view(page, &batch, &snapshot.settings, &enforcement);
    })?;
    Ok(Exit::Success)
}
