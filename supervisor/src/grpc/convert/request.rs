//! What is asked for. A project's place and its caller's environment come from outside and are checked by the server;
//! names are checked here.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use ratchet_engine::name::{BatchName, ChangeName, NameError, StepKey};
use ratchet_engine::permission::Escalation;
use ratchet_engine::settings::StandaloneFlags;
use ratchet_engine::transition::{StepKind, Transition};
use ratchet_proto::supervisor::v1 as wire;

use super::{FromWire, Malformed, kind_of_wire, kind_to_wire};
use crate::environment::Environment;
use crate::project::verb::Readiness;
use crate::project::{Project, Report};
use crate::request::{
    ApplyRequest, ChangeStepRequest, Leave, LimitPolicy, OverrideConsent, StopReason,
};
use crate::store::layout::RunHome;

/// The project that a call is about, as the caller names it.
pub(crate) struct Asked {
    pub(crate) root: PathBuf,
    pub(crate) variables: Option<Vec<(OsString, OsString)>>,
}

impl FromWire<Option<wire::Project>> for Asked {
    fn from_wire(project: Option<wire::Project>) -> Result<Self, Malformed> {
        let project = project.ok_or_else(|| Malformed::missing("the project"))?;
        let root = PathBuf::from(project.root);
        if !root.is_absolute() {
            return Err(Malformed::new("the project's root must be an absolute path"));
        }
        let pair = |variable: wire::Variable| {
            let whole = |bytes: &[u8]| !bytes.contains(&0);
            if variable.name.is_empty() || !whole(&variable.name) || !whole(&variable.value) {
                return Err(Malformed::new("a variable of the environment"));
            }
            Ok((OsString::from_vec(variable.name), OsString::from_vec(variable.value)))
        };
        let variables = project
            .environment
            .map(|environment| environment.variables.into_iter().map(pair).collect())
            .transpose()?;
        Ok(Self { root, variables })
    }
}

/// Names a project, and gives the environment of its caller if the other side may have it.
///
/// # Errors
/// Fails if the path is not UTF-8: such a project is worked on in the caller's own process.
pub(crate) fn project_to_wire(
    project: &Project,
    environment: Option<&Environment>,
) -> Result<wire::Project, Malformed> {
    let root = project.root().to_str();
    let root = root.ok_or_else(|| Malformed::new("the project's root is not UTF-8"))?;
    let variable = |(name, value): (&OsString, &OsString)| wire::Variable {
        name: name.as_bytes().to_vec(),
        value: value.as_bytes().to_vec(),
    };
    Ok(wire::Project {
        root: root.to_owned(),
        environment: environment.map(|environment| wire::Environment {
            variables: environment.vars().iter().map(variable).collect(),
        }),
    })
}

impl FromWire<wire::ApplyRequest> for ApplyRequest {
    fn from_wire(request: wire::ApplyRequest) -> Result<Self, Malformed> {
        let raised = request.allow_manifest_escalation;
        Ok(Self {
            leave: request.leave().into(),
            limits: limits_of_wire(&Flag(request.ignore_limit)),
            batch: batch(&request.batch)?,
            escalation: if raised { Escalation::Allowed } else { Escalation::Clamped },
            agent_override: consent_of_wire(&Flag(request.allow_agent_override)),
        })
    }
}

impl ApplyRequest {
    /// Gives the message.
    pub(crate) fn to_wire(&self, project: wire::Project) -> wire::ApplyRequest {
        wire::ApplyRequest {
            project: Some(project),
            batch: self.batch.to_string(),
            allow_manifest_escalation: self.escalation == Escalation::Allowed,
            allow_agent_override: self.agent_override == OverrideConsent::Given,
            leave: leave_to_wire(self.leave).into(),
            ignore_limit: self.limits == LimitPolicy::Ignored,
        }
    }
}

impl FromWire<wire::RunChangeRequest> for ChangeStepRequest {
    fn from_wire(request: wire::RunChangeRequest) -> Result<Self, Malformed> {
        let transition = match kind_of_wire(request.transition()) {
            Some(StepKind::Propose) => Transition::Propose,
            Some(StepKind::Apply) => Transition::Apply,
            Some(StepKind::Verify) => Transition::Verify,
            Some(StepKind::Decompose | StepKind::Pr) | None => {
                return Err(Malformed::new("the transition must be propose, apply or verify"));
            }
        };
        Ok(Self {
            leave: request.leave().into(),
            limits: limits_of_wire(&Flag(request.ignore_limit)),
            change: change(&request.change)?,
            transition,
            objective: request.objective,
            guidance: request.guidance,
            flags: StandaloneFlags {
                agent: request.agent,
                locus: request.locus,
                image: request.image,
            },
            readiness: if request.force { Readiness::Waived } else { Readiness::Required },
            agent_override: consent_of_wire(&Flag(request.allow_agent_override)),
        })
    }
}

