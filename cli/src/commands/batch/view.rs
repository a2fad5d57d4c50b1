//! `ratchet batch view`: progress at a glance, where the agents run, and what holds them
//! (spec `batch-status-and-selection` 7.2).

use ratchet_engine::permission::{Escalation, Posture};
use ratchet_engine::settings::{Isolation, Key, Locus, Scope, Settings};
use ratchet_engine::status::BatchStatus;
use ratchet_engine::status::json::ViewJson;
use ratchet_supervisor::agent::permission::Enforcement;
use serde::Serialize;

use super::config::enforcement_rows;
use crate::args::batch::View;
use crate::commands::watch;
use crate::commands::{Ended, failed, open_configured, warn};
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
pub(super) fn run(args: &View, ui: Ui) -> Ended {
    let project = open_configured(ui)?;
    let name = project.resolve_batch(args.name.as_deref()).map_err(failed)?;
    if args.watch {
        return watch::run(project, &watch::Scope::One(name), args.output.format(), ui);
    }
    let snapshot = project.snapshot(&name, Escalation::Clamped).map_err(failed)?;
    warn(project.file_warnings(&snapshot), ui);
    let batch = project.status_of(&snapshot).map_err(failed)?;
    let enforcement = enforcement_rows(&snapshot.settings);
    let shown = Shown::of(&batch, &snapshot.settings, &enforcement);
    ui.answer(args.output.format(), &shown, |page| {
        view::view(page, &batch, &snapshot.settings, &enforcement);
    })?;
    Ok(Exit::Success)
}

impl<'a> Shown<'a> {
    fn of(batch: &'a BatchStatus, settings: &Settings, enforcement: &'a [Enforcement]) -> Self {
        let runtime = Runtime {
            locus: settings.locus,
            posture: settings.permissions.posture,
            posture_source: settings.source(Key::Permissions),
            isolation: settings.isolation(),
        };
        Self { batch: batch.to_view_json(), runtime, enforcement }
    }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::settings::{Layer, resolve};

    use super::*;
    use crate::commands::batch::status::tests::without_phases;
    use crate::schemas::assert_fits;

    // B-V21
    #[test]
    fn the_answer_fits_its_schema() {
        let batch = without_phases();
        let settings = resolve(None, &Layer::default(), None, Escalation::Clamped);
        assert_fits("view", &Shown::of(&batch, &settings, &[]));
    }
}
