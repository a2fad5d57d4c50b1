//! The step of a batch that runs now, for commands that only look.

use ratchet_engine::name::{BatchName, SpawnId, StepKey};
use ratchet_engine::shell::quoted;
use ratchet_engine::transition::StepKind;
use ratchet_supervisor::event;
use ratchet_supervisor::project::{Current, Project, StepState};
use serde::Serialize;

use crate::commands::failed;
use crate::render::page::{Page, Tone};
use crate::ui::Ui;

/// What `running` is in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Running {
    pub(super) change: StepKey,
    /// Absent for a proof-of-work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transition: Option<StepKind>,
    pub(super) spawn: SpawnId,
    pub(super) started_at: String,
    pub(super) state: StepState,
}

impl Running {
    /// Looks for it. That it cannot be told whether one runs is no reason to show nothing.
    pub(super) fn find(project: &Project, batch: &BatchName, ui: Ui) -> Option<Self> {
        match project.running(batch) {
            Ok(found) => found.map(|Current { step, state, .. }| Self {
                transition: match step.running() {
                    event::Running::Agent { kind, .. } => Some(kind),
                    event::Running::Proof => None,
                },
                change: step.key,
                spawn: step.spawn,
                started_at: step.started_at,
                state,
            }),
            Err(error) => {
                let why = failed(error).sentence();
                ui.tell(|page| {
                    page.tone(Tone::Warn, "⚠ cannot tell whether a step is running: ")
                        .put(why)
                        .end();
                });
                None
            }
        }
    }

    /// Draws it in one line.
    pub(super) fn draw(&self, page: &mut Page, batch: &BatchName) {
        page.tone(
            Tone::Busy,
            match self.state {
                StepState::Waiting => "Waiting to start: ",
                StepState::Running => "Running: ",
            },
        );
        match self.transition {
            Some(kind) => page.put(format_args!("{kind} of {}", self.change)),
            None => page.put(&self.change),
        };
        page.put(format_args!(", since {}", self.started_at));
        page.tone(
            Tone::Dim,
            format_args!(" (follow it: ratchet batch attach {})", quoted(batch.as_str())),
        );
        page.end();
    }
}
