//! How far a change is planned, as text (spec `cli-core` 7.1).

use ratchet_engine::schema::ArtifactState;
use ratchet_supervisor::project::planning::PlanningStatus;

use super::page::{Page, Tone};

/// Draws it.
pub(crate) fn status(page: &mut Page, status: &PlanningStatus) {
    let rows = [
        ("Change", status.change_name.to_string()),
        ("Schema", status.schema_name.clone()),
        ("Planning home", status.planning_home.root.display().to_string()),
        ("Change root", status.change_root.display().to_string()),
    ];
    for (name, value) in rows {
        page.tone(Tone::Heading, format_args!("{name}: ")).put(value).end();
    }
    let is_done = |state: ArtifactState| state == ArtifactState::Done;
    let done = status.artifacts.iter().filter(|row| is_done(row.status)).count();
    page.put(format_args!("Progress: {done}/{} artifacts complete", status.artifacts.len())).end();
    page.gap();
    for row in &status.artifacts {
        let (tone, mark) = match row.status {
            ArtifactState::Done => (Tone::Good, "[x]"),
            ArtifactState::Ready => (Tone::Busy, "[ ]"),
            ArtifactState::Blocked => (Tone::Dim, "[-]"),
        };
        page.tone(tone, mark).put(format_args!(" {}", row.id));
        if !row.missing_deps.is_empty() {
            let by = row.missing_deps.join(", ");
            page.tone(Tone::Dim, format_args!(" (blocked by: {by})"));
        }
        page.end();
    }
    page.gap();
    if status.is_complete {
        page.tone(Tone::Good, "All artifacts complete!").end();
    } else {
        for step in &status.next_steps {
            page.tone(Tone::Dim, format_args!("Next: {step}")).end();
        }
    }
}
