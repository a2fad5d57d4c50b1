//! Looks at what work will need before anything is spent: `ratchet doctor` (spec `cli-core` 12, Q38). Everything is only
//! looked at; the one thing that is written, to see whether it can be, is taken away again.
//!
//! Each check says what a person can type if it does not pass.

use ratchet_engine::permission::{Escalation, Posture};
use ratchet_engine::settings::{Locus, PrGrouping, Settings};
use serde::Serialize;

use crate::git;
use crate::project::Project;

mod agents;
mod docker;
mod machine;
mod probe;
mod worker;

/// How far is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Only at files: nothing is started, nobody is called.
    Quick,
    /// Programs are asked for their version, Docker and workers whether they answer.
    Full,
}

/// What was found; what `doctor --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Every required check has passed.
    pub ok: bool,
    /// The checks.
    pub checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// A name that never changes.
    pub id: &'static str,
    /// What it is about.
    pub label: &'static str,
    /// What was found.
    pub status: Status,
    /// Whether work needs it.
    pub severity: Severity,
    /// What was found, in words.
    pub detail: String,
    /// What to type, if it did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is as it should be.
    Pass,
    /// It is not.
    Fail,
    /// It is worth knowing.
    Info,
}

/// Whether work needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing runs without it.
    Required,
    /// Only some things need it.
    Optional,
}

impl Project {
    /// Looks at what work in this project will need.
    #[must_use]
    pub fn diagnose(&self, depth: Depth) -> Diagnosis {
        let settings = self.settings(None, Escalation::Clamped);
        let mut checks = vec![agents::check(self, settings.as_ref().ok(), depth)];
        checks.push(machine::spawns(self));
        match &settings {
            Ok(settings) => checks.extend(self.for_settings(settings, depth)),
            Err(error) => {
                let check = Check::required("config", "Configuration");
                let remedy = error.help().unwrap_or_default();
                checks.push(check.failed(error.to_string(), remedy));
            }
        }
        checks.push(machine::git(self));
        checks.push(machine::cgroup());
        checks.extend([machine::disk(self), machine::clock(self)]);
        let is_ok =
            |check: &Check| check.severity == Severity::Optional || check.status == Status::Pass;
        Diagnosis { ok: checks.iter().all(is_ok), checks }
    }

    /// What only some settings need.
    fn for_settings(&self, settings: &Settings, depth: Depth) -> Vec<Check> {
        let mut checks = Vec::new();
        if depth == Depth::Full {
            checks.push(docker::check(self, settings));
            checks.extend(worker::check(settings));
        }
        if settings.pr_grouping != PrGrouping::Off && git::remotes(self.root()).is_empty() {
            let check = Check::optional("pr-remote", "Remote for pull requests");
            checks.push(check.noted(
                "prGrouping asks for pull requests, and the repository has no remote",
                "git remote add origin <url>",
            ));
        }
        let is_open = settings.permissions.posture != Posture::CuratedAllowlist;
        if settings.locus == Locus::Local && is_open {
            let check = Check::optional("batch-isolation", "Isolation");
            checks.push(check.noted(
                "agents run on this machine without walls, and may edit and run commands",
                "ratchet batch config --set locus=docker",
            ));
        }
        checks
    }
}

impl Check {
    fn required(id: &'static str, label: &'static str) -> Self {
        let (status, severity) = (Status::Pass, Severity::Required);
        Self { id, label, status, severity, detail: String::new(), remedy: None }
    }

    fn optional(id: &'static str, label: &'static str) -> Self {
        Self { severity: Severity::Optional, ..Self::required(id, label) }
    }

    fn passed(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    fn failed(self, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (detail, remedy) = (detail.into(), Some(remedy.into()));
        Self { status: Status::Fail, detail, remedy, ..self }
    }

    /// A finding that keeps nothing from running.
    fn noted(self, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: Status::Info, ..self.failed(detail, remedy) }
    }

    /// What is needed is missing: bad if work needs it, else worth knowing.
    fn missing(self, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        match self.severity {
            Severity::Required => self.failed(detail, remedy),
            Severity::Optional => self.noted(detail, remedy),
        }
    }
}
