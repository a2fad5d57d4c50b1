//! The tree of batches, phases and changes: which rows there are, and how each reads.
//!
//! A row says the same as its line in `batch view`, in the same colours and figures, as far as it fits.

use std::collections::BTreeSet;

use ratatui::text::Line;
use ratchet_engine::name::{BatchName, ChangeName, PhaseName, StepKey};
use ratchet_engine::park::ParkKind;
use ratchet_engine::status::{ChangeStatus, DuePullRequest, Next, ParkView, PhaseStatus};
use ratchet_engine::time::Timestamp;
use ratchet_supervisor::project::StepState;

use super::look::{Found, Look, ProofVerdict, Step, Watched};
use super::scroll::{columns, fitted, lines};
use crate::render::bar::{NARROW, WIDE, bar, percent};
use crate::render::page::{Ink, Page, Tone};
use crate::render::status::{batch_state, change_state, phase_state};
use crate::render::usage::figures;

/// From this width on there is room for bars.
const ROOMY: usize = 72;

/// The widest column of names; a longer name pushes its row to the right.
const LONGEST_NAME: usize = 24;

/// What a row stands for. It keeps its meaning while the rows around it come and go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Batch(BatchName),
    Phase(BatchName, PhaseName),
    Change(BatchName, ChangeName),
    PullRequest(BatchName),
}

/// A row with what it shows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Row<'a> {
    Batch(&'a Watched),
    Phase(&'a Watched, &'a Found, &'a PhaseStatus),
    Change(&'a Watched, &'a Found, &'a ChangeStatus),
    PullRequest(&'a Watched, &'a DuePullRequest),
}

/// What rows are drawn with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Brush<'a> {
    pub(crate) ink: Ink,
    pub(crate) width: usize,
    pub(crate) now: Timestamp,
    pub(crate) shut: &'a BTreeSet<Place>,
}

/// Gives the rows, from top to bottom; what is shut hides what is in it.
pub(crate) fn rows<'a>(look: &'a Look, shut: &BTreeSet<Place>) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for batch in &look.batches {
        rows.push(Row::Batch(batch));
        let Ok(found) = &batch.found else { continue };
        if shut.contains(&Place::Batch(batch.name.clone())) {
            continue;
        }
        for phase in &found.status.phases {
            rows.push(Row::Phase(batch, found, phase));
            if !shut.contains(&Place::Phase(batch.name.clone(), phase.name.clone())) {
                let change = |change| Row::Change(batch, found, change);
                rows.extend(phase.changes.iter().map(change));
            }
        }
        let due = found.status.pull_request.as_ref();
        rows.extend(due.map(|due| Row::PullRequest(batch, due)));
    }
    rows
}

impl<'a> Row<'a> {
    pub(crate) fn place(self) -> Place {
        match self {
            Self::Batch(batch) => Place::Batch(batch.name.clone()),
            Self::Phase(batch, _, phase) => Place::Phase(batch.name.clone(), phase.name.clone()),
            Self::Change(batch, _, change) => {
                Place::Change(batch.name.clone(), change.name.clone())
            }
            Self::PullRequest(batch, _) => Place::PullRequest(batch.name.clone()),
        }
    }

