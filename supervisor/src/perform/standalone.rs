//! The headless verbs: what has to hold before one transition of a change on its own (spec `agents-and-runtimes` 9).

use ratchet_engine::decide::{Resume, Step};
use ratchet_engine::name::StepKey;
use ratchet_engine::outcome::{StepResult, StepState};
use ratchet_engine::park::{Park, ParkKind};
use ratchet_engine::permission::Escalation;
use ratchet_engine::settings::Settings;
use ratchet_engine::transition::Transition;

use crate::error::Error;
use crate::house::House;
use crate::request::ChangeStepRequest;
use crate::store::layout::RunHome;
use crate::store::run_state::RunState;

/// What the checks come to.
pub(super) enum Prepared {
    /// The step may run.
    Ready(Box<Ready>),
    /// A person has to act first.
    Parked(Box<StepResult>),
}

/// A step that may run.
pub(super) struct Ready {
    pub(super) step: Step,
    pub(super) settings: Settings,
}

/// Checks, in the order in which a person would want to hear of it, and builds the step.
pub(super) fn prepare(
    house: &House,
    home: &RunHome,
    request: &ChangeStepRequest,
) -> Result<Prepared, Error> {
    house.project.admit(&request.change, request.transition, request.readiness)?;
    let settings = house.project.settings(None, Escalation::Clamped)?.with_flags(&request.flags)?;
    let key = StepKey::of_change(&request.change);
    let park = RunState::read(&house.project.layout().run(home))?.park(&key);
    if let Some(park) = park.as_ref().filter(|park| park.is_unresolved()) {
        return Ok(Prepared::Parked(Box::new(waiting(park, request.transition))));
    }
    let step = Step::standalone(
        request.change.clone(),
        request.transition,
        request.objective.as_deref(),
        request.guidance.clone(),
        park.as_ref().and_then(Resume::of),
    );
    Ok(Prepared::Ready(Box::new(Ready { step, settings })))
}

/// The result of a step that waits for a person: nothing is spawned, nothing is journaled (spec `step-and-outcome` 4).
fn waiting(park: &Park, transition: Transition) -> StepResult {
    let reason = Some(park.reason.clone());
    let new = |state| StepResult::new(state, park.key.clone(), transition.into());
    match park.kind {
        ParkKind::Blocked => StepResult {
            blocker: reason,
            message: Some("The step waits for an answer.".to_owned()),
            ..new(StepState::Blocked)
        },
        ParkKind::AwaitingApproval => StepResult {
            approval_request: reason,
            message: Some("The step waits for approval; approve or reject to resume.".to_owned()),
            ..new(StepState::AwaitingApproval)
        },
    }
}
