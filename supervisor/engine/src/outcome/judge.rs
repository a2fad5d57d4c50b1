//! Judges a session: one branch after the other, in the order of spec `step-and-outcome` 6.1. Pure; nothing is read here.

use super::attribution;
use super::evidence;
use super::{
    BlockedBy, Report, Rule, Session, SessionEnd, StepResult, StepState, Subject, Verdict,
};
use crate::approval::parks_for_approval;
use crate::journal::EntryKind;
use crate::transition::StepKind;

/// How much of a transcript goes into a result, in characters.
const TRANSCRIPT: usize = 2000;

/// What one branch concludes.
struct Conclusion {
    rule: Rule,
    state: StepState,
    blocker: Option<String>,
    approval_request: Option<String>,
    detail: Option<String>,
    message: String,
    /// The process failed, or says so itself; not only the work.
    failed: bool,
}

/// Judges what an agent's session amounts to. The seed calls it `mapSessionToOutcome`.
pub fn judge(subject: &Subject, session: &Session) -> Verdict {
    let kind = subject.kind;
    let conclusion = conclude(subject, session);
    let rule = Some(conclusion.rule);
    let entry_kind = entry_kind(conclusion.state, kind);
    let entry_message = conclusion.message.clone();
    let mut result = StepResult::new(conclusion.state, subject.key.clone(), kind);
    result.blocker = conclusion.blocker;
    result.approval_request = conclusion.approval_request;
    if conclusion.failed {
        result.cause = session.cause();
        result.retry_at = session.told().and_then(|told| told.retry_at);
    }
    result.detail = conclusion.detail;
    result.message = Some(conclusion.message);
    result.journal_refs = Some(session.reports.iter().map(|report| report.index).collect());
    result.agent_override = session.via.is_some();
    result.spawn_id = Some(session.spawn.clone());
    result.not_started = session.end.never_started().is_some();
    result.notes.extend(session.end.note().map(ToOwned::to_owned));
    result.notes.extend(account_note(result.state, session));
    Verdict { result, entry_kind, entry_message, blocked_by: blocked_by(session), rule }
}

fn blocked_by(session: &Session) -> BlockedBy {
    if session.reports.iter().any(|report| is_question(report.kind)) {
        return BlockedBy::Agent;
    }
    match session.end {
        SessionEnd::Stopped { .. } | SessionEnd::NotStarted { .. } => BlockedBy::Person,
        SessionEnd::Exited(_)
        | SessionEnd::Signaled(_)
        | SessionEnd::TimedOut { .. }
        | SessionEnd::Lingered
        | SessionEnd::OutOfMemory
        | SessionEnd::OutputLimit { .. }
        | SessionEnd::Lost { .. } => BlockedBy::Evidence,
    }
}

fn conclude(subject: &Subject, session: &Session) -> Conclusion {
    let kind = subject.kind;
    let reported =
        |wanted: fn(EntryKind) -> bool| session.reports.iter().find(|report| wanted(report.kind));
    if let Some(question) = reported(is_question) {
        return asked(question, kind);
    }
    let failure = session.end.failure();
    match (reported(is_completion), failure) {
        (None, Some(how)) => failed(kind, session, &how),
        (None, None) => silent(kind, session),
        (Some(completion), failure) => {
            let mismatch = evidence::mismatch(kind, session, &completion.message);
            if let Some(reason) = mismatch {
                blocked(
                    Rule::Contradicted,
                    format!("Reported complete but disk disagrees: {reason}."),
                )
            } else if let Some(how) = failure {
                let how = because(session, &how);
                let text = format!(
                    "Agent reported completion but {how} — the reported work may be incomplete; \
                     review and resume."
                );
                Conclusion { failed: true, ..blocked(Rule::CompletedBadly, text) }
            } else {
                completed(subject, completion)
            }
        }
    }
}

/// Branch 1: the first question counts, whatever else was said.
fn asked(question: &Report, kind: StepKind) -> Conclusion {
    Conclusion {
        blocker: Some(question.message.clone()),
        ..blocked(Rule::Asked, format!("Agent raised a blocker during {kind}."))
    }
}

/// Branch 2: a bad end and no completion.
fn failed(kind: StepKind, session: &Session, how: &str) -> Conclusion {
    let tail = transcript(&session.stderr, &session.stdout);
    let tail = with_account(session, tail);
    let message = ended(session, &session.end.failure_message(kind));
    if let Some(why) = session.end.never_started() {
        // It says by itself what is wrong, on every surface that shows a blocker.
        let blocker = format!("Agent {how}: {why}.");
        return Conclusion {
            blocker: Some(blocker),
            detail: Some(joined(why, &tail)),
            failed: true,
            ..blocked(Rule::Failed, message)
        };
    }
    let blocker = ended(session, &format!("Agent {how} without reporting completion."));
    let Some(hint) = attribution::hint(kind, session) else {
        let detail = Some(tail);
        return Conclusion {
            blocker: Some(blocker),
            detail,
            failed: true,
            ..blocked(Rule::Failed, message)
        };
    };
    Conclusion {
        blocker: Some(format!("{blocker} {hint}")),
        detail: Some(joined(&hint, &tail)),
        failed: true,
        ..blocked(Rule::Failed, format!("{message} {hint}"))
    }
}