    pub(crate) fn batch(self) -> &'a Watched {
        match self {
            Self::Batch(batch)
            | Self::Phase(batch, ..)
            | Self::Change(batch, ..)
            | Self::PullRequest(batch, _) => batch,
        }
    }

    /// Returns the keys of the steps that the row stands for: the one that can be parked first. A batch has none of its own.
    pub(crate) fn keys(self) -> Vec<StepKey> {
        match self {
            Self::Batch(_) => Vec::new(),
            Self::Phase(_, _, phase) => {
                vec![StepKey::of_decomposition(&phase.name), StepKey::of_proof(&phase.name)]
            }
            Self::Change(_, _, change) => vec![StepKey::of_change(&change.name)],
            Self::PullRequest(_, due) => vec![due.key.clone()],
        }
    }

    /// Returns what a person should see to there, or has seen to.
    pub(crate) fn park(self) -> Option<&'a ParkView> {
        match self {
            Self::Batch(_) => None,
            Self::Phase(_, _, phase) => phase.parked.as_ref(),
            Self::Change(_, _, change) => change.parked.as_ref(),
            Self::PullRequest(_, due) => due.parked.as_ref(),
        }
    }

    /// Says whether a person is waited for there.
    pub(crate) fn waits(self) -> bool {
        self.park().is_some_and(|park| match park.kind {
            ParkKind::Blocked => park.answer.is_none() && park.retry_at.is_none() && !park.retry,
            ParkKind::AwaitingApproval => park.feedback.is_none() && park.approved != Some(true),
        })
    }

    /// Draws the row in one line.
    pub(crate) fn line(self, brush: Brush<'_>) -> Line<'static> {
        let mut page = Page::new(brush.ink);
        match self {
            Self::Batch(watched) => batch(&mut page, watched, self.fold(brush), brush),
            Self::Phase(_, found, status) => {
                phase(&mut page, found, status, self.fold(brush), brush);
            }
            Self::Change(_, found, status) => change(&mut page, found, status, brush),
            Self::PullRequest(watched, due) => {
                page.put("  ⇪ pull request ").put(due.key.as_str());
                flag(&mut page, step_of(watched, &self.keys()), due.parked.as_ref(), brush);
            }
        }
        // A name with a line break in it stays one row.
        let line = lines(page.finish(), brush.ink).into_iter().next().unwrap_or_default();
        fitted(line, brush.width)
    }

    fn fold(self, brush: Brush<'_>) -> &'static str {
        if brush.shut.contains(&self.place()) { "▸" } else { "▾" }
    }
}

fn batch(page: &mut Page, watched: &Watched, fold: &str, brush: Brush<'_>) {
    let name = one_line(watched.name.as_str());
    page.put(fold).put(" ").tone(Tone::Heading, &name).put("  ");
    let found = match &watched.found {
        Ok(found) => found,
        Err(why) => {
            page.tone(Tone::Bad, "✗ invalid: ").put(one_line(why));
            return;
        }
    };
    let status = &found.status;
    let (tone, state) = batch_state(status.status);
    if status.change_count > 0 {
        if brush.width >= ROOMY {
            page.tone(Tone::Busy, bar(status.progress, WIDE)).put(" ");
        }
        page.put(format_args!("{}%", percent(status.progress)));
        page.put(format_args!("  {}/{} changes  ", status.done_count, status.change_count));
    }
    page.tone(tone, state);
    if let Some(tally) = &status.usage {
        page.tone(Tone::Dim, format_args!("  {}", figures(tally)));
    }
    if !found.warnings.is_empty() {
        page.tone(Tone::Warn, "  ⚠");
    }
}

fn phase(page: &mut Page, found: &Found, phase: &PhaseStatus, fold: &str, brush: Brush<'_>) {
    let (tone, symbol) = phase_state(phase.status);
    page.put("  ").put(fold).put(" ").tone(tone, symbol).put(" ");
    page.tone(Tone::Heading, one_line(phase.name.as_str()));
    let keys = [StepKey::of_decomposition(&phase.name), StepKey::of_proof(&phase.name)];
    let step = found.step.as_ref().filter(|step| keys.contains(&step.key));
    flag(page, step, phase.parked.as_ref(), brush);
    if let Some(by) = &phase.gated_by {
        page.tone(Tone::Warn, format_args!("  gated by {}", one_line(by)));
    }
    if let Some(proof) = found.proofs.get(&phase.name) {
        let (tone, text) = verdict(&proof.verdict);
        page.tone(tone, format_args!("  {text}"));
    }
    if phase.changes.is_empty() {
        page.tone(Tone::Dim, "  not decomposed yet");
    }
    page.tone(Tone::Dim, format_args!("  {}", one_line(&phase.goal)));
}

/// Gives the colour and the words of a proof's verdict.
pub(crate) fn verdict(verdict: &ProofVerdict) -> (Tone, &'static str) {
    match verdict {
        ProofVerdict::NotRun => (Tone::Dim, "proof not run"),
        ProofVerdict::Passed => (Tone::Good, "proof passed"),
        ProofVerdict::Warned { .. } => (Tone::Warn, "proof failed, gate open"),
        ProofVerdict::Failed { .. } => (Tone::Bad, "proof failed"),
    }
}

fn change(page: &mut Page, found: &Found, change: &ChangeStatus, brush: Brush<'_>) {
    let (tone, symbol) = change_state(change.status);
    let name = one_line(change.name.as_str());
    page.put("      ").tone(tone, symbol).put(" ").put(&name);
    page.put(" ".repeat(name_column(found).saturating_sub(columns(&name)) + 2));
    if brush.width >= ROOMY {
        page.tone(tone, bar(change.progress, NARROW)).put(" ");
    }
    match change.progress.total {
        0 => page.put("   –"),
        _ => page.put(format_args!("{:>3}%", percent(change.progress))),
    };
    let key = StepKey::of_change(&change.name);
    let step = found.step.as_ref().filter(|step| step.key == key);
    flag(page, step, change.parked.as_ref(), brush);
    if step.is_none() {
        next_move(page, found, change);
    }
    if let Some(tally) = change.usage.as_ref().filter(|_| brush.width >= ROOMY) {
        page.tone(Tone::Dim, format_args!("  {}", figures(tally)));
    }
}

/// Draws what would be done to a change next.
fn next_move(page: &mut Page, found: &Found, change: &ChangeStatus) {
    if let Some(kind) = found.moves.get(&change.name) {
        let is_next = matches!(
            &found.status.next,
            Some(Next::Change { change: next, .. }) if *next == change.name
        );
        let (tone, sign) = if is_next { (Tone::Busy, "→ ") } else { (Tone::Dim, "") };
        page.put("  ").tone(tone, format_args!("{sign}{kind}"));
    }
    if let Some(by) = change.blocked_by.first() {
        let more = match change.blocked_by.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        page.tone(Tone::Warn, format_args!("  after {}{more}", one_line(by.as_str())));
    }
}

/// Draws what goes on there: the step that runs, else what is waited for.
fn flag(page: &mut Page, step: Option<&Step>, park: Option<&ParkView>, brush: Brush<'_>) {
    if let Some(step) = step {
        page.put("  ").tone(Tone::Busy, running(step, brush.now));
        return;
    }
    let Some(park) = park else { return };
    let (tone, text) = match park.kind {
        ParkKind::Blocked if park.answer.is_some() => (Tone::Good, "answered"),
        ParkKind::Blocked if park.retry_at.is_some() => (Tone::Dim, "⏸ waits for a limit"),
        ParkKind::Blocked if park.retry => (Tone::Warn, "⚠ to be run again"),
        ParkKind::Blocked => (Tone::Warn, "⚠ needs an answer"),
        ParkKind::AwaitingApproval if park.approved == Some(true) => (Tone::Good, "approved"),
        ParkKind::AwaitingApproval if park.feedback.is_some() => (Tone::Warn, "rejected"),
        ParkKind::AwaitingApproval => (Tone::Warn, "⏸ needs approval"),
    };
    page.put("  ").tone(tone, text);
}

/// Says what runs and for how long, in a few words.
fn running(step: &Step, now: Timestamp) -> String {
    let what = step.kind.map_or("proof-of-work", |kind| kind.as_str());
    match step.state {
        StepState::Running => format!("▶ {what} {}", step.elapsed(now)),
        StepState::Waiting => format!("▷ {what} waits to start {}", step.elapsed(now)),
    }
}

fn step_of<'a>(watched: &'a Watched, keys: &[StepKey]) -> Option<&'a Step> {
    let found = watched.found.as_ref().ok()?;
    found.step.as_ref().filter(|step| keys.contains(&step.key))
}

fn name_column(found: &Found) -> usize {
    let names = found.status.phases.iter().flat_map(|phase| &phase.changes);
    let widest = names.map(|change| columns(change.name.as_str())).max();
    widest.unwrap_or_default().min(LONGEST_NAME)
}

/// Keeps a text on its row.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
