//! `batch status` as text, and the lines it shares with `batch view`: parks and what comes next
//! (spec `batch-status-and-selection` 2.5 and 7.1).

use ratchet_engine::name::{BatchName, ChangeName, PhaseName, StepKey};
use ratchet_engine::park::ParkKind;
use ratchet_engine::report::Channel;
use ratchet_engine::status::{
    BatchState, BatchStatus, ChangeState, ChangeStatus, DuePullRequest, Next, ParkView, PhaseState,
    PhaseStatus,
};

use super::bar::percent;
use super::page::{Page, Tone};
use super::usage::{figures, used};
use ratchet_engine::shell::quoted;

/// Draws a batch's status.
pub(crate) fn status(page: &mut Page, batch: &BatchStatus) {
    page.tone(Tone::Heading, format_args!("Batch: {}", batch.name)).end();
    if batch.change_count == 0 {
        no_changes(page, batch);
        used(page, batch);
        return;
    }
    summary(page, batch);
    used(page, batch);
    for phase in &batch.phases {
        page.gap();
        self::phase(page, batch, phase);
    }
    page.gap();
    next(page, batch);
}

/// Draws the hint for a batch that declares nothing yet.
pub(crate) fn no_changes(page: &mut Page, batch: &BatchStatus) {
    page.put("No changes yet. Add change intents to the phases in ")
        .put(format_args!(".ratchet/batches/{}/batch.yaml", batch.name));
    if let Some(Next::Decompose { phase }) = &batch.next {
        page.put(format_args!(
            ", or have an agent decompose phase {phase}: ratchet batch apply {}",
            quoted(batch.name.as_str())
        ));
    }
    page.end();
    for phase in &batch.phases {
        if let Some(park) = &phase.parked {
            page.put(format_args!("  Phase: {}", phase.name)).end();
            parked(page, &batch.name, &StepKey::of_decomposition(&phase.name), park);
        }
    }
}

fn summary(page: &mut Page, batch: &BatchStatus) {
    let (tone, state) = batch_state(batch.status);
    page.put("Status: ").tone(tone, state);
    page.put(format_args!(
        " · {}/{} changes done · {}/{} tasks · {}%",
        batch.done_count,
        batch.change_count,
        batch.progress.completed,
        batch.progress.total,
        percent(batch.progress)
    ))
    .end();
}

fn phase(page: &mut Page, batch: &BatchStatus, phase: &PhaseStatus) {
    phase_head(page, phase);
    for change in &phase.changes {
        self::change(page, &batch.name, change);
    }
    if phase.changes.is_empty() {
        page.tone(Tone::Dim, "  (not decomposed yet)").end();
    }
    if let Some(park) = &phase.parked {
        parked(page, &batch.name, &StepKey::of_decomposition(&phase.name), park);
    }
}

/// Draws a phase's name, goal and gate.
pub(crate) fn phase_head(page: &mut Page, phase: &PhaseStatus) {
    let (tone, symbol) = phase_state(phase.status);
    page.tone(tone, symbol).put(" ").tone(Tone::Heading, format_args!("Phase: {}", phase.name));
    page.put(format_args!(" — {}", phase.goal));
    if let Some(by) = &phase.gated_by {
        page.tone(Tone::Warn, format_args!(" (gated by {by})"));
    }
    page.end();
}

fn change(page: &mut Page, batch: &BatchName, change: &ChangeStatus) {
    let (tone, symbol) = change_state(change.status);
    page.put("  ").tone(tone, symbol).put(format_args!(" {}", change.name));
    if change.progress.total > 0 {
        page.put(format_args!(" [{}/{}]", change.progress.completed, change.progress.total));
    }
    if !change.after.is_empty() {
        page.tone(Tone::Dim, format_args!("  after: {}", names(&change.after)));
    }
    if !change.blocked_by.is_empty() {
        page.tone(Tone::Warn, format_args!("  blocked by {}", names(&change.blocked_by)));
    }
    if let Some(tally) = &change.usage {
        page.tone(Tone::Dim, format_args!("  {}", figures(tally)));
    }
    page.end();
    if let Some(park) = &change.parked {
        parked(page, batch, &StepKey::of_change(&change.name), park);
    }
}

