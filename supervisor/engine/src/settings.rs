//! The settings cascade: layers in, [`Settings`] with their sources out (spec `batch-manifest-and-settings` 3 to 8).

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::Serialize;

use crate::name::AgentName;
use crate::permission::{Permissions, PermissionsLayer, SuppressedEscalation};
use crate::transition::StepKind;

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

/// An agent and, if named, its model: `agent[:model]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// The part before the first colon.
    pub agent: AgentName,
    /// The part after it.
    pub model: Option<String>,
}

/// What one layer says about agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentChoice {
    /// The same for every stage.
    Every(AgentSpec),
    /// Some stages, each with its own.
    ByStage(BTreeMap<StepKind, AgentSpec>),
}

/// How a user changes the command of one agent: `batch.agents.<name>`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AgentOverride {
    /// The binary to run instead of the table's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The base arguments to use instead of the table's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Variables to set for this agent, over the allow-listed ones. Values are secret.
    #[serde(skip)]
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
    /// `host`
    pub host: Option<String>,
    /// `port`
    pub port: Option<f64>,
    /// `authToken`
    pub auth_token: Option<SecretString>,
    /// `insecure`
    pub insecure: Option<bool>,
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
    /// `host`
    pub host: Option<String>,
    /// `port`
    pub port: Option<f64>,
    /// `authToken`
    pub auth_token: Option<SecretString>,
    /// `insecure`
    pub insecure: Option<bool>,
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
    /// `requireOverrideFlag`
    pub require_override_flag: bool,
    /// For each key of spec section 4 (by its file spelling) the scope that won.
    pub sources: BTreeMap<&'static str, Scope>,
}
