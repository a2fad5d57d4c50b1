//! `batch view` as text: bars, the runtime, parks and what is next (spec `batch-status-and-selection` 7.2).

use ratchet_engine::name::StepKey;
use ratchet_engine::settings::{Key, Settings, Word as _};
use ratchet_engine::status::{BatchStatus, ChangeStatus};
use ratchet_supervisor::agent::permission::Enforcement;

use super::bar::{NARROW, WIDE, bar, percent};
use super::page::{Page, Tone};
use super::settings;
use super::status::{batch_state, change_state, next, no_changes, parked, phase_head};
use super::usage::{figures, used};

/// Draws a batch.
pub(crate) fn view(
    page: &mut Page,
    batch: &BatchStatus,
    settings: &Settings,
    enforcement: &[Enforcement],
) {
    let (tone, state) = batch_state(batch.status);
    page.tone(Tone::Heading, format_args!("Batch: {}", batch.name)).put("  ").tone(tone, state);
    page.end();
    if batch.change_count == 0 {
        no_changes(page, batch);
        return;
    }
    page.tone(Tone::Busy, bar(batch.progress, WIDE)).put(format_args!(
        " {}%  {}/{} tasks  {}/{} changes done",
        percent(batch.progress),
        batch.progress.completed,
        batch.progress.total,
        batch.done_count,
        batch.change_count
    ));
    page.end();
    used(page, batch);
    page.gap();
    runtime(page, settings, enforcement);
    for phase in &batch.phases {
        page.gap();
        phase_head(page, phase);
        for change in &phase.changes {
            self::change(page, change);
            if let Some(park) = &change.parked {
                parked(page, &batch.name, &StepKey::of_change(&change.name), park);
            }
        }
        if let Some(park) = &phase.parked {
            parked(page, &batch.name, &StepKey::of_decomposition(&phase.name), park);
        }
    }
    page.gap();
    next(page, batch);
}

fn runtime(page: &mut Page, settings: &Settings, enforcement: &[Enforcement]) {
    page.tone(Tone::Heading, "Runtime: ").put(format_args!(
        "{} · posture {} [{}]",
        settings.locus.as_str(),
        settings.permissions.posture.as_str(),
        settings.source(Key::Permissions).as_str()
    ));
    page.end();
    settings::isolation(page, settings);
    if !enforcement.is_empty() {
        settings::enforcement(page, enforcement);
    }
}

fn change(page: &mut Page, change: &ChangeStatus) {
    let (tone, symbol) = change_state(change.status);
    page.put("  ").tone(tone, symbol).put(" ").tone(tone, bar(change.progress, NARROW));
    page.put(format_args!(" {:>3}%  {}", percent(change.progress), change.name));
    if change.progress.total > 0 {
        page.tone(
            Tone::Dim,
            format_args!("  {}/{}", change.progress.completed, change.progress.total),
        );
    }
    if let Some(tally) = &change.usage {
        page.tone(Tone::Dim, format_args!("  {}", figures(tally)));
    }
    page.end();
}