/// Draws why a step waits and what frees it, below its change, its phase or its pull request.
pub(crate) fn parked(page: &mut Page, batch: &BatchName, key: &StepKey, park: &ParkView) {
    let waits = match park.kind {
        ParkKind::Blocked => "⚠ blocked: ",
        ParkKind::AwaitingApproval => "⏸ awaiting approval: ",
    };
    page.put("      ").tone(Tone::Warn, waits).put(indented(&park.reason));
    page.end().put("      ");
    let report = |flag| format!("{} {flag}", Channel::Batch(batch).report(key));
    match (park.kind, &park.answer, &park.feedback, park.approved) {
        (ParkKind::Blocked, Some(answer), _, _) => {
            page.tone(Tone::Good, "answered: ").put(indented(answer));
        }
        (ParkKind::Blocked, None, _, _) if park.retry_at.is_some() => {
            let at = park.retry_at.map(|at| at.to_string()).unwrap_or_default();
            let batch = quoted(batch.as_str());
            page.tone(Tone::Dim, format_args!("goes on by itself from {at} on; at once: "));
            page.tone(Tone::Dim, format_args!("ratchet batch apply {batch} --ignore-limit"));
        }
        (ParkKind::Blocked, None, _, _) if park.retry => {
            let batch = quoted(batch.as_str());
            page.tone(Tone::Dim, format_args!("run it again: ratchet batch apply {batch}"));
        }
        (ParkKind::Blocked, None, _, _) => {
            page.tone(Tone::Dim, format_args!("answer it: {}", report("--answer \"…\"")));
        }
        (ParkKind::AwaitingApproval, _, _, Some(true)) => {
            page.tone(Tone::Good, "approved");
        }
        (ParkKind::AwaitingApproval, _, Some(feedback), _) => {
            page.tone(Tone::Warn, "rejected: ").put(indented(feedback));
        }
        (ParkKind::AwaitingApproval, _, None, _) => {
            let reject = report("--reject \"…\"");
            page.tone(Tone::Dim, format_args!("approve it: {}", report("--approve")));
            page.end().put("      ").tone(Tone::Dim, format_args!("or reject it: {reject}"));
        }
    }
    page.end();
}

/// Draws what comes next.
pub(crate) fn next(page: &mut Page, batch: &BatchStatus) {
    if let Some(due) = &batch.pull_request {
        return pull_request(page, &batch.name, due);
    }
    match (&batch.next, batch.status) {
        (Some(Next::Change { phase, change }), _) => {
            page.tone(Tone::Busy, "Next: ").put(format_args!("{change} (phase {phase})"));
        }
        (Some(Next::Decompose { phase }), _) => {
            page.tone(Tone::Busy, "Next: ").put(format_args!("decompose phase {phase}"));
        }
        (Some(Next::Proof { phase }), _) => {
            page.tone(Tone::Busy, "Next: ").put(format_args!("proof-of-work of phase {phase}"));
        }
        (None, BatchState::Done) => {
            page.tone(Tone::Good, "All changes done.");
        }
        (None, BatchState::Empty | BatchState::Pending | BatchState::InProgress) => {
            match unproven(batch) {
                Some(phase) => page.tone(
                    Tone::Warn,
                    format_args!(
                        "No ready step: the proof-of-work of phase {phase} failed. When it is mended: \
                         ratchet batch rerun-proof {} --phase {}",
                        quoted(batch.name.as_str()),
                        quoted(phase.as_str())
                    ),
                ),
                None => {
                    page.tone(Tone::Warn, "No ready step. Everything is blocked, gated, or parked.")
                }
            };
        }
    }
    page.end();
}

/// Draws the pull request that is left when every change is done.
fn pull_request(page: &mut Page, batch: &BatchName, due: &DuePullRequest) {
    page.tone(Tone::Good, "All changes done.").end();
    page.tone(Tone::Busy, if due.held { "Pull request: " } else { "Next: pull request " });
    page.put(format_args!("{} ({})", due.key, names(&due.changes))).end();
    if let Some(park) = &due.parked {
        parked(page, batch, &due.key, park);
    }
}

/// The last phase, if its proof-of-work is all that a batch without a next step can be waiting for.
fn unproven(batch: &BatchStatus) -> Option<&PhaseName> {
    let worked_off = |phase: &PhaseStatus| !phase.changes.is_empty() && phase.gated_by.is_none();
    let all_done = batch.done_count == batch.change_count && batch.phases.iter().all(worked_off);
    batch.phases.last().filter(|_| all_done).map(|phase| &phase.name)
}

/// Gives the colour and the word of a batch's state.
pub(crate) fn batch_state(state: BatchState) -> (Tone, &'static str) {
    match state {
        BatchState::Empty => (Tone::Dim, "empty"),
        BatchState::Pending => (Tone::Dim, "pending"),
        BatchState::InProgress => (Tone::Busy, "in-progress"),
        BatchState::Done => (Tone::Good, "done"),
    }
}

/// Gives the colour and the symbol of a change's state.
pub(crate) fn change_state(state: ChangeState) -> (Tone, &'static str) {
    match state {
        ChangeState::Ready => (Tone::Dim, "○"),
        ChangeState::InProgress => (Tone::Busy, "◉"),
        ChangeState::AwaitingVerify => (Tone::Busy, "⧖"),
        ChangeState::Done => (Tone::Good, "✓"),
        ChangeState::Blocked => (Tone::Bad, "✗"),
        ChangeState::AwaitingApproval => (Tone::Warn, "⏸"),
    }
}

/// Gives the colour and the symbol of a phase's state.
pub(crate) fn phase_state(state: PhaseState) -> (Tone, &'static str) {
    match state {
        PhaseState::Pending => (Tone::Dim, "·"),
        PhaseState::InProgress => (Tone::Busy, "◉"),
        PhaseState::Done => (Tone::Good, "✓"),
        PhaseState::Blocked => (Tone::Bad, "✗"),
    }
}

fn names(names: &[ChangeName]) -> String {
    names.iter().map(ChangeName::as_str).collect::<Vec<_>>().join(", ")
}

/// Keeps the lines of a longer text together below their change.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n        ")
}

#[cfg(test)]
pub(crate) mod tests;
