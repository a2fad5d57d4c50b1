//! A step that waits for a person, and what frees it (spec `step-and-outcome` 4 and 5.4,
//! `batch-status-and-selection` 6.5 and 6.6). Whether a completed step has to wait is [`crate::approval`]'s question.

use serde::{Deserialize, Serialize};

use crate::name::StepKey;
use crate::outcome::{BlockedBy, Cause, StepResult, StepState, Verdict};
use crate::time::Timestamp;
use crate::transition::StepKind;

/// One parked step, as `state.json` holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Park {
    /// When it was parked, as written in the file.
    pub parked_at: String,
    /// Whose step it is.
    pub key: StepKey,
    /// Why it waits.
    pub kind: ParkKind,
    /// The question, or the summary to approve.
    pub reason: String,
    /// A person's answer.
    pub answer: Option<String>,
    /// A person's reason to reject.
    pub feedback: Option<String>,
    /// A person's decision.
    pub approved: Option<bool>,
    /// The step that was parked, so that a rejected one can run again (OQ-5). Absent in the original tool's files.
    pub transition: Option<StepKind>,
    /// Nothing was asked: running the step again is all it takes. Absent in the original tool's files.
    pub retry: bool,
    /// What made the step fail, if that is why it waits.
    pub cause: Option<Cause>,
    /// When it goes on by itself, if it does.
    pub retry_at: Option<Timestamp>,
}

/// Why a step waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParkKind {
    /// A question is open.
    Blocked,
    /// A decision is open.
    AwaitingApproval,
}

/// What a park means for the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing<'a> {
    /// Nothing runs until a person acts.
    Unresolved,
    /// Nothing was asked; it may simply run again.
    Retry,
    /// The question was answered.
    Answered(&'a str),
    /// The result was approved.
    Approved,
    /// The result was rejected with this feedback.
    Rejected(&'a str),
}

/// What a step's result does to the park of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ParkChange {
    /// Park the step; an older park goes, and with it an old answer.
    Set(NewPark),
    /// Remove the park.
    Clear,
    /// Leave it as it is.
    Keep,
}

/// A park that has not been written yet, so that it has no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPark {
    /// Whose step it is.
    pub key: StepKey,
    /// Why it waits.
    pub kind: ParkKind,
    /// The question, or the summary to approve.
    pub reason: String,
    /// The step that is parked.
    pub transition: StepKind,
    /// Nothing was asked: running the step again is all it takes.
    pub retry: bool,
    /// What made the step fail, if that is why it waits.
    pub cause: Option<Cause>,
    /// When it goes on by itself, if it does.
    pub retry_at: Option<Timestamp>,
}

impl Park {
    /// Says what this park means for the next step.
    ///
    /// An answer frees a question only, a decision frees a result only: an answer on an open approval is kept and frees
    /// nothing (spec `batch-status-and-selection` 6.5).
    #[must_use]
    pub fn standing(&self) -> Standing<'_> {
        match (self.kind, &self.answer, &self.feedback, self.approved) {
            (ParkKind::Blocked, Some(answer), _, _) => Standing::Answered(answer),
            (ParkKind::Blocked, None, _, _) if self.retry => Standing::Retry,
            (ParkKind::Blocked, None, _, _) => Standing::Unresolved,
            (ParkKind::AwaitingApproval, _, _, Some(true)) => Standing::Approved,
            (ParkKind::AwaitingApproval, _, Some(feedback), _) => Standing::Rejected(feedback),
            (ParkKind::AwaitingApproval, _, None, _) => Standing::Unresolved,
        }
    }

    /// Says whether nothing may run until a person acts.
    #[must_use]
    pub fn is_unresolved(&self) -> bool {
        self.standing() == Standing::Unresolved
    }

    /// Says whether it waits for a moment, and for nobody.
    #[must_use]
    pub fn waits_for_a_moment(&self) -> bool {
        self.is_unresolved() && self.retry_at.is_some()
    }

    /// Says whether the moment it waits for has come: then it holds nothing any more.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.waits_for_a_moment() && self.retry_at.is_some_and(|at| at <= now)
    }
}

impl NewPark {
    /// Gives the park as it is written at a moment.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Park {
        Park {
            parked_at: now.to_string(),
            key: self.key,
            kind: self.kind,
            reason: self.reason,
            answer: None,
            feedback: None,
            approved: None,
            transition: Some(self.transition),
            retry: self.retry,
            cause: self.cause,
            retry_at: self.retry_at,
        }
    }
}

