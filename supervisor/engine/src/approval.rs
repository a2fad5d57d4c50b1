//! Which completed steps wait for approval, and what is written when one is approved (spec `step-and-outcome` 7).
//! The seed calls the matrix `parksForApproval`. What frees a park is [`crate::park`]'s.

use thiserror::Error;

use crate::journal::{Entry, EntryKind};
use crate::name::StepKey;
use crate::park::{Park, ParkKind};
use crate::settings::GateMode;
use crate::time::Timestamp;
use crate::transition::StepKind;

/// What the `answer` entry of an approval says.
pub const APPROVED: &str = "Approved.";

/// Says whether a completed step of this kind waits for a person under this gate.
///
/// A decomposition never does: its changes are looked at when their proposals park. A pull request never does: it is
/// itself where people look.
#[must_use]
pub fn parks_for_approval(gate: GateMode, step: StepKind) -> bool {
    match (gate, step) {
        (GateMode::Voluntary | GateMode::Autonomous, _)
        | (_, StepKind::Decompose | StepKind::Pr) => false,
        (GateMode::AfterPropose, StepKind::Propose) => true,
        (GateMode::AfterPropose, StepKind::Apply | StepKind::Verify) => false,
        (GateMode::EveryPhase, StepKind::Propose | StepKind::Apply | StepKind::Verify) => true,
    }
}

/// Says why a park cannot be approved.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApprovalError {
    /// It is a question, and a question wants an answer.
    #[error("the step '{key}' waits for an answer, not for an approval")]
    NotAResult {
        /// The parked step.
        key: StepKey,
    },
}

/// Gives the entries that approving a park appends, in order.
///
/// An approved verify is what makes its change done (OQ-4): a parked verify was journaled as `progress`, its completion
/// follows here, with the summary that was approved. The park itself is removed by the caller, afterwards.
///
/// # Errors
/// Refuses a park that is a question.
pub fn entries_on_approval(
    park: &Park,
    now: Timestamp,
    approved: Option<String>,
) -> Result<Vec<Entry>, ApprovalError> {
    match park.kind {
        ParkKind::Blocked => return Err(ApprovalError::NotAResult { key: park.key.clone() }),
        ParkKind::AwaitingApproval => {}
    }
    let entry = |kind, message: &str| Entry::new(now, park.key.clone(), kind, message.to_owned());
    let mut entries = vec![Entry { approved, ..entry(EntryKind::Answer, APPROVED) }];
    if park.transition == Some(StepKind::Verify) {
        let transition = Some(StepKind::Verify);
        entries.push(Entry { transition, ..entry(EntryKind::Completion, &park.reason) });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::park::NewPark;

    fn parked(gate: GateMode) -> Vec<StepKind> {
        StepKind::ALL.into_iter().filter(|&step| parks_for_approval(gate, step)).collect()
    }

    // B-L29 B-L32 B-K08
    #[test]
    fn voluntary_and_autonomous_park_nothing() {
        assert_eq!(parked(GateMode::Voluntary), []);
        assert_eq!(parked(GateMode::Autonomous), []);
    }

    // B-L33
    #[test]
    fn an_unset_gate_is_voluntary() {
        assert_eq!(GateMode::default(), GateMode::Voluntary);
    }

    // B-L30 B-L32
    #[test]
    fn after_propose_parks_proposals_only() {
        assert_eq!(parked(GateMode::AfterPropose), [StepKind::Propose]);
    }

    // B-L31 B-L32
    #[test]
    fn every_phase_parks_the_transitions_of_changes() {
        let transitions = [StepKind::Propose, StepKind::Apply, StepKind::Verify];
        assert_eq!(parked(GateMode::EveryPhase), transitions);
    }

    fn park(kind: ParkKind, transition: StepKind) -> Park {
        let key = StepKey::from_text("api");
        let reason = "Ready for archive.".to_owned();
        let park =
            NewPark { key, kind, reason, transition, retry: false, cause: None, retry_at: None };
        park.at(Timestamp::from_unix_ms(0))
    }

    #[test]
    fn approving_a_verify_records_its_completion() {
        let park = park(ParkKind::AwaitingApproval, StepKind::Verify);
        let now = Timestamp::from_unix_ms(1);
        let entries = entries_on_approval(&park, now, Some("tree".to_owned())).unwrap();
        let [answer, completion] = entries.as_slice() else { panic!("{entries:?}") };
        assert_eq!((answer.kind, answer.approved.as_deref()), (EntryKind::Answer, Some("tree")));
        assert_eq!(completion.kind, EntryKind::Completion);
        assert_eq!(completion.transition, Some(StepKind::Verify));
        assert_eq!(completion.message, "Ready for archive.");
    }

    #[test]
    fn approving_a_proposal_records_the_decision_only() {
        let park = park(ParkKind::AwaitingApproval, StepKind::Propose);
        let entries = entries_on_approval(&park, Timestamp::from_unix_ms(1), None).unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].transition, None);
    }

    #[test]
    fn a_question_cannot_be_approved() {
        let park = park(ParkKind::Blocked, StepKind::Apply);
        assert!(entries_on_approval(&park, Timestamp::from_unix_ms(1), None).is_err());
    }
}
