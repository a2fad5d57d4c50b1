//! Planted faults as text.

use ratchet_eval::harness::Progress;
use ratchet_eval::invariant::Status;
use ratchet_eval::mutation::Mutation;
use ratchet_eval::mutation::attempt::{Attempt, Verdict};
use ratchet_eval::report::Overall;
use ratchet_eval::run_id::RunId;

use super::OVERRIDDEN;
use crate::commands::eval::{MutationResult, MutationRun, ReplayedMutant};
use crate::render::page::{Page, Tone};

/// What is about to be done.
pub(crate) fn beginning(page: &mut Page, run: &RunId, mutation: &Mutation) {
    page.tone(Tone::Heading, format_args!("{}: ", mutation.id));
    page.put(format_args!(
        "up to {} fault(s), judged by `{}`; run {run}",
        mutation.budget, mutation.test
    ));
    page.end();
}

/// How far it is.
pub(crate) fn progress(page: &mut Page, progress: &Progress) {
    match progress {
        Progress::Repaired { told } => {
            page.tone(Tone::Warn, "⚠ ").put(told).end();
        }
        Progress::Baseline { green: true, took_ms } => {
            page.tone(Tone::Dim, format_args!("baseline: green in {took_ms} ms")).end();
        }
        Progress::Baseline { green: false, took_ms } => {
            page.tone(Tone::Bad, format_args!("baseline: red after {took_ms} ms")).end();
        }
        Progress::Attempt { index, verdict, done, all } => {
            page.tone(Tone::Dim, format_args!("[{done}/{all}] "));
            page.put(format_args!("#{index} ")).tone(of(verdict), verdict).end();
        }
    }
}

fn of(word: &str) -> Tone {
    match word {
        "killed" => Tone::Good,
        "survived" => Tone::Bad,
        _ => Tone::Dim,
    }
}

/// What is left to be done after a stop.
pub(crate) fn stopped(page: &mut Page, run: &RunId) {
    page.put("Stopped; what was judged is kept. Go on with: ratchet eval mutate --resume ");
    page.put(run).end();
}

/// What all of it came to.
pub(crate) fn run(page: &mut Page, run: &MutationRun) {
    if run.agent_override.is_some() {
        page.tone(Tone::Warn, OVERRIDDEN).end();
    }
    page.tone(Tone::Heading, format_args!("Mutation run {}  ", run.run_id));
    match run.overall {
        Overall::Pass => page.tone(Tone::Good, "[PASS]"),
        Overall::Fail => page.tone(Tone::Bad, "[FAIL]"),
    };
    page.end();
    for one in &run.results {
        result(page, run, one);
    }
}

fn result(page: &mut Page, run: &MutationRun, result: &MutationResult) {
    let outcome = &result.outcome;
    let tone = match outcome.status {
        Status::Pass => Tone::Good,
        Status::Fail => Tone::Bad,
        Status::Unevaluable => Tone::Warn,
    };
    page.gap().tone(Tone::Heading, &outcome.id).put("  ").tone(tone, outcome.status.word()).end();
    let Some(outcomes) = &result.outcomes else {
        page.put("  ").put(outcome.evidence.replace('\n', "\n  ")).end();
        return;
    };
    page.put("  ").put(outcomes.totals.words()).end();
    if outcome.status == Status::Unevaluable {
        page.put("  ").put(outcome.evidence.replace('\n', "\n  ")).end();
    }
    for attempt in outcomes.attempts.iter().filter(|one| one.verdict == Verdict::Survived) {
        survivor(page, run, attempt);
    }
    for warning in &outcomes.warnings {
        page.tone(Tone::Warn, "  warn: ").put(warning).end();
    }
    page.tone(Tone::Dim, format_args!("  evidence: {}", result.evidence)).end();
}

fn survivor(page: &mut Page, run: &MutationRun, attempt: &Attempt) {
    page.tone(Tone::Bad, format_args!("  survived: attempt #{} ", attempt.index));
    page.put(attempt.files.join(", ")).end();
    diff(page, &attempt.excerpt);
    for note in &attempt.notes {
        page.tone(Tone::Dim, format_args!("    note: {note}")).end();
    }
    page.tone(Tone::Dim, "    again: ");
    page.put(format_args!("ratchet eval replay {} {}", run.run_id, attempt.index)).end();
}

fn diff(page: &mut Page, text: &str) {
    for line in text.lines() {
        let tone = match line.as_bytes().first() {
            Some(b'+') => Tone::Good,
            Some(b'-') => Tone::Bad,
            _ => Tone::Dim,
        };
        page.put("    ").tone(tone, line).end();
    }
}

/// A fault that was tried again.
pub(crate) fn replayed(page: &mut Page, replayed: &ReplayedMutant) {
    diff(page, &replayed.diff);
    let word = replayed.verdict.word();
    page.put(format_args!("#{} of {}: ", replayed.index, replayed.invariant)).tone(of(word), word);
    if let Verdict::Killed { cause } = &replayed.verdict {
        page.put(format_args!(" ({})", cause.words()));
    }
    match replayed.before {
        Some(before) if before != word => {
            page.tone(Tone::Warn, format_args!("; it was {before} in run {}", replayed.run_id));
        }
        Some(_) | None => {}
    }
    page.end();
}