/// Says whether a park stays as it is when a step of its key ends: a person has decided, and the step that began at
/// `began` has not used the decision up. It was cut short; or the decision came while its agent was winding down.
#[must_use]
pub fn outlives(old: &Park, change: &ParkChange, began: &str) -> bool {
    let during = Timestamp::parse(&old.parked_at) >= Timestamp::parse(began);
    match (old.standing(), change) {
        (Standing::Unresolved | Standing::Retry, _) => false,
        (Standing::Answered(_) | Standing::Approved | Standing::Rejected(_), ParkChange::Keep) => {
            true
        }
        (
            Standing::Answered(_) | Standing::Approved | Standing::Rejected(_),
            ParkChange::Set(new),
        ) => new.retry || (during && new.kind == old.kind && new.reason == old.reason),
        (Standing::Rejected(_), ParkChange::Clear) => during,
        (Standing::Answered(_) | Standing::Approved, ParkChange::Clear) => false,
    }
}

/// Says what a verdict does to the park of a change on its own (OQ-36): a question and an open approval wait for a person;
/// any other end does not, because running the verb again is the answer to it.
pub fn park_after_alone(verdict: &Verdict) -> ParkChange {
    match verdict.result.state {
        StepState::Blocked if verdict.blocked_by != BlockedBy::Agent => ParkChange::Clear,
        StepState::Blocked
        | StepState::AwaitingApproval
        | StepState::Advanced
        | StepState::NothingReady => park_after(&verdict.result, verdict.blocked_by),
    }
}