/// Branches 3c and 3d: a completion that holds.
fn completed(subject: &Subject, completion: &Report) -> Conclusion {
    let kind = subject.kind;
    let summary = completion.message.clone();
    if parks_for_approval(subject.gate, kind) && !subject.is_reply {
        return Conclusion {
            rule: Rule::AwaitsApproval,
            state: StepState::AwaitingApproval,
            blocker: None,
            approval_request: Some(summary),
            detail: None,
            failed: false,
            message: format!("{} complete; awaiting approval.", capitalised(kind)),
        };
    }
    Conclusion {
        rule: Rule::Completed,
        state: StepState::Advanced,
        blocker: None,
        approval_request: None,
        detail: None,
        failed: false,
        message: summary,
    }
}

/// Branch 4: a good end without a word. What lies on disk is told and never believed.
fn silent(kind: StepKind, session: &Session) -> Conclusion {
    let tail = with_account(session, transcript(&session.stdout, &session.stderr));
    match evidence::progress(kind, session) {
        Some(progress) => {
            let how = because(session, "exited with code 0");
            let text = format!(
                "Agent {how} without reporting completion, but {progress} — review and resume."
            );
            let failed = session.told().is_some();
            Conclusion {
                detail: Some(joined(&text, &tail)),
                failed,
                ..blocked(Rule::SilentProgress, text)
            }
        }
        None => Conclusion {
            blocker: Some(ended(
                session,
                "Agent exited with code 0 without reporting completion or a blocker.",
            )),
            detail: Some(tail),
            failed: session.told().is_some(),
            ..blocked(
                Rule::Silent,
                ended(session, &format!("No completion reported during {kind}.")),
            )
        },
    }
}

fn blocked(rule: Rule, text: String) -> Conclusion {
    Conclusion {
        rule,
        state: StepState::Blocked,
        blocker: Some(text.clone()),
        approval_request: None,
        detail: None,
        message: text,
        failed: false,
    }
}

/// Adds what the agent said of its failure to a sentence.
fn ended(session: &Session, sentence: &str) -> String {
    match session.told() {
        Some(told) => format!("{}: {}.", sentence.trim_end_matches('.'), told.sentence()),
        None => sentence.to_owned(),
    }
}

/// Adds it within a sentence.
fn because(session: &Session, how: &str) -> String {
    match session.told() {
        Some(told) => format!("{how} ({})", told.sentence()),
        None => how.to_owned(),
    }
}

/// Gives the kind of the outcome entry. A verify that waits for approval is not journaled as its completion: that entry
/// is what makes a change done, and it follows when the verify is approved (OQ-4).
fn entry_kind(state: StepState, kind: StepKind) -> EntryKind {
    match (state, kind) {
        (StepState::AwaitingApproval, StepKind::Verify) | (StepState::NothingReady, _) => {
            EntryKind::Progress
        }
        (StepState::Advanced | StepState::AwaitingApproval, _) => EntryKind::Completion,
        (StepState::Blocked, _) => EntryKind::Blocker,
    }
}

fn is_question(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Blocker | EntryKind::NeedsInput)
}

fn is_completion(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Completion)
}

/// Gives the first of the two texts that says anything, trimmed and cut.
fn transcript(first: &str, second: &str) -> String {
    let text = if first.trim().is_empty() { second.trim() } else { first.trim() };
    match text.char_indices().nth(TRANSCRIPT) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}… (truncated)", &text[..cut]),
    }
}

/// The agent's own words about its failure come before its output, which says it late or in other words.
fn with_account(session: &Session, tail: String) -> String {
    match &session.account {
        Some(account) => joined(account, &tail),
        None => tail,
    }
}

/// Tells a person why an agent failed, by its own account; a question or an approval tells more.
fn account_note(state: StepState, session: &Session) -> Option<String> {
    let asked = session.reports.iter().any(|report| is_question(report.kind));
    let account = session.account.as_ref()?;
    (state == StepState::Blocked && !asked).then(|| format!("{} said: {account}", session.agent))
}

fn joined(head: &str, tail: &str) -> String {
    if tail.is_empty() { head.to_owned() } else { format!("{head}\n\n{tail}") }
}

fn capitalised(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Propose => "Propose",
        StepKind::Apply => "Apply",
        StepKind::Verify => "Verify",
        StepKind::Decompose => "Decompose",
        StepKind::Pr => "Pr",
    }
}

#[cfg(test)]
mod tests;
