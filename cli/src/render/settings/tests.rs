//! Settings as people see them: each with its source, warnings with their way out.

use ratchet_engine::permission::{Escalation, PermissionsLayer, Posture};
use ratchet_engine::settings::{AgentChoice, AgentSpec, Layer, resolve};
use ratchet_supervisor::agent::permission::enforcement as enforcement_of;

use super::*;
use crate::render::page::Ink;

fn drawn(draw: impl FnOnce(&mut Page)) -> String {
    let mut page = Page::new(Ink::Plain);
    draw(&mut page);
    page.finish().to_owned()
}

fn asking_for(posture: Posture) -> Layer {
    let posture = PermissionsLayer { posture: Some(posture), ..PermissionsLayer::default() };
    Layer { permissions: Some(posture), ..Layer::default() }
}

fn resolved(manifest: &Layer, escalation: Escalation) -> Settings {
    resolve(None, &Layer::default(), Some(manifest), escalation)
}

// B-E19
#[test]
fn the_posture_is_said_with_its_scope() {
    let settings = resolve(None, &Layer::default(), None, Escalation::Clamped);
    assert_eq!(
        drawn(|page| posture(page, &settings)),
        "permissions: repo-sandboxed-permissive (default scope)\n"
    );
}

// B-E21
#[test]
fn a_refused_raise_names_what_was_asked_and_how_to_allow_it() {
    let settings = resolved(&asking_for(Posture::FullAutonomy), Escalation::Clamped);
    let text = drawn(|page| posture(page, &settings));
    for part in [
        "permissions: repo-sandboxed-permissive (default scope)",
        "manifest requested posture 'full-autonomy'",
        "--allow-manifest-escalation",
        "user/project config",
    ] {
        assert!(text.contains(part), "{part:?} is missing in {text}");
    }
}

// B-E22
#[test]
fn an_allowed_raise_gives_no_warning() {
    let settings = resolved(&asking_for(Posture::FullAutonomy), Escalation::Allowed);
    assert_eq!(
        drawn(|page| posture(page, &settings)),
        "permissions: full-autonomy (manifest scope)\n"
    );
}

// B-V24 B-V27 B-V28
#[test]
fn every_setting_is_shown_with_where_it_comes_from() {
    let layer = Layer {
        gate: Some(ratchet_engine::settings::GateMode::EveryPhase),
        agent: Some(AgentChoice::Every(AgentSpec::parse("cursor").unwrap())),
        auth_token: Some("hush-hush".to_owned().into()),
        permissions: Some(PermissionsLayer {
            posture: Some(Posture::CuratedAllowlist),
            allow: Some(vec!["Read".into(), "Bash(make *)".into()]),
            deny: Some(vec!["WebFetch".into()]),
            raw: [(AgentName::new("codex"), vec!["--api-key".into(), "x".into()])].into(),
        }),
        ..Layer::default()
    };
    let found = resolved(&layer, Escalation::Clamped);
    let rows: Vec<Enforcement> = named_agents(&found)
        .iter()
        .map(|agent| enforcement_of(agent, &found.permissions))
        .collect();
    let batch = BatchName::parse("shop").unwrap();
    let text = drawn(|page| settings(page, Some(&batch), &found, &rows, None));
    assert!(!text.contains("hush"), "{text}");
    insta::assert_snapshot!(text, @r"
    Settings of batch shop
      gate                   every-phase  [manifest]
      strategy               vertical-slice  [default]
      proofOfWork            hard-gate  [default]
      locus                  local  [default]
      prGrouping             off  [default]
      agent                  cursor  [manifest]
      image                  (unset)  [default]
      dockerUser             (unset)  [default]
      dockerMemory           (unset)  [default]
      dockerPidsLimit        (unset)  [default]
      dockerCpus             (unset)  [default]
      network                (unset)  [default]
      dockerReadOnly         (unset)  [default]
      dockerPull             (unset)  [default]
      dockerAgentSandbox     (unset)  [default]
      host                   (unset)  [default]
      port                   (unset)  [default]
      authToken              ***  [manifest]
      authTokenFile          (unset)  [default]
      tlsCa                  (unset)  [default]
      insecure               (unset)  [default]
      workers                (unset)  [default]
      workerLostMs           (unset)  [default]
      proofLocus             (unset)  [default]
      agentTimeoutMs         (unset)  [default]
      agentStartTimeoutMs    (unset)  [default]
      agentIdleTimeoutMs     (unset)  [default]
      agentOutputLimitBytes  (unset)  [default]
      proofTimeoutMs         (unset)  [default]
      budgetUsd              (unset)  [default]
      budgetTokens           (unset)  [default]
      agents                 (unset)  [default]
      requireOverrideFlag    (unset)  [default]

    Isolation: local — advisory: no filesystem or network isolation; the agent's environment is limited to the allow-list

    Permissions:
      posture  curated-allowlist  [manifest]  (set by batch manifest — repo-controlled)
      allow    Read, Bash(make *)
      deny     WebFetch
      raw codex: --api-key ***

    Enforcement:
      cursor: NOT ENFORCED — agent defaults apply
    ");
}

#[test]
fn a_timeout_of_the_environment_is_told_beside_the_one_it_overrides() {
    let found = resolve(None, &Layer::default(), None, Escalation::Clamped);
    let text = drawn(|page| settings(page, None, &found, &[], Some(123)));
    assert!(text.contains("\n    RATCHET_AGENT_TIMEOUT_MS=123 is in force instead\n"), "{text}");
}
