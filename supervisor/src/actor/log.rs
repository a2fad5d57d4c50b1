//! What the log has of a step: one line when it begins, one when it is over. Names and states, and no word of an agent.

use std::path::Path;

use ratchet_engine::outcome::StepState;
use ratchet_engine::report::ApplyReport;

use super::message::Report;
use crate::error::Error;
use crate::event::{Origin, Running};
use crate::store::inflight::Inflight;
use crate::store::layout::RunHome;

/// A step runs.
pub(super) fn begun(root: &Path, home: &RunHome, inflight: &Inflight, origin: Origin) {
    let step = match inflight.running() {
        Running::Agent { kind, .. } => kind.as_str(),
        Running::Proof => "proof-of-work",
    };
    let how = match origin {
        Origin::Fresh => "a step begins",
        Origin::Reattached => "a step is found running",
    };
    let (of, name) = named(home);
    tracing::info!(project = ?root, of, name, key = %inflight.key, step, spawn = %inflight.spawn, "{how}");
}

/// A step is over.
pub(super) fn ended(
    root: &Path,
    home: &RunHome,
    inflight: &Inflight,
    report: &Result<Report, Error>,
) {
    let (of, name) = named(home);
    let spawn = &inflight.spawn;
    match report {
        Ok(report) => {
            let state = state(report);
            tracing::info!(project = ?root, of, name, key = %inflight.key, %spawn, state, "a step is over");
        }
        Err(error) => {
            tracing::error!(project = ?root, of, name, key = %inflight.key, %spawn, %error, "a step is over and cannot be recorded");
        }
    }
}

fn named(home: &RunHome) -> (&'static str, &str) {
    match home {
        RunHome::Batch(name) => ("batch", name.as_str()),
        RunHome::Change(name) => ("change", name.as_str()),
    }
}

fn state(report: &Report) -> &'static str {
    match report {
        Report::Applied(ApplyReport::Step(step)) | Report::Stepped(step) => match step.state {
            StepState::Advanced => "advanced",
            StepState::Blocked => "blocked",
            StepState::AwaitingApproval => "awaiting approval",
            StepState::NothingReady => "nothing ready",
        },
        Report::Applied(ApplyReport::Proof(proof)) if proof.passed => "passed",
        Report::Applied(ApplyReport::Proof(_)) => "failed",
        Report::Applied(ApplyReport::Parked(_)) => "parked",
        Report::Applied(ApplyReport::NothingReady(_)) | Report::Nothing => "nothing ready",
    }
}
