//! How a step ended, as text (spec `batch-status-and-selection` 6.3 to 6.7).

use ratchet_engine::outcome::{StepResult, StepState};
use ratchet_engine::park::{Park, Standing};
use ratchet_engine::report::{
    ApplyReport, Channel, ParkedReport, ProofReport, Waiting, hint, wait_hint,
};
use ratchet_engine::settings::ProofPolicy;
use ratchet_engine::shell::quoted;
use ratchet_engine::time::Timestamp;

use super::page::{Page, Tone};

/// What is said of a step that ran: by a batch, or by a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A step of a batch.
    Batch,
    /// `ratchet propose`
    Propose,
    /// `ratchet apply`
    Apply,
    /// `ratchet verify`
    Verify,
}

/// Draws how an agent's step ended.
pub(crate) fn result(page: &mut Page, result: &StepResult, manner: Manner) {
    if result.agent_override {
        page.tone(Tone::Warn, "⚠ agent overridden by RATCHET_BATCH_AGENT_CMD").end();
    }
    let (title, success) = match manner {
        Manner::Batch => ("Ran:", "advanced"),
        Manner::Propose => ("Proposed:", "change proposed"),
        Manner::Apply => ("Applied:", "change advanced through apply"),
        Manner::Verify => ("Verified:", "change verified"),
    };
    let title = if result.ran() { title } else { "Not started:" };
    page.tone(Tone::Heading, title).put(format_args!(" {}", result.change));
    if manner == Manner::Batch || !result.ran() {
        page.put(format_args!(" ({})", result.transition));
    }
    page.end();
    outcome(page, result, manner, success);
    for note in &result.notes {
        page.tone(Tone::Dim, format_args!("  note: {note}")).end();
    }
}

/// Draws what a step that has just halted waits for, below how it ended.
pub(crate) fn waits(page: &mut Page, result: &StepResult, park: &Park, channel: Channel<'_>) {
    if let Some(kind) = park.transition.filter(|kind| *kind != result.transition) {
        page.put(format_args!("It is the {kind} of '{}' that waits.", park.key)).end();
    }
    let way_on = match channel {
        Channel::Batch(batch) if park.standing() == Standing::Retry => {
            format!("run it again with `ratchet batch apply {}`", quoted(batch.as_str()))
        }
        Channel::Batch(batch) if park.waits_for_a_moment() => wait_hint(batch),
        Channel::OnlyBatch | Channel::Batch(_) | Channel::Alone(_) => {
            hint(park.kind, &park.key, channel)
        }
    };
    page.put(format_args!("To proceed: {way_on}")).end();
}

fn outcome(page: &mut Page, result: &StepResult, manner: Manner, success: &str) {
    let said = result.message.as_deref().filter(|text| !text.trim().is_empty());
    match result.state {
        StepState::Advanced => {
            page.tone(Tone::Good, format_args!("✓ {success}"));
            page.put(format_args!(" — {}", said.unwrap_or("step complete")));
        }
        StepState::Blocked => {
            let blocker = result.blocker.as_deref().unwrap_or("needs input");
            page.tone(Tone::Warn, "⚠ blocked").put(format_args!(" — {blocker}"));
            if manner != Manner::Batch {
                page.put(" (resumable)");
            }
        }
        StepState::AwaitingApproval => {
            let request = result.approval_request.as_deref().unwrap_or("approve the result");
            page.tone(Tone::Warn, "⏸ awaiting approval").put(format_args!(" — {request}"));
        }
        StepState::NothingReady => {
            page.put(said.unwrap_or("nothing-ready"));
        }
    }
    page.end();
}

/// Says until when a run waits.
pub(crate) fn waiting(page: &mut Page, now: Timestamp, until: Timestamp) {
    let minutes = (until.unix_ms().saturating_sub(now.unix_ms())).max(0) / 60_000;
    let left = match (minutes / 60, minutes % 60) {
        (0, 0) => "less than a minute".to_owned(),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    };
    page.tone(Tone::Warn, format_args!("⏳ waiting until {until}")).put(format_args!(" ({left})"));
    page.tone(Tone::Dim, ", then the run goes on; Ctrl-C ends it").end();
}

/// Draws what one `batch apply` came to.
pub(crate) fn report(page: &mut Page, report: &ApplyReport) {
    match report {
        ApplyReport::Step(step) => result(page, step, Manner::Batch),
        ApplyReport::Parked(parked) => self::parked(page, parked),
        ApplyReport::NothingReady(nothing) => {
            page.put(&nothing.message).end();
            proceed(page, nothing.hint.as_deref());
        }
        ApplyReport::Proof(proof) => self::proof(page, proof),
    }
}

fn proof(page: &mut Page, proof: &ProofReport) {
    let policy = match proof.policy {
        ProofPolicy::HardGate => "hard-gate",
        ProofPolicy::Warn => "warn",
    };
    page.tone(Tone::Heading, "Proof-of-work: ");
    page.put(format_args!("{} ({policy})", proof.phase)).end();
    match (proof.passed, proof.policy) {
        (true, ProofPolicy::HardGate | ProofPolicy::Warn) => page.tone(Tone::Good, "✓ passed"),
        (false, ProofPolicy::Warn) => page.tone(Tone::Warn, "⚠ failed (warn)"),
        (false, ProofPolicy::HardGate) => page.tone(Tone::Bad, "✗ failed"),
    };
    page.put(format_args!(" — {}", proof.detail)).end();
    proceed(page, proof.hint.as_deref());
}

fn proceed(page: &mut Page, hint: Option<&str>) {
    if let Some(hint) = hint {
        page.put(format_args!("To proceed: {hint}")).end();
    }
}

fn parked(page: &mut Page, parked: &ParkedReport) {
    let Waiting { change, reason, hint, .. } = &parked.first;
    page.tone(Tone::Warn, format_args!("Step '{change}' did not advance"));
    page.put(format_args!(" ({reason}).")).end();
    page.put(format_args!("To proceed: {hint}")).end();
    for Waiting { change, reason, .. } in &parked.others {
        page.tone(Tone::Dim, format_args!("Also waiting: '{change}' ({reason})")).end();
    }
}

#[cfg(test)]
mod tests;
