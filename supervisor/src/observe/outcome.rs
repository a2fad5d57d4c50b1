//! Judging and recording, as telemetry sees them: which rule decided, on what evidence, and how long the disk took.

use std::time::Instant;

use ratchet_engine::change::ChangeFacts;
use ratchet_engine::journal::EntryKind;
use ratchet_engine::outcome::{Session, Verdict};
use ratchet_engine::park::ParkChange;
use ratchet_engine::proof::ProofRecord;
use ratchet_telemetry::name::{Attribute, EventName, MetricName, SpanName};
use ratchet_telemetry::{TraceSpan, metric};

use super::{count, evidence, millis, word};

/// A session is judged.
pub(crate) fn judged(step: &TraceSpan, session: &Session, verdict: &Verdict) {
    let span = step.child(SpanName::OutcomeMap);
    if !span.is_recording() {
        return;
    }
    span.set_some(Attribute::Rule, verdict.rule.map(|rule| rule.as_str()));
    span.set(Attribute::StepState, word(&verdict.result.state));
    span.set(Attribute::Claim, claim(session));
    span.set(Attribute::ReportCount, count(session.reports.len()));
    let shown = |facts: &Option<ChangeFacts>| facts.as_ref().map(evidence);
    span.set_some(Attribute::EvidenceBefore, shown(&session.before));
    span.set_some(Attribute::EvidenceAfter, shown(&session.after));
    span.end();
}

/// The first question counts, else the first completion.
fn claim(session: &Session) -> &'static str {
    let said = |kind| session.reports.iter().any(|report| report.kind == kind);
    if said(EntryKind::Blocker) {
        "blocker"
    } else if said(EntryKind::NeedsInput) {
        "needs-input"
    } else if said(EntryKind::Completion) {
        "completion"
    } else {
        "none"
    }
}

/// A proof-of-work is judged; `proof` is the span that its command ran in.
pub(crate) fn proved(proof: &TraceSpan, record: &ProofRecord) {
    proof.set(Attribute::TestStatus, if record.passed { "success" } else { "failure" });
    proof.set(Attribute::GatePassed, record.gate_passed);
    proof.set(Attribute::ProofPolicy, word(&record.policy));
    if !record.passed {
        proof.fail(word(&record.reason));
    }
    proof.end();
}

/// A proof-of-work was cut short, so that there is nothing to judge.
pub(crate) fn unproved(proof: &TraceSpan) {
    proof.fail("cut-short");
    proof.end();
}

/// Writes an outcome, and tells how long that took. It counts as written when it is synced.
pub(crate) fn recorded<T, E>(
    step: &TraceSpan,
    write: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let span = step.child(SpanName::JournalAppend);
    let begun = Instant::now();
    let written = span.in_scope(write);
    let took = begun.elapsed();
    span.set(Attribute::SyncMs, millis(took));
    if written.is_err() {
        span.fail("not-written");
    }
    span.end();
    metric::took(MetricName::JournalSync, took, []);
    written
}

/// The step waits for a person from now on.
pub(crate) fn parked(step: &TraceSpan, change: &ParkChange) {
    if let ParkChange::Set(park) = change {
        let kind = word(&park.kind).into_owned();
        let length = count(park.reason.len());
        step.set(Attribute::ParkKind, kind.clone());
        let facts = [(Attribute::ParkKind, kind.into()), (Attribute::ReasonLength, length.into())];
        step.event(EventName::Park, facts);
    }
}