impl ChangeStepRequest {
    /// Gives the message.
    pub(crate) fn to_wire(&self, project: wire::Project) -> wire::RunChangeRequest {
        wire::RunChangeRequest {
            project: Some(project),
            change: self.change.to_string(),
            transition: kind_to_wire(self.transition.into()).into(),
            objective: self.objective.clone(),
            guidance: self.guidance.clone(),
            agent: self.flags.agent.clone(),
            locus: self.flags.locus.clone(),
            image: self.flags.image.clone(),
            force: self.readiness == Readiness::Waived,
            allow_agent_override: self.agent_override == OverrideConsent::Given,
            leave: leave_to_wire(self.leave).into(),
            ignore_limit: self.limits == LimitPolicy::Ignored,
        }
    }
}

/// A fact of a message.
struct Flag(bool);

fn consent_of_wire(given: &Flag) -> OverrideConsent {
    if given.0 { OverrideConsent::Given } else { OverrideConsent::NotGiven }
}

fn limits_of_wire(ignored: &Flag) -> LimitPolicy {
    if ignored.0 { LimitPolicy::Ignored } else { LimitPolicy::Heeded }
}

impl From<wire::Leave> for Leave {
    fn from(leave: wire::Leave) -> Self {
        match leave {
            wire::Leave::Unspecified | wire::Leave::GoesOn => Self::GoesOn,
            wire::Leave::Stops => Self::Stops,
        }
    }
}

fn leave_to_wire(leave: Leave) -> wire::Leave {
    match leave {
        Leave::GoesOn => wire::Leave::GoesOn,
        Leave::Stops => wire::Leave::Stops,
    }
}

/// A report and whose step it is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) home: RunHome,
    pub(crate) key: StepKey,
    pub(crate) report: Report,
}

impl FromWire<wire::ReportRequest> for Said {
    fn from_wire(request: wire::ReportRequest) -> Result<Self, Malformed> {
        let kind = request.kind();
        let (home, key) = match request.home.ok_or_else(|| Malformed::missing("whose step"))? {
            wire::report_request::Home::Batch(_) if request.key.is_empty() => {
                return Err(Malformed::missing("the key of the step"));
            }
            wire::report_request::Home::Batch(name) => {
                (RunHome::Batch(batch(&name)?), StepKey::from_text(&request.key))
            }
            wire::report_request::Home::Change(name) => {
                let name = change(&name)?;
                let key = StepKey::of_change(&name);
                (RunHome::Change(name), key)
            }
        };
        let text = request.message;
        let report = match kind {
            wire::ReportKind::Status => Report::Status(text),
            wire::ReportKind::Blocker => Report::Blocker(text),
            wire::ReportKind::NeedsInput => Report::NeedsInput(text),
            wire::ReportKind::Complete => Report::Complete(text),
            wire::ReportKind::CompleteAwaitingApproval => Report::CompleteAwaitingApproval(text),
            wire::ReportKind::Answer => Report::Answer(text),
            wire::ReportKind::Reject => Report::Reject(text),
            wire::ReportKind::Approve => Report::Approve,
            wire::ReportKind::Unspecified => return Err(Malformed::missing("the kind of report")),
        };
        Ok(Self { home, key, report })
    }
}

impl Said {
    /// Gives the message.
    pub(crate) fn into_wire(self, project: wire::Project) -> wire::ReportRequest {
        let home = match self.home {
            RunHome::Batch(name) => wire::report_request::Home::Batch(name.to_string()),
            RunHome::Change(name) => wire::report_request::Home::Change(name.to_string()),
        };
        let (kind, message) = match self.report {
            Report::Status(text) => (wire::ReportKind::Status, text),
            Report::Blocker(text) => (wire::ReportKind::Blocker, text),
            Report::NeedsInput(text) => (wire::ReportKind::NeedsInput, text),
            Report::Complete(text) => (wire::ReportKind::Complete, text),
            Report::CompleteAwaitingApproval(text) => {
                (wire::ReportKind::CompleteAwaitingApproval, text)
            }
            Report::Answer(text) => (wire::ReportKind::Answer, text),
            Report::Reject(text) => (wire::ReportKind::Reject, text),
            Report::Approve => (wire::ReportKind::Approve, String::new()),
        };
        wire::ReportRequest {
            project: Some(project),
            home: Some(home),
            key: self.key.to_string(),
            kind: kind.into(),
            message,
        }
    }
}

/// Whose step is to stop, and who says so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Halting {
    pub(crate) home: RunHome,
    pub(crate) by: StopReason,
}

impl FromWire<wire::CancelRequest> for Halting {
    fn from_wire(request: wire::CancelRequest) -> Result<Self, Malformed> {
        let by = match request.reason() {
            wire::StopReason::Interrupt => StopReason::Interrupt,
            wire::StopReason::Terminate => StopReason::Terminate,
            wire::StopReason::Cancel | wire::StopReason::Unspecified => StopReason::Cancel,
        };
        let home = match request.home.ok_or_else(|| Malformed::missing("whose step"))? {
            wire::cancel_request::Home::Batch(name) => RunHome::Batch(batch(&name)?),
            wire::cancel_request::Home::Change(name) => RunHome::Change(change(&name)?),
        };
        Ok(Self { home, by })
    }
}

