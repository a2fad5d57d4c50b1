//! Settings as they may be shown: secrets masked, in the shapes of `batch config`
//! (spec `batch-manifest-and-settings` 9 and 11, `batch-status-and-selection` 7.4). Lines and colours are the CLI's.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::{AgentChoice, AgentOverride, AgentSandbox, Key, Locus, Scope, Settings, Word};
use crate::permission::{Permissions, redact_tokens};

/// What stands for a secret.
const MASK: &str = "***";

/// What the place where agents run keeps them from doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Isolation {
    /// The place.
    pub locus: Locus,
    /// The walls, for people.
    pub description: String,
}

impl Settings {
    /// Returns the value of a setting as it may be shown, if it has one.
    #[must_use]
    pub fn shown(&self, key: Key) -> Option<Value> {
        match key {
            Key::Gate => Some(self.gate.as_str().into()),
            Key::Strategy => Some(self.strategy.as_str().into()),
            Key::ProofOfWork => Some(self.proof_policy.as_str().into()),
            Key::Locus => Some(self.locus.as_str().into()),
            Key::PrGrouping => Some(self.pr_grouping.as_str().into()),
            Key::Agent => self.agent.as_ref().map(shown_choice),
            Key::Image => self.image.as_deref().map(Value::from),
            Key::DockerUser => self.docker_user.as_deref().map(Value::from),
            Key::DockerMemory => self.docker_memory.as_deref().map(Value::from),
            Key::DockerPidsLimit => self.docker_pids_limit.map(Value::from),
            Key::DockerCpus => self.docker_cpus.map(shown_number),
            Key::Network => self.network.as_deref().map(Value::from),
            Key::DockerReadOnly => self.docker_read_only.then(|| true.into()),
            Key::DockerPull => Some(self.docker_pull.as_str().into())
                .filter(|_| self.source(key) != Scope::Default),
            Key::DockerAgentSandbox => Some(self.docker_agent_sandbox.as_str().into())
                .filter(|_| self.source(key) != Scope::Default),
            Key::Host => self.host.as_deref().map(Value::from),
            Key::Port => self.port.map(shown_number),
            Key::AuthToken => self.auth_token.as_ref().map(|_| MASK.into()),
            Key::AuthTokenFile => self.auth_token_file.as_deref().map(Value::from),
            Key::TlsCa => self.tls_ca.as_deref().map(Value::from),
            Key::Insecure => self.insecure.map(Value::from),
            Key::Workers if self.workers.is_empty() => None,
            Key::Workers => Some(self.workers.iter().map(super::WorkerEntry::shown).collect()),
            Key::WorkerLostMs => self.worker_lost_ms.map(Value::from),
            Key::ProofLocus => Some(self.proof_locus.as_str().into())
                .filter(|_| self.source(key) != Scope::Default),
            Key::AgentTimeoutMs => self.agent_timeout_ms.map(Value::from),
            Key::AgentStartTimeoutMs => self.agent_start_timeout_ms.map(Value::from),
            Key::AgentIdleTimeoutMs => self.agent_idle_timeout_ms.map(Value::from),
            Key::AgentOutputLimitBytes => self.agent_output_limit_bytes.map(Value::from),
            Key::ProofTimeoutMs => self.proof_timeout_ms.map(Value::from),
            Key::BudgetUsd => self.budget_usd.map(|budget| shown_number(budget.dollars())),
            Key::BudgetTokens => self.budget_tokens.map(Value::from),
            Key::Permissions => Some(json!(self.permissions.redacted())),
            Key::Agents if self.agents.is_empty() => None,
            Key::Agents => {
                let shown = self
                    .agents
                    .iter()
                    .map(|(name, entry)| (name.to_string(), shown_override(entry)));
                Some(Value::Object(shown.collect()))
            }
            Key::RequireOverrideFlag => self.require_override_flag.then(|| true.into()),
        }
    }

    /// Returns where the value of a setting came from.
    #[must_use]
    pub fn source(&self, key: Key) -> Scope {
        self.sources.get(key.as_str()).copied().unwrap_or(Scope::Default)
    }

    /// Gives the settings that have a value, secrets masked, as `batch config --json` shows them.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let is_told = |key: &Key| *key != Key::PrGrouping || self.source(*key) != Scope::Default;
        let told = Key::ALL.into_iter().filter(is_told);
        let members = told.filter_map(|key| Some((key.as_str().to_owned(), self.shown(key)?)));
        Value::Object(members.collect())
    }

    /// Says what the place where agents run keeps them from doing.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        let description = match self.locus {
            Locus::Local => "advisory: no filesystem or network isolation; the agent's environment is limited to the \
                             allow-list"
                .to_owned(),
            Locus::Docker => self.docker_walls(),
            Locus::Remote => "the boundary of the remote server, not enforced by ratchet".to_owned(),
        };
        Isolation { locus: self.locus, description }
    }

    fn docker_walls(&self) -> String {
        let user = self.docker_user.as_deref().unwrap_or("host uid:gid");
        let memory = self.docker_memory.as_deref().unwrap_or(super::DEFAULT_DOCKER_MEMORY);
        let pids = self.docker_pids_limit.unwrap_or(super::DEFAULT_DOCKER_PIDS);
        let network = self.network.as_deref().unwrap_or(super::DEFAULT_NETWORK);
        let cpus = self.docker_cpus.map(|cpus| format!(", cpus {cpus}")).unwrap_or_default();
        let root = if self.docker_read_only { ", read-only root" } else { "" };
        let agent = match self.docker_agent_sandbox {
            AgentSandbox::Own => "",
            AgentSandbox::Container => "; the agent has full access inside",
        };
        format!(
            "container isolation: uid {user}, memory {memory}, pids {pids}, network {network}{cpus}{root}, no \
             capabilities, no new privileges, default seccomp{agent}; the repository mount is writable by design"
        )
    }
}

impl Permissions {
    /// Gives the policy as it may be shown.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let raw = self.raw.iter().map(|(agent, tokens)| (agent.clone(), redact_tokens(tokens)));
        Self { raw: raw.collect(), ..self.clone() }
    }
}

impl fmt::Debug for AgentOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgentOverride").field(&shown_override(self)).finish()
    }
}

fn shown_choice(choice: &AgentChoice) -> Value {
    match choice {
        AgentChoice::Every(spec) => spec.to_string().into(),
        AgentChoice::ByStage(stages) => {
            let stages =
                stages.iter().map(|(stage, spec)| (stage.to_string(), spec.to_string().into()));
            Value::Object(stages.collect())
        }
    }
}

/// Shows an override: of its environment the names only.
fn shown_override(entry: &AgentOverride) -> Value {
    let mut shown = serde_json::Map::new();
    if let Some(command) = &entry.command {
        shown.insert("command".to_owned(), command.as_str().into());
    }
    if let Some(args) = &entry.args {
        shown.insert("args".to_owned(), redact_tokens(args).into());
    }
    if !entry.env.is_empty() {
        let names: Vec<&str> = entry.env.keys().map(String::as_str).collect();
        shown.insert("env".to_owned(), names.into());
    }
    Value::Object(shown)
}

/// Shows a number without a needless `.0`.
fn shown_number(number: f64) -> Value {
    crate::yaml::reader::whole_number(number).map_or_else(|| Value::from(number), Value::from)
}
