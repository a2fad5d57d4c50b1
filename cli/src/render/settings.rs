//! Settings as text: the posture line before a run, and the rows of `batch config`
//! (spec `batch-status-and-selection` 6.2 and 7.4).

use ratchet_engine::name::{AgentName, BatchName};
use ratchet_engine::permission::Permissions;
use ratchet_engine::settings::{Key, Scope, Settings, Word as _};
use ratchet_supervisor::agent::permission::Enforcement;
use serde_json::Value;

use super::page::{Page, Tone};

/// Draws the posture in force, and a warning if the manifest asked for more than it gets.
pub(crate) fn posture(page: &mut Page, settings: &Settings) {
    let posture = settings.permissions.posture.as_str();
    let source = settings.source(Key::Permissions).as_str();
    page.tone(Tone::Dim, format_args!("permissions: {posture} ({source} scope)")).end();
    if let Some(suppressed) = &settings.suppressed_escalation {
        let requested = suppressed.requested.as_str();
        page.tone(Tone::Warn, format_args!("⚠ manifest requested posture '{requested}'"));
        page.put(format_args!(
            ", which is above the user/project config: '{posture}' stays in force. \
             For this run only, --allow-manifest-escalation allows it."
        ));
        page.end();
    }
}

/// Draws the settings in force, each with where it comes from. `timeout_now` is the one of the environment.
pub(crate) fn settings(
    page: &mut Page,
    batch: Option<&BatchName>,
    settings: &Settings,
    enforcement: &[Enforcement],
    timeout_now: Option<u64>,
) {
    match batch {
        Some(batch) => page.tone(Tone::Heading, format_args!("Settings of batch {batch}")),
        None => page.tone(Tone::Heading, "Settings of the project"),
    };
    page.end();
    for key in Key::ALL.into_iter().filter(|key| *key != Key::Permissions) {
        row(page, settings, key);
        if let (Key::AgentTimeoutMs, Some(ms)) = (key, timeout_now) {
            page.tone(
                Tone::Warn,
                format_args!("    RATCHET_AGENT_TIMEOUT_MS={ms} is in force instead"),
            );
            page.end();
        }
    }
    page.gap();
    isolation(page, settings);
    page.gap();
    permissions(page, &settings.permissions.redacted(), settings.source(Key::Permissions));
    if let Some(suppressed) = &settings.suppressed_escalation {
        let requested = suppressed.requested.as_str();
        page.tone(Tone::Warn, format_args!("⚠ manifest requested posture '{requested}'"));
        page.put(
            ", which is above the user/project config (--allow-manifest-escalation allows it)",
        );
        page.end();
    }
    if !enforcement.is_empty() {
        page.gap();
        self::enforcement(page, enforcement);
    }
}

fn row(page: &mut Page, settings: &Settings, key: Key) {
    let name = key.as_str();
    page.put(format_args!("  {name:<22} "));
    match settings.shown(key) {
        Some(Value::String(text)) => page.put(text),
        Some(value) => page.put(value),
        None => page.tone(Tone::Dim, "(unset)"),
    };
    page.tone(Tone::Dim, format_args!("  [{}]", settings.source(key).as_str())).end();
}

/// Draws the walls around an agent.
pub(crate) fn isolation(page: &mut Page, settings: &Settings) {
    let isolation = settings.isolation();
    page.tone(Tone::Heading, "Isolation: ");
    page.put(format_args!("{} — {}", isolation.locus.as_str(), isolation.description)).end();
}

fn permissions(page: &mut Page, permissions: &Permissions, source: Scope) {
    page.tone(Tone::Heading, "Permissions:").end();
    page.put(format_args!("  posture  {}", permissions.posture.as_str()));
    page.tone(Tone::Dim, format_args!("  [{}]", source.as_str()));
    if source == Scope::Manifest {
        page.tone(Tone::Warn, "  (set by batch manifest — repo-controlled)");
    }
    page.end();
    for (name, list) in [("allow", &permissions.allow), ("deny", &permissions.deny)] {
        if !list.is_empty() {
            page.put(format_args!("  {name:<8} {}", list.join(", "))).end();
        }
    }
    for (agent, tokens) in permissions.raw.iter().filter(|(_, tokens)| !tokens.is_empty()) {
        page.put(format_args!("  raw {agent}: {}", tokens.join(" "))).end();
    }
}

/// Draws whether each agent is held to the posture.
pub(crate) fn enforcement(page: &mut Page, rows: &[Enforcement]) {
    page.tone(Tone::Heading, "Enforcement:").end();
    for Enforcement { agent, enforced, detail } in rows {
        let tone = if *enforced { Tone::Good } else { Tone::Warn };
        page.put(format_args!("  {agent}: ")).tone(tone, detail).end();
    }
}

/// Lists the agents that the settings name, each once.
pub(crate) fn named_agents(settings: &Settings) -> Vec<AgentName> {
    let mut agents: Vec<AgentName> = Vec::new();
    for spec in ratchet_engine::transition::StepKind::ALL
        .into_iter()
        .filter_map(|stage| settings.agent.as_ref()?.of(stage))
    {
        if !agents.contains(&spec.agent) {
            agents.push(spec.agent.clone());
        }
    }
    agents
}

#[cfg(test)]
mod tests;