impl Halting {
    /// Gives the message.
    pub(crate) fn into_wire(self, project: wire::Project) -> wire::CancelRequest {
        let home = match self.home {
            RunHome::Batch(name) => wire::cancel_request::Home::Batch(name.to_string()),
            RunHome::Change(name) => wire::cancel_request::Home::Change(name.to_string()),
        };
        let reason = match self.by {
            StopReason::Interrupt => wire::StopReason::Interrupt,
            StopReason::Terminate => wire::StopReason::Terminate,
            // Lingering is a watcher's reason; a caller that gives it cancels.
            StopReason::Cancel | StopReason::Linger => wire::StopReason::Cancel,
        };
        wire::CancelRequest { project: Some(project), home: Some(home), reason: reason.into() }
    }
}

/// Checks a batch's name: it will be part of a path.
pub(crate) fn batch(name: &str) -> Result<BatchName, Malformed> {
    BatchName::parse(name).map_err(|error| bad_name("batch", name, &error))
}

fn change(name: &str) -> Result<ChangeName, Malformed> {
    ChangeName::parse(name).map_err(|error| bad_name("change", name, &error))
}

fn bad_name(what: &str, name: &str, error: &NameError) -> Malformed {
    Malformed::new(format!("'{}' is no {what}'s name: {error}", name.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> wire::Project {
        wire::Project { root: "/p".to_owned(), environment: None }
    }

    #[test]
    fn requests_cross_the_wire_whole() {
        let apply = ApplyRequest {
            batch: BatchName::parse("shop").unwrap(),
            escalation: Escalation::Allowed,
            agent_override: OverrideConsent::Given,
            leave: Leave::Stops,
            limits: LimitPolicy::Ignored,
        };
        assert_eq!(ApplyRequest::from_wire(apply.to_wire(project())).unwrap(), apply);
        let step = ChangeStepRequest {
            change: ChangeName::parse("add-cart").unwrap(),
            transition: Transition::Verify,
            objective: Some("sell".to_owned()),
            guidance: Some("small".to_owned()),
            flags: StandaloneFlags {
                agent: Some("codex".to_owned()),
                locus: None,
                image: Some(String::new()),
            },
            readiness: Readiness::Waived,
            agent_override: OverrideConsent::NotGiven,
            leave: Leave::GoesOn,
            limits: LimitPolicy::Heeded,
        };
        assert_eq!(ChangeStepRequest::from_wire(step.to_wire(project())).unwrap(), step);
    }

    #[test]
    fn every_kind_of_report_crosses_the_wire() {
        let text = || "t".to_owned();
        for report in [
            Report::Status(text()),
            Report::Blocker(text()),
            Report::NeedsInput(text()),
            Report::Complete(text()),
            Report::CompleteAwaitingApproval(text()),
            Report::Answer(text()),
            Report::Reject(text()),
            Report::Approve,
        ] {
            let said = || Said {
                home: RunHome::Batch(BatchName::parse("shop").unwrap()),
                key: StepKey::from_text("pr:shop"),
                report: report.clone(),
            };
            assert_eq!(Said::from_wire(said().into_wire(project())), Ok(said()));
        }
    }

    #[test]
    fn a_cancel_names_a_batch_or_a_change_and_who_asks() {
        let batch = || RunHome::Batch(BatchName::parse("shop").unwrap());
        let change = || RunHome::Change(ChangeName::parse("add-cart").unwrap());
        for by in [StopReason::Interrupt, StopReason::Terminate, StopReason::Cancel] {
            for home in [batch, change as fn() -> RunHome] {
                let halting = || Halting { home: home(), by };
                assert_eq!(Halting::from_wire(halting().into_wire(project())), Ok(halting()));
            }
        }
        let of_nobody = wire::CancelRequest { project: Some(project()), home: None, reason: 0 };
        assert!(Halting::from_wire(of_nobody).is_err());
    }

    #[test]
    fn names_and_paths_that_lead_elsewhere_are_refused() {
        for root in ["", "relative", "../up"] {
            let project = wire::Project { root: root.to_owned(), environment: None };
            assert!(Asked::from_wire(Some(project)).is_err(), "{root}");
        }
        assert!(Asked::from_wire(None).is_err());
        for name in ["", "..", "a/b", "a\0b"] {
            assert!(batch(name).is_err() && change(name).is_err(), "{name:?}");
        }
        let environment = wire::Environment {
            variables: vec![wire::Variable { name: b"A".to_vec(), value: b"b\0c".to_vec() }],
        };
        let project = wire::Project { environment: Some(environment), ..project() };
        assert!(Asked::from_wire(Some(project)).is_err());
    }
}
