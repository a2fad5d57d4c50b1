//! The settings cascade: layers in, [`Settings`] with their sources out (spec `batch-manifest-and-settings` 3 to 8).
//!
//! The types are here; `layer` reads a file's map, `resolve` merges, `assign` checks `--set` and flags, `view` hides what
//! must not be shown. Files and the environment are the store's.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::Serialize;

use crate::name::AgentName;
use crate::permission::{Permissions, PermissionsLayer, SuppressedEscalation};
use crate::transition::StepKind;
use crate::usage::Usd;

mod agent;
mod assign;
pub mod docker;
mod key;
mod layer;
mod remote;
mod resolve;
#[cfg(test)]
mod tests;
mod view;
mod word;

pub use agent::{AgentChoice, AgentSpec, AgentSpecError};
pub use assign::{
    Assigned, Assignment, SetError, StandaloneFlags, check_assignment, parse_assignment,
};
pub use docker::{AgentSandbox, PullPolicy};
pub use key::Key;
pub use remote::{
    DEFAULT_WORKER_LOST_MS, RemoteError, RemoteIncomplete, Token, Worker, WorkerEntry,
};
pub use resolve::{agent_timeout_ms, resolve};
pub use view::Isolation;
pub use word::Word;

/// The image of a container, unless `image` is set (spec `agents-and-runtimes` 7.2).
pub const DEFAULT_IMAGE: &str = "python:3.12";
/// The memory limit of a container, unless `dockerMemory` is set.
pub const DEFAULT_DOCKER_MEMORY: &str = "2g";
/// The process limit of a container, unless `dockerPidsLimit` is set.
pub const DEFAULT_DOCKER_PIDS: u64 = 512;
/// The network of a container, unless `network` is set.
pub const DEFAULT_NETWORK: &str = "bridge";

/// Where a value came from, low to high.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Built in.
    Default,
    /// The user's own configuration.
    User,
    /// `.ratchet/config.yaml`.
    Project,
    /// `settings` of a manifest.
    Manifest,
}

/// When a completed step waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateMode {
    /// Never parks for approval.
    #[default]
    Voluntary,
    /// Parks after each completed propose.
    AfterPropose,
    /// Parks after each completed transition of a change.
    EveryPhase,
    /// Never parks for approval; blockers still park.
    Autonomous,
}

/// How a propose step is asked to cut its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// A thin slice from end to end.
    #[default]
    VerticalSlice,
    /// A complete feature.
    Feature,
}

/// What a failed proof-of-work does to the next phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofPolicy {
    /// Keeps it shut.
    #[default]
    HardGate,
    /// Lets it start; the failure is recorded.
    Warn,
}

/// Where an agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Locus {
    /// A process on this machine.
    #[default]
    Local,
    /// A container on this machine.
    Docker,
    /// A worker host.
    Remote,
}

/// How finished work is cut into pull requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrGrouping {
    /// No pull requests.
    #[default]
    Off,
    /// One over everything.
    WholeBatch,
    /// One for each phase, stacked.
    PerPhase,
    /// One for each change, stacked.
    PerChange,
}

/// How a user changes the command of one agent: `batch.agents.<name>`, project scope only.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct AgentOverride {
    /// The binary to run instead of the table's.
    pub command: Option<String>,
    /// The base arguments to use instead of the table's.
    pub args: Option<Vec<String>>,
    /// Variables to set for this agent, over the allow-listed ones. Values are secret: `Debug` shows names only.
    pub env: BTreeMap<String, String>,
}

