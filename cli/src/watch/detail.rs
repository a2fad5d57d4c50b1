//! What is to be known about the row that is chosen, below the tree.

use ratatui::text::Line;
use ratchet_engine::name::{BatchName, ChangeName};
use ratchet_engine::park::ParkKind;
use ratchet_engine::shell::quoted;
use ratchet_engine::status::{ChangeStatus, ParkView, PhaseStatus};

use super::look::{Budget, Found, ProofVerdict};
use super::rows::{Row, verdict};
use super::scroll::lines;
use crate::render::page::{Ink, Page, Tone};
use crate::render::status::{next, no_changes};
use crate::render::usage::used;

/// Draws it; the most important comes first, because the rest may not fit.
pub(crate) fn detail(row: Row<'_>, ink: Ink) -> Vec<Line<'static>> {
    let mut page = Page::new(ink);
    match row {
        Row::Batch(watched) => match &watched.found {
            Ok(found) => batch(&mut page, &watched.name, found),
            Err(why) => {
                page.put(why).end();
            }
        },
        Row::Phase(_, found, phase) => self::phase(&mut page, found, phase),
        Row::Change(_, _, change) => self::change(&mut page, change),
        Row::PullRequest(_, due) => {
            park(&mut page, due.parked.as_ref());
            page.put(format_args!("It covers {}.", names(&due.changes))).end();
        }
    }
    lines(page.finish(), ink)
}

fn batch(page: &mut Page, name: &BatchName, found: &Found) {
    let status = &found.status;
    for warning in &found.warnings {
        page.tone(Tone::Warn, "⚠ ").put(warning).end();
    }
    if status.change_count == 0 {
        no_changes(page, status);
    } else {
        next(page, status);
    }
    used(page, status);
    budget(page, found.budget);
    if found.step.is_none() && (status.next.is_some() || status.pull_request.is_some()) {
        let name = quoted(name.as_str());
        page.tone(Tone::Dim, format_args!("It goes on with: ratchet batch run {name}")).end();
    }
}

fn budget(page: &mut Page, budget: Budget) {
    let limits = [
        budget.usd.map(|usd| usd.to_string()),
        budget.tokens.map(|tokens| format!("{tokens} tokens")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if !limits.is_empty() {
        page.tone(Tone::Dim, format_args!("Budget: {}", limits.join(" · "))).end();
    }
}

fn phase(page: &mut Page, found: &Found, phase: &PhaseStatus) {
    park(page, phase.parked.as_ref());
    if let Some(proof) = found.proofs.get(&phase.name) {
        let (tone, text) = verdict(&proof.verdict);
        page.tone(tone, text);
        match &proof.verdict {
            ProofVerdict::Failed { why } | ProofVerdict::Warned { why } => {
                page.put(format_args!(": {}", why.trim_end()));
            }
            ProofVerdict::NotRun | ProofVerdict::Passed => {}
        }
        page.tone(Tone::Dim, format_args!(" · {}", proof.run.trim_end())).end();
    }
    page.put(format_args!("Goal: {}", phase.goal)).end();
    page.put(format_args!("Success: {}", phase.success)).end();
}

fn change(page: &mut Page, change: &ChangeStatus) {
    park(page, change.parked.as_ref());
    if !change.blocked_by.is_empty() {
        page.tone(Tone::Warn, format_args!("First: {}", names(&change.blocked_by))).end();
    }
    page.put(format_args!("Done when: {}", change.done)).end();
    if change.progress.total > 0 {
        let progress = change.progress;
        page.tone(Tone::Dim, format_args!("{}/{} tasks", progress.completed, progress.total)).end();
    }
}

/// Draws a park with the keys that free it, where `batch view` names commands.
fn park(page: &mut Page, park: Option<&ParkView>) {
    let Some(park) = park else { return };
    let sign = match park.kind {
        ParkKind::Blocked => "⚠ ",
        ParkKind::AwaitingApproval => "⏸ ",
    };
    page.tone(Tone::Warn, sign).put(park.reason.trim_end()).end();
    match (park.kind, &park.answer, &park.feedback, park.approved) {
        (ParkKind::Blocked, Some(answer), _, _) => {
            page.tone(Tone::Good, "answered: ").put(answer.trim_end());
        }
        (ParkKind::Blocked, None, _, _) => match park.retry_at {
            Some(at) => {
                page.tone(Tone::Dim, format_args!("it goes on by itself from {at} on"));
            }
            None if park.retry => {
                page.tone(Tone::Dim, "nothing is asked: the next run does it again");
            }
            None => {
                page.tone(Tone::Dim, "i answers");
            }
        },
        (ParkKind::AwaitingApproval, _, _, Some(true)) => {
            page.tone(Tone::Good, "approved");
        }
        (ParkKind::AwaitingApproval, _, Some(feedback), _) => {
            page.tone(Tone::Warn, "rejected: ").put(feedback.trim_end());
        }
        (ParkKind::AwaitingApproval, _, None, _) => {
            page.tone(Tone::Dim, "a approves, r rejects with a reason");
        }
    }
    page.end();
}

fn names(names: &[ChangeName]) -> String {
    names.iter().map(ChangeName::as_str).collect::<Vec<_>>().join(", ")
}
