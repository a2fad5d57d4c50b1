//! Layers in, [`Settings`] with their sources out (spec `batch-manifest-and-settings` 3).

use std::collections::BTreeMap;

use super::{Key, Layer, Scope, Settings, agent};
use crate::permission::{self, Escalation, PermissionsLayer};

/// Resolves the settings: default, then user (permissions only), then project, then manifest; the nearest wins.
#[must_use]
pub fn resolve(
    user: Option<&PermissionsLayer>,
    project: &Layer,
    manifest: Option<&Layer>,
    escalation: Escalation,
) -> Settings {
    let mut cascade = Cascade { project, manifest, sources: BTreeMap::new() };
    let layers = [
        (Scope::Project, project.agent.as_ref()),
        (Scope::Manifest, manifest.and_then(|layer| layer.agent.as_ref())),
    ];
    let (agent, agent_stage_scopes) = agent::merge(&layers);
    cascade.nearest(Key::Agent, |layer| &layer.agent);
    let permissions = permission::resolve(
        user,
        project.permissions.as_ref(),
        manifest.and_then(|layer| layer.permissions.as_ref()),
        escalation,
    );
    cascade.note(Key::Permissions, permissions.posture_scope);
    let agents_scope = if project.agents.is_empty() { Scope::Default } else { Scope::Project };
    cascade.note(Key::Agents, agents_scope);
    Settings {
        gate: cascade.nearest(Key::Gate, |layer| &layer.gate).unwrap_or_default(),
        strategy: cascade.nearest(Key::Strategy, |layer| &layer.strategy).unwrap_or_default(),
        proof_policy: cascade
            .nearest(Key::ProofOfWork, |layer| &layer.proof_policy)
            .unwrap_or_default(),
        locus: cascade.nearest(Key::Locus, |layer| &layer.locus).unwrap_or_default(),
        pr_grouping: cascade
            .nearest(Key::PrGrouping, |layer| &layer.pr_grouping)
            .unwrap_or_default(),
        agent,
        agent_stage_scopes,
        agents: project.agents.clone(),
        permissions: permissions.policy,
        suppressed_escalation: permissions.suppressed,
        image: cascade.nearest(Key::Image, |layer| &layer.image),
        docker_user: cascade.nearest(Key::DockerUser, |layer| &layer.docker_user),
        docker_memory: cascade.nearest(Key::DockerMemory, |layer| &layer.docker_memory),
        docker_pids_limit: cascade.nearest(Key::DockerPidsLimit, |layer| &layer.docker_pids_limit),
        docker_cpus: cascade.nearest(Key::DockerCpus, |layer| &layer.docker_cpus),
        network: cascade.nearest(Key::Network, |layer| &layer.network),
        docker_read_only: cascade
            .nearest(Key::DockerReadOnly, |layer| &layer.docker_read_only)
            .unwrap_or_default(),
        docker_pull: cascade
            .nearest(Key::DockerPull, |layer| &layer.docker_pull)
            .unwrap_or_default(),
        docker_agent_sandbox: cascade
            .nearest(Key::DockerAgentSandbox, |layer| &layer.docker_agent_sandbox)
            .unwrap_or_default(),
        host: cascade.nearest(Key::Host, |layer| &layer.host),
        port: cascade.nearest(Key::Port, |layer| &layer.port),
        auth_token: cascade.nearest(Key::AuthToken, |layer| &layer.auth_token),
        auth_token_file: cascade.nearest(Key::AuthTokenFile, |layer| &layer.auth_token_file),
        tls_ca: cascade.nearest(Key::TlsCa, |layer| &layer.tls_ca),
        insecure: cascade.nearest(Key::Insecure, |layer| &layer.insecure),
        workers: cascade.nearest(Key::Workers, |layer| &layer.workers).unwrap_or_default(),
        worker_lost_ms: cascade.nearest(Key::WorkerLostMs, |layer| &layer.worker_lost_ms),
        proof_locus: cascade
            .nearest(Key::ProofLocus, |layer| &layer.proof_locus)
            .unwrap_or_default(),
        agent_timeout_ms: cascade.nearest(Key::AgentTimeoutMs, |layer| &layer.agent_timeout_ms),
        agent_start_timeout_ms: cascade
            .nearest(Key::AgentStartTimeoutMs, |layer| &layer.agent_start_timeout_ms),
        agent_idle_timeout_ms: cascade
            .nearest(Key::AgentIdleTimeoutMs, |layer| &layer.agent_idle_timeout_ms),
        agent_output_limit_bytes: cascade
            .nearest(Key::AgentOutputLimitBytes, |layer| &layer.agent_output_limit_bytes),
        proof_timeout_ms: cascade.nearest(Key::ProofTimeoutMs, |layer| &layer.proof_timeout_ms),
        budget_usd: cascade.least(Key::BudgetUsd, |layer| layer.budget_usd),
        budget_tokens: cascade.least(Key::BudgetTokens, |layer| layer.budget_tokens),
        require_override_flag: cascade
            .nearest(Key::RequireOverrideFlag, |layer| &layer.require_override_flag)
            .unwrap_or_default(),
        sources: cascade.sources,
    }
}

struct Cascade<'l> {
    project: &'l Layer,
    manifest: Option<&'l Layer>,
    sources: BTreeMap<&'static str, Scope>,
}

impl<'l> Cascade<'l> {
    /// Gives the nearest value of a key and notes whose it is.
    fn nearest<T: Clone + 'l>(
        &mut self,
        key: Key,
        of: impl Fn(&'l Layer) -> &'l Option<T>,
    ) -> Option<T> {
        let from_manifest = self
            .manifest
            .and_then(|layer| of(layer).as_ref())
            .map(|value| (value, Scope::Manifest));
        let value = from_manifest
            .or_else(|| of(self.project).as_ref().map(|value| (value, Scope::Project)));
        self.note(key, value.map_or(Scope::Default, |(_, scope)| scope));
        value.map(|(value, _)| value.clone())
    }

    /// Gives the smallest value of a key and notes whose it is. A manifest is written by agents too, when they decompose;
    /// it may tighten what they are allowed, never loosen it.
    fn least<T: Copy + Ord>(&mut self, key: Key, of: impl Fn(&Layer) -> Option<T>) -> Option<T> {
        let from_project = of(self.project).map(|value| (value, Scope::Project));
        let from_manifest = self.manifest.and_then(of).map(|value| (value, Scope::Manifest));
        let value = [from_project, from_manifest].into_iter().flatten().min();
        self.note(key, value.map_or(Scope::Default, |(_, scope)| scope));
        value.map(|(value, _)| value)
    }

    fn note(&mut self, key: Key, scope: Scope) {
        self.sources.insert(key.as_str(), scope);
    }
}

/// Gives the wall clock limit of an agent in milliseconds: the environment's `RATCHET_AGENT_TIMEOUT_MS` if it is a whole
/// number above 0, else the configured one. Nothing leaves the runtime's default in force (section 8).
#[must_use]
pub fn agent_timeout_ms(environment: Option<&str>, configured: Option<u64>) -> Option<u64> {
    let from_environment =
        environment.and_then(|text| text.trim().parse().ok()).filter(|ms| *ms > 0);
    from_environment.or(configured)
}