/// What one scope says; `None` means that it says nothing.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    /// `gate`
    pub gate: Option<GateMode>,
    /// `strategy`
    pub strategy: Option<Strategy>,
    /// `proofOfWork`
    pub proof_policy: Option<ProofPolicy>,
    /// `locus`
    pub locus: Option<Locus>,
    /// `prGrouping`
    pub pr_grouping: Option<PrGrouping>,
    /// `agent`
    pub agent: Option<AgentChoice>,
    /// `agents`
    pub agents: BTreeMap<AgentName, AgentOverride>,
    /// `permissions`
    pub permissions: Option<PermissionsLayer>,
    /// `image`
    pub image: Option<String>,
    /// `dockerUser`
    pub docker_user: Option<String>,
    /// `dockerMemory`
    pub docker_memory: Option<String>,
    /// `dockerPidsLimit`
    pub docker_pids_limit: Option<u64>,
    /// `dockerCpus`
    pub docker_cpus: Option<f64>,
    /// `network`
    pub network: Option<String>,
    /// `dockerReadOnly`: the container's root cannot be written to.
    pub docker_read_only: Option<bool>,
    /// `dockerPull`
    pub docker_pull: Option<PullPolicy>,
    /// `dockerAgentSandbox`, project scope only: what keeps the agent in bounds inside a container.
    pub docker_agent_sandbox: Option<AgentSandbox>,
    /// `host`
    pub host: Option<String>,
    /// `port`
    pub port: Option<f64>,
    /// `authToken`
    pub auth_token: Option<SecretString>,
    /// `authTokenFile`, project scope only: a file that holds the token.
    pub auth_token_file: Option<String>,
    /// `tlsCa`, project scope only: a file of certificates that the worker's must stem from.
    pub tls_ca: Option<String>,
    /// `insecure`
    pub insecure: Option<bool>,
    /// `workers`, project scope only: where steps may run, instead of `host` and `port`.
    pub workers: Option<Vec<WorkerEntry>>,
    /// `workerLostMs`: how long a worker is waited for that cannot be reached.
    pub worker_lost_ms: Option<u64>,
    /// `proofLocus`: where proofs-of-work run.
    pub proof_locus: Option<Locus>,
    /// `agentTimeoutMs`: wall clock limit of an agent, in awake milliseconds.
    pub agent_timeout_ms: Option<u64>,
    /// `agentStartTimeoutMs`: limit until the first byte of output.
    pub agent_start_timeout_ms: Option<u64>,
    /// `agentIdleTimeoutMs`: limit between two bytes of output.
    pub agent_idle_timeout_ms: Option<u64>,
    /// `agentOutputLimitBytes`: limit of all output.
    pub agent_output_limit_bytes: Option<u64>,
    /// `proofTimeoutMs`: wall clock limit of a proof-of-work.
    pub proof_timeout_ms: Option<u64>,
    /// `budgetUsd`: what the agents of a batch may cost before no further one is started.
    pub budget_usd: Option<Usd>,
    /// `budgetTokens`: how many tokens they may use, all classes together.
    pub budget_tokens: Option<u64>,
    /// `requireOverrideFlag`, project scope only: `RATCHET_BATCH_AGENT_CMD` needs `--allow-agent-override`.
    pub require_override_flag: Option<bool>,
}

/// The resolved settings of one invocation.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `gate`
    pub gate: GateMode,
    /// `strategy`
    pub strategy: Strategy,
    /// `proofOfWork`
    pub proof_policy: ProofPolicy,
    /// `locus`
    pub locus: Locus,
    /// `prGrouping`
    pub pr_grouping: PrGrouping,
    /// `agent`, merged stage by stage; `None` if no layer spoke.
    pub agent: Option<AgentChoice>,
    /// For each stage the scope whose value is that stage's spec; a stage nobody supplied is absent.
    pub agent_stage_scopes: BTreeMap<StepKind, Scope>,
    /// `agents`
    pub agents: BTreeMap<AgentName, AgentOverride>,
    /// `permissions`
    pub permissions: Permissions,
    /// What the manifest asked for and did not get.
    pub suppressed_escalation: Option<SuppressedEscalation>,
    /// `image`
    pub image: Option<String>,
    /// `dockerUser`
    pub docker_user: Option<String>,
    /// `dockerMemory`
    pub docker_memory: Option<String>,
    /// `dockerPidsLimit`
    pub docker_pids_limit: Option<u64>,
    /// `dockerCpus`
    pub docker_cpus: Option<f64>,
    /// `network`
    pub network: Option<String>,
    /// `dockerReadOnly`
    pub docker_read_only: bool,
    /// `dockerPull`
    pub docker_pull: PullPolicy,
    /// `dockerAgentSandbox`
    pub docker_agent_sandbox: AgentSandbox,
    /// `host`
    pub host: Option<String>,
    /// `port`
    pub port: Option<f64>,
    /// `authToken`
    pub auth_token: Option<SecretString>,
    /// `authTokenFile`
    pub auth_token_file: Option<String>,
    /// `tlsCa`
    pub tls_ca: Option<String>,
    /// `insecure`
    pub insecure: Option<bool>,
    /// `workers`
    pub workers: Vec<WorkerEntry>,
    /// `workerLostMs`; `None` leaves the default of [`DEFAULT_WORKER_LOST_MS`] in force.
    pub worker_lost_ms: Option<u64>,
    /// `proofLocus`
    pub proof_locus: Locus,
    /// `agentTimeoutMs`; `None` leaves the runtime's default of 600000 in force.
    pub agent_timeout_ms: Option<u64>,
    /// `agentStartTimeoutMs`
    pub agent_start_timeout_ms: Option<u64>,
    /// `agentIdleTimeoutMs`
    pub agent_idle_timeout_ms: Option<u64>,
    /// `agentOutputLimitBytes`
    pub agent_output_limit_bytes: Option<u64>,
    /// `proofTimeoutMs`
    pub proof_timeout_ms: Option<u64>,
    /// `budgetUsd`
    pub budget_usd: Option<Usd>,
    /// `budgetTokens`
    pub budget_tokens: Option<u64>,
    /// `requireOverrideFlag`
    pub require_override_flag: bool,
    /// For each key of spec section 4 (by its file spelling) the scope that won.
    pub sources: BTreeMap<&'static str, Scope>,
}
