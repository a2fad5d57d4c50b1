//! The hint on a spawn that failed before it did anything (spec `step-and-outcome` 6.2). It names what was asked for,
//! never a cause: standard error is not interpreted, except for the one sentence in which an agent names an option that
//! it does not know.

use super::{Cause, Session, SessionEnd};
use crate::settings::Scope;
use crate::transition::StepKind;

/// Gives the hint, if the end looks like one that the arguments brought about: a real exit code other than 0, no entry
/// in the journal, and no stand-in for the agent; unless the agent itself named another cause.
pub(super) fn hint(kind: StepKind, session: &Session) -> Option<String> {
    let real_failure = matches!(session.end, SessionEnd::Exited(code) if code != 0);
    if !real_failure || !session.reports.is_empty() || session.via.is_some() {
        return None;
    }
    if session.told().is_some_and(|told| told.cause != Cause::Crash && told.cause != Cause::Model) {
        return None;
    }
    rejected_option(session).or_else(|| named_model(kind, session))
}

fn rejected_option(session: &Session) -> Option<String> {
    let (_, after) = session.stderr.split_once("unexpected argument '")?;
    let (option, _) = after.split_once("' found")?;
    if option.is_empty() || option.contains(['\n', '\'']) {
        return None;
    }
    let agent = &session.agent;
    Some(format!(
        "The agent \"{agent}\" does not know the option \"{option}\" that it was started with: its \
         installed version differs from the one ratchet was made for. Set \
         batch.agents.{agent}.args in .ratchet/config.yaml to arguments that it accepts, and resume."
    ))
}

/// Standalone steps have no supplying scope, so their sessions name no model and they get no hint.
fn named_model(kind: StepKind, session: &Session) -> Option<String> {
    let source = session.model.as_ref()?;
    let place = match source.scope {
        Scope::Default => "the default",
        Scope::User => "the user config",
        Scope::Project => "the project config",
        Scope::Manifest => "the batch manifest",
    };
    Some(format!(
        "The \"{stage}\" stage ran agent \"{agent}\" with model \"{model}\", as set by {place}. \
         If this model id is invalid, correct the agent setting in {place} and resume.",
        stage = kind,
        agent = source.agent,
        model = source.model,
    ))
}
