//! `ratchet batch config`: the settings in force, or one new one (spec `batch-status-and-selection` 7.4). Without a name
//! it is the project's level, also if there is only one batch (OQ-16).

use std::collections::BTreeMap;

use ratchet_engine::name::BatchName;
use ratchet_engine::permission::SuppressedEscalation;
use ratchet_engine::settings::{Isolation, Scope, Settings, agent_timeout_ms};
use ratchet_supervisor::agent::permission::{Enforcement, enforcement};
use ratchet_supervisor::project::Project;
use serde::Serialize;
use serde_json::Value;

use super::apply::escalation;
use crate::args::batch::Config;
use crate::commands::{Ended, failed, open, open_configured, warn};
use crate::exit::Exit;
use crate::render::page::Tone;
use crate::render::settings;
use crate::ui::Ui;

/// What `batch config --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    name: Option<&'a BatchName>,
    settings: Value,
    sources: &'a BTreeMap<&'static str, Scope>,
    agent_stage_scopes: BTreeMap<&'static str, Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressed_escalation: Option<&'a SuppressedEscalation>,
    isolation: Isolation,
    enforcement: &'a [Enforcement],
    #[serde(skip_serializing_if = "Environment::is_silent")]
    environment: Environment,
}

/// What the environment sets over all scopes.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Environment {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_timeout_ms: Option<u64>,
}

impl Environment {
    fn of(project: &Project) -> Self {
        let text = project.environment().var("RATCHET_AGENT_TIMEOUT_MS");
        Self { agent_timeout_ms: agent_timeout_ms(text, None) }
    }

    fn is_silent(&self) -> bool {
        self.agent_timeout_ms.is_none()
    }
}

/// What `batch config --set --json` prints.
#[derive(Debug, Serialize)]
struct Set<'a> {
    ok: bool,
    key: &'a str,
    value: &'a str,
}

/// Shows the settings in force, or sets one.
pub(super) fn run(args: &Config, ui: Ui) -> Ended {
    match &args.set {
        Some(assignment) => set(args, assignment, ui),
        None => show(&open_configured(ui)?, args, ui),
    }
}

fn set(args: &Config, assignment: &str, ui: Ui) -> Ended {
    let project = open()?;
    let assignment = project.set_setting(assignment).map_err(failed)?;
    // Not before: a file that cannot be changed is told by the error alone.
    warn(project.warnings().map_err(failed)?, ui);
    let (key, value) = (assignment.key.as_str(), assignment.shown.as_str());
    ui.answer(args.output.format(), &Set { ok: true, key, value }, |page| {
        page.tone(Tone::Good, "✓ ").put(format_args!("Set batch.{key} = {value}")).end();
    })?;
    Ok(Exit::Success)
}

fn show(project: &Project, args: &Config, ui: Ui) -> Ended {
    let batch = match &args.name {
        Some(name) => Some(project.resolve_batch(Some(name)).map_err(failed)?),
        None => None,
    };
    let found = project.settings(batch.as_ref(), escalation(args.raise)).map_err(failed)?;
    let enforcement = enforcement_rows(&found);
    let environment = Environment::of(project);
    let shown = Shown { environment, ..Shown::of(batch.as_ref(), &found, &enforcement) };
    ui.answer(args.output.format(), &shown, |page| {
        let timeout = environment.agent_timeout_ms;
        settings::settings(page, batch.as_ref(), &found, &enforcement, timeout);
    })?;
    Ok(Exit::Success)
}

/// Says of every agent that the settings name whether the posture reaches it.
pub(super) fn enforcement_rows(found: &Settings) -> Vec<Enforcement> {
    let agents = settings::named_agents(found);
    agents.iter().map(|agent| enforcement(agent, &found.permissions)).collect()
}

impl<'a> Shown<'a> {
    fn of(
        name: Option<&'a BatchName>,
        found: &'a Settings,
        enforcement: &'a [Enforcement],
    ) -> Self {
        let stages = found.agent_stage_scopes.iter();
        Self {
            name,
            settings: found.to_json(),
            sources: &found.sources,
            agent_stage_scopes: stages.map(|(stage, scope)| (stage.as_str(), *scope)).collect(),
            suppressed_escalation: found.suppressed_escalation.as_ref(),
            isolation: found.isolation(),
            enforcement,
            environment: Environment { agent_timeout_ms: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::permission::{Escalation, PermissionsLayer, Posture};
    use ratchet_engine::settings::{Layer, resolve};

    use super::*;
    use crate::schemas::assert_fits;

    // B-V24 B-V26
    #[test]
    fn both_answers_fit_the_schema() {
        let asked = PermissionsLayer {
            posture: Some(Posture::FullAutonomy),
            ..PermissionsLayer::default()
        };
        let manifest = Layer {
            permissions: Some(asked),
            auth_token: Some("hush".to_owned().into()),
            ..Layer::default()
        };
        let found = resolve(None, &Layer::default(), Some(&manifest), Escalation::Clamped);
        let batch = BatchName::parse("shop").unwrap();
        let rows =
            [enforcement(&ratchet_engine::name::AgentName::new("claude"), &found.permissions)];
        assert_fits("config", &Shown::of(Some(&batch), &found, &rows));
        assert_fits("config", &Shown::of(None, &found, &[]));
        let environment = Environment { agent_timeout_ms: Some(123) };
        let shown = Shown { environment, ..Shown::of(None, &found, &[]) };
        assert_fits("config", &shown);
        assert_eq!(serde_json::to_value(&shown).unwrap()["environment"]["agentTimeoutMs"], 123);
        assert_fits("config", &Set { ok: true, key: "authToken", value: "***" });
    }
}