/// Says what a result does to the park of its step (spec `batch-status-and-selection` 6.6).
pub fn park_after(result: &StepResult, blocked_by: BlockedBy) -> ParkChange {
    let park = |kind, reason: Option<&String>, otherwise: &str| {
        ParkChange::Set(NewPark {
            key: result.change.clone(),
            kind,
            reason: reason.map_or_else(|| otherwise.to_owned(), Clone::clone),
            transition: result.transition,
            retry: kind == ParkKind::Blocked && blocked_by == BlockedBy::Person,
            cause: result.cause,
            retry_at: result.retry_at,
        })
    };
    match result.state {
        StepState::Blocked => park(ParkKind::Blocked, result.blocker.as_ref(), "blocked"),
        StepState::AwaitingApproval => {
            park(ParkKind::AwaitingApproval, result.approval_request.as_ref(), "awaiting approval")
        }
        StepState::Advanced => ParkChange::Clear,
        StepState::NothingReady => ParkChange::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn park(kind: ParkKind) -> Park {
        NewPark {
            key: StepKey::from_text("api"),
            kind,
            reason: "which port?".to_owned(),
            transition: StepKind::Apply,
            retry: false,
            cause: None,
            retry_at: None,
        }
        .at(Timestamp::from_unix_ms(0))
    }

    #[test]
    fn a_fresh_park_is_unresolved_and_knows_its_step() {
        let fresh = park(ParkKind::Blocked);
        assert!(fresh.is_unresolved());
        assert_eq!(fresh.parked_at, "1970-01-01T00:00:00.000Z");
        assert_eq!(fresh.transition, Some(StepKind::Apply));
        assert!(park(ParkKind::AwaitingApproval).is_unresolved());
    }

    #[test]
    fn what_a_person_stopped_may_simply_run_again() {
        let result =
            StepResult::new(StepState::Blocked, StepKey::from_text("api"), StepKind::Apply);
        let ParkChange::Set(new) = park_after(&result, BlockedBy::Person) else {
            panic!("not parked")
        };
        let stopped = new.at(Timestamp::from_unix_ms(0));
        assert_eq!(stopped.standing(), Standing::Retry);
        assert!(!stopped.is_unresolved());
        let ParkChange::Set(new) = park_after(&result, BlockedBy::Agent) else {
            panic!("not parked")
        };
        assert!(new.at(Timestamp::from_unix_ms(0)).is_unresolved());
    }

    #[test]
    fn what_a_person_said_outlives_a_step_that_did_not_use_it() {
        let (before, began, later) =
            ("2031-05-04T09:00:00.000Z", "2031-05-04T10:00:00.000Z", "2031-05-04T11:00:00.000Z");
        let at = |parked_at: &str, kind| Park { parked_at: parked_at.to_owned(), ..park(kind) };
        let answered = |parked_at: &str| Park {
            answer: Some("postgres".to_owned()),
            ..at(parked_at, ParkKind::Blocked)
        };
        let rejected = |parked_at: &str| Park {
            feedback: Some("too big".to_owned()),
            ..at(parked_at, ParkKind::AwaitingApproval)
        };
        let result = StepResult {
            blocker: Some("which port?".to_owned()),
            ..StepResult::new(StepState::Blocked, StepKey::from_text("api"), StepKind::Apply)
        };
        let stopped = park_after(&result, BlockedBy::Person);
        let asked_again = park_after(&result, BlockedBy::Agent);
        assert!(outlives(&answered(before), &stopped, began), "cut short");
        assert!(outlives(&rejected(before), &stopped, began), "cut short");
        assert!(outlives(&answered(later), &asked_again, began), "answered while winding down");
        assert!(!outlives(&answered(before), &asked_again, began), "asked anew");
        assert!(
            outlives(&rejected(later), &ParkChange::Clear, began),
            "rejected while winding down"
        );
        assert!(!outlives(&rejected(before), &ParkChange::Clear, began), "used up");
        assert!(!outlives(&at(before, ParkKind::Blocked), &stopped, began), "nothing was said");
    }

    #[test]
    fn a_question_is_freed_by_an_answer_only() {
        let mut asked = park(ParkKind::Blocked);
        asked.feedback = Some("no".to_owned());
        asked.approved = Some(true);
        assert!(asked.is_unresolved());
        asked.answer = Some("8080".to_owned());
        assert_eq!(asked.standing(), Standing::Answered("8080"));
    }

    #[test]
    fn a_result_is_freed_by_a_decision_only() {
        let mut shown = park(ParkKind::AwaitingApproval);
        shown.answer = Some("looks good".to_owned());
        assert!(shown.is_unresolved());
        shown.feedback = Some("one task less".to_owned());
        shown.approved = Some(false);
        assert_eq!(shown.standing(), Standing::Rejected("one task less"));
        shown.approved = Some(true);
        assert_eq!(shown.standing(), Standing::Approved);
    }

    fn result(state: StepState) -> StepResult {
        StepResult::new(state, StepKey::from_text("api"), StepKind::Propose)
    }

    // B-V04 B-V05 B-V06
    #[test]
    fn a_result_parks_clears_or_leaves_alone() {
        let mut blocked = result(StepState::Blocked);
        blocked.blocker = Some("which port?".to_owned());
        let ParkChange::Set(new) = park_after(&blocked, BlockedBy::Evidence) else {
            panic!("not parked")
        };
        assert_eq!((new.kind, new.reason.as_str()), (ParkKind::Blocked, "which port?"));
        let mut waiting = result(StepState::AwaitingApproval);
        waiting.approval_request = Some("two tasks".to_owned());
        let ParkChange::Set(new) = park_after(&waiting, BlockedBy::Evidence) else {
            panic!("not parked")
        };
        assert_eq!((new.kind, new.reason.as_str()), (ParkKind::AwaitingApproval, "two tasks"));
        assert_eq!(
            park_after(&result(StepState::Advanced), BlockedBy::Evidence),
            ParkChange::Clear
        );
        assert_eq!(
            park_after(&result(StepState::NothingReady), BlockedBy::Evidence),
            ParkChange::Keep
        );
    }

    #[test]
    fn a_park_that_waits_for_a_moment_is_over_when_it_comes() {
        let at = Timestamp::from_unix_ms;
        let mut limited = Park { retry_at: Some(at(1_000)), ..park(ParkKind::Blocked) };
        assert!(!limited.is_over(at(999)) && limited.is_over(at(1_000)));
        limited.answer = Some("use codex".to_owned());
        assert!(!limited.is_over(at(2_000)), "an answer is for the next step to hear");
        assert!(!park(ParkKind::Blocked).is_over(at(i64::MAX)));
    }

    #[test]
    fn a_park_always_has_a_reason() {
        let ParkChange::Set(new) = park_after(&result(StepState::Blocked), BlockedBy::Evidence)
        else {
            panic!()
        };
        assert_eq!(new.reason, "blocked");
        let ParkChange::Set(new) =
            park_after(&result(StepState::AwaitingApproval), BlockedBy::Evidence)
        else {
            panic!("not parked")
        };
        assert_eq!(new.reason, "awaiting approval");
    }
}
